"""`setup`: find a model server or ask for a provider, try it once, and write what was found to `.env`."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from prompt_toolkit import PromptSession

from agents.errors import ConfigError, UsageError
from agents.language.text.clean import clean
from agents.models.factory import KEY_OF
from app.cli.model_servers import PLACES, models_of, servers_here, verdict
from app.cli.ring import Ask, Say, can_ring, set_up_ring
from app.doors.visit import FAILED, TROUBLE
from app.files import read_env, write_env
from app.settings import Settings, read_settings
from app.texts import say

FILE = Path(".env")
OPENAI = "openai"
MOST_LISTED = 30
"""Models of a server that are listed; any other can be named as well."""


@dataclass(frozen=True)
class Choice:
    """A model, where it is (empty: at its provider's own address), and the key, if there is one."""

    model: str
    base_url: str = ""
    key: str | None = None
    provider: str = OPENAI

    @property
    def name(self) -> str:
        """The name of the model as LLM_MODEL takes it."""
        return f"{self.provider}:{self.model}"

    @property
    def values(self) -> dict[str, str]:
        """The settings, by name."""
        variable = "OPENAI_API_KEY" if self.provider == OPENAI else KEY_OF[self.provider]
        key = {variable: self.key} if self.key and variable else {}
        place = {"OPENAI_BASE_URL": self.base_url} if self.provider == OPENAI else {}
        return {"LLM_MODEL": self.name, **place, **key}


BaseUrl = Annotated[str, typer.Option(help="An OpenAI-compatible endpoint (default: look for servers here).")]
ModelName = Annotated[str, typer.Option(help="The model's name there, or <provider>:<name> as LLM_MODEL takes it.")]
Yes = Annotated[bool, typer.Option("--yes", help="Ask nothing; the key is taken from OPENAI_API_KEY.")]
OnlyRing = Annotated[bool, typer.Option("--ring", help="Only write a service of yours that rings reminders.")]


async def setup(*, base_url: BaseUrl = "", model: ModelName = "", yes: Yes = False, ring: OnlyRing = False) -> int:
    """Connect a language model and write .env."""
    settings = read_settings()
    ask = _typed if sys.stdin.isatty() else None
    if ring:
        return await set_up_ring_alone(settings, ask)
    return await set_up_model(settings, model, base_url, ask, asks_nothing=yes)


async def set_up_model(
    settings: Settings, model: str, base_url: str, ask: Ask | None, *, asks_nothing: bool = False
) -> int:
    """Set up a model, and what goes with it; return 0, else the code for what is in the way.

    Raises:
        ConfigError: `.env` cannot be written.
        UsageError: an answer is needed and there is nobody to give it.
    """
    words = partial(_say, settings.app_lang)
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    preset = _preset(model, base_url, key)
    if asks_nothing and not model:
        raise UsageError(words("need_model"))
    if asks_nothing:
        return await _try_and_write(preset, settings, None, words)
    if ask is None:
        raise UsageError(words("cannot_ask"))
    try:
        code = await _try_and_write(await _choose(preset, ask, words), settings, ask, words)
    except EOFError:
        _tell(words("unchanged"))
        return FAILED
    if code == 0:
        with suppress(EOFError):
            await _offer_more(settings, ask, words)
    return code


async def _try_and_write(choice: Choice, settings: Settings, ask: Ask | None, words: Say) -> int:
    """Ask the model once, and write the choice if the model works or the person insists."""
    _tell(words("trying", model=choice.name if choice.provider != OPENAI else choice.model))
    if choice.provider != OPENAI and choice.key:
        # Other providers' clients read the key where the application will find it later.
        os.environ[KEY_OF[choice.provider]] = choice.key
    outcome = await verdict(choice.name, choice.base_url or None, choice.key, settings.model_timeout)
    _tell(words(outcome))
    if outcome not in ("good", "no_tools") and not (ask and await _agreed("keep_anyway", ask, words)):
        _tell(words("unchanged"))
        return TROUBLE.get(outcome, FAILED)
    changed = _changed(choice.values)
    if changed and ask and not await _agreed("overwrite", ask, words, path=FILE, names=", ".join(changed)):
        _tell(words("unchanged"))
        return FAILED
    _write(choice.values, words)
    return 0


async def _offer_more(settings: Settings, ask: Ask, words: Say) -> None:
    """Offer a bot and a service for reminders, once a model is written."""
    if settings.telegram_bot_token is None:
        await _set_up_telegram(settings, ask, words)
    if can_ring() and await _agreed("ring_offer", ask, words):
        await set_up_ring(settings, FILE, ask, words, _tell)


async def _set_up_telegram(settings: Settings, ask: Ask, words: Say) -> None:
    """Ask for a bot's token until one works or none is given; show the link that lets the operator in."""
    while token := (await ask(words("ask_telegram"), True)).strip():
        # Its library takes half a second to import.
        pairing = import_module("app.doors.telegram.access")
        try:
            link = await pairing.new_link(settings, token)
        except ConfigError as refused:
            _tell(words("telegram_refused", why=refused))
            continue
        try:
            write_env(FILE, {"TELEGRAM_BOT_TOKEN": token})
        except OSError as fault:
            raise ConfigError(f"{FILE}: {fault.strerror or fault}") from None
        _tell(words("telegram_link", path=FILE, link=link))
        return


async def set_up_ring_alone(settings: Settings, ask: Ask | None) -> int:
    """Write a service that rings reminders; return 0, or 1 where there is no systemd.

    Raises:
        ConfigError: a file cannot be written.
        UsageError: a chat has to be named and there is nobody to ask.
    """
    words = partial(_say, settings.app_lang)
    if not can_ring():
        _tell(words("ring_none"))
        return FAILED
    if settings.telegram_bot_token is not None and ask is None:
        raise UsageError(words("cannot_ask"))
    try:
        await set_up_ring(settings, FILE, ask or _typed, words, _tell)
    except EOFError:
        _tell(words("unchanged"))
        return FAILED
    return 0


def _preset(model: str, base_url: str, key: str | None) -> Choice:
    """Return what the options say; a model may be named with its provider."""
    provider, _, bare = model.partition(":")
    if bare and provider in KEY_OF and not base_url:
        return Choice(bare, "", os.environ.get(KEY_OF[provider]), provider)
    return Choice(bare if bare and provider == OPENAI else model, base_url, key)


async def _choose(preset: Choice, ask: Ask, words: Say) -> Choice:
    """Offer the servers of this machine, unless an address is preset; else ask for everything."""
    if preset.provider != OPENAI:
        return replace(preset, key=await _key(preset.provider, ask, words))
    models: list[str] = []
    # A key that is set already goes to whichever endpoint is set later; it is tried as it will be used.
    base_url, key = preset.base_url, preset.key
    if not base_url:
        _tell(words("looking", places=", ".join(name for name, _ in PLACES)))
        servers = await servers_here()
        for number, server in enumerate(servers, 1):
            about = {"name": server.name, "url": server.base_url, "models": ", ".join(server.models)}
            _tell(words("server", number=number, **about))
        _tell(words("other" if servers else "none"))
        place = await _number(len(servers), ask, words) if servers else 0
        if place:
            base_url, models = servers[place - 1].base_url, [*servers[place - 1].models]
    if not base_url:
        base_url = (await ask(words("ask_url", providers=", ".join(KEY_OF)), False)).strip()
    if base_url in KEY_OF:
        return Choice(preset.model or await _model([], ask, words), "", await _key(base_url, ask, words), base_url)
    is_found_here = bool(models)
    if not is_found_here:
        key = (await ask(words("ask_key"), True)).strip() or key
        if base_url and not preset.model:
            models = await models_of(base_url, key)
    return Choice(preset.model or await _model(models, ask, words, only=is_found_here), base_url, key)


async def _key(provider: str, ask: Ask, words: Say) -> str | None:
    """Return the key of a provider, which may be set already; None if it needs none."""
    variable = KEY_OF[provider]
    return (await ask(words("ask_key"), True)).strip() or os.environ.get(variable) if variable else None


async def _number(most: int, ask: Ask, words: Say) -> int:
    while True:
        answer = (await ask(words("choose_server"), False)).strip() or "1"
        if answer.isdecimal() and int(answer) <= most:
            return int(answer)
        _tell(words("no_such", answer=answer))


async def _model(models: Sequence[str], ask: Ask, words: Say, *, only: bool = False) -> str:
    """Return the model that is chosen, by its name or its number in the list; with `only` one of these."""
    if len(models) == 1:
        return models[0]
    for number, name in enumerate(models[:MOST_LISTED], 1):
        _tell(f"{number:>4}  {clean(name)}")
    if len(models) > MOST_LISTED:
        _tell(words("more_models", count=len(models) - MOST_LISTED))
    while True:
        answer = (await ask(words("choose_model"), False)).strip()
        if answer and (answer in models or not (only or answer.isdecimal())):
            return answer
        if answer.isdecimal() and 0 < int(answer) <= len(models):
            return models[int(answer) - 1]
        _tell(words("no_such", answer=repr(answer)) if answer else words("need_answer"))


async def _agreed(question: str, ask: Ask, words: Say, **variables: object) -> bool:
    return (await ask(words(question, **variables), False)).strip().lower() in ("y", words("yes"))


def _changed(values: Mapping[str, str]) -> list[str]:
    before = read_env(FILE)
    return [name for name, value in values.items() if before.get(name) and before[name] != value]


def _write(values: Mapping[str, str], words: Say) -> None:
    unset = [name for name, value in values.items() if not value and not read_env(FILE).get(name)]
    try:
        write_env(FILE, {name: value for name, value in values.items() if name not in unset})
    except OSError as fault:
        raise ConfigError(f"{FILE}: {fault.strerror or fault}") from None
    _tell(words("written", path=FILE))
    stronger = [name for name, value in values.items() if os.environ.get(name, value) != value]
    if stronger:
        _tell(words("environment", names=", ".join(stronger)))


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _say(lang: str, key: str, **variables: object) -> str:
    return say(f"setup.{key}", lang, **variables)


async def _typed(question: str, secret: bool) -> str:
    session: PromptSession[str] = PromptSession()
    return await session.prompt_async(question, is_password=secret)
