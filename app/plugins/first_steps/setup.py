"""`setup`: find a model server or ask for a provider, try it once, and write the findings to `.env`."""

import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from prompt_toolkit import PromptSession
from pydantic import SecretStr

from agents.errors import ConfigError, UsageError
from agents.language.text.clean import clean
from agents.models import Models
from agents.models.factory import DEFAULT, KEYS, Parameters
from agents.models.finish_reason import is_known
from app.composition import discover, plugins_found
from app.composition.windows import address_of, facts_of, fitting
from app.plugins.first_steps.env_file import write_env
from app.plugins.first_steps.model_servers import PLACES, ModelServer, ModelVerdict, models_of, servers_here, verdict
from app.process.exit_codes import FAILED, TROUBLE
from app.process.files import read_env
from app.settings import Settings, read_settings
from prompts import sentence

PHRASES = "first_steps/phrases"
FILE = Path(".env")
OPENAI = "openai"
KEY_OF: Mapping[str, str] = {
    **{provider: names[0] for provider, names in KEYS.items()},
    "cohere": "COHERE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "google_genai": "GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "ollama": "",
    "openrouter": "OPENROUTER_API_KEY",
    "together": "TOGETHER_API_KEY",
    "xai": "XAI_API_KEY",
}
"""The variable of the key, for each provider that needs no other setting; empty: it needs none."""
PARAMETERS, LEARNT = "LLM_PARAMETERS", ("without", "wanted")
"""The setting of the parameters, and the parameters that a trial finds."""
MOST_LISTED = 30
"""The most listed models of a server; the person may name any other as well."""
Ask = Callable[[str, bool], Awaitable[str]]
"""Takes a question and whether the answer is a secret."""


@dataclass(frozen=True)
class _Interview:
    """Asks the person at the terminal, if there is one, and prints the results."""

    lang: str
    ask: Ask | None
    sentences: tuple[str, str] = PHRASES, "setup."
    """The file of the sentences, and the beginning of their keys."""
    is_alone: bool = False

    def text(self, key: str, **variables: object) -> str:
        """Return a sentence of the setup."""
        file, section = self.sentences
        return sentence(file, f"{section}{key}", self.lang, **variables)

    def tell(self, key: str, **variables: object) -> None:
        """Print a sentence of the setup."""
        _print(self.text(key, **variables))

    async def answer(self, key: str, *, is_secret: bool = False, **variables: object) -> str:
        """Return the answer to a question. Raises UsageError if there is no person to ask."""
        if self.ask is None:
            raise UsageError(_say("cannot_ask", self.lang))
        return (await self.ask(self.text(key, **variables), is_secret)).strip()

    async def agrees(self, key: str, **variables: object) -> bool:
        """Ask a question with yes or no for an answer."""
        return (await self.answer(key, is_secret=False, **variables)).lower() in (
            "y",
            _say("yes", self.lang),
        )

    def write(self, values: Mapping[str, str]) -> Path:
        """Write settings, and return their file. Raises ConfigError if they cannot be written."""
        try:
            write_env(FILE, values)
        except OSError as fault:
            raise ConfigError(f"{FILE}: {fault.strerror or fault}") from None
        return FILE


@dataclass(frozen=True)
class Choice:
    """A model, its address (empty: its provider's own), and the key, if there is one."""

    model: str
    base_url: str = ""
    key: str | None = None
    provider: str = OPENAI

    @property
    def name(self) -> str:
        """The name of the model, in the form of LLM_MODEL."""
        return f"{self.provider}:{self.model}"

    @property
    def values(self) -> dict[str, str]:
        """The settings, by name."""
        variable = "OPENAI_API_KEY" if self.provider == OPENAI else KEY_OF.get(self.provider)
        key = {variable: self.key} if self.key and variable else {}
        place = {"OPENAI_BASE_URL": self.base_url} if self.provider == OPENAI else {}
        return {"LLM_MODEL": self.name, **place, **key}


async def set_up(model: str, base_url: str, step: str, *, asks_nothing: bool) -> int:
    """Set up a model, or a `step` alone; return the exit code. Raises as `set_up_model` and `set_up_alone`."""
    settings, ask = read_settings(), _typed if sys.stdin.isatty() else None
    if step:
        return await set_up_alone(step, settings, ask)
    return await set_up_model(settings, model, base_url, ask, asks_nothing=asks_nothing)


async def set_up_model(
    settings: Settings, model: str, base_url: str, ask: Ask | None, *, asks_nothing: bool = False
) -> int:
    """Set up a model, and the further steps; return 0, else the exit code of the trouble.

    Raises:
        ConfigError: `.env` cannot be written.
        UsageError: an answer is needed and there is no person to give it.
    """
    interview = _Interview(settings.app_lang, None if asks_nothing else ask)
    if asks_nothing and not model:
        raise UsageError(interview.text("need_model"))
    if not asks_nothing and ask is None:
        raise UsageError(interview.text("cannot_ask"))
    choice = _preset(model, base_url, settings.openai_api_key.get_secret_value() if settings.openai_api_key else None)
    if asks_nothing:
        return await _try_and_write(choice, settings, interview)
    try:
        code = await _try_and_write(await _choose(choice, interview), settings, interview)
    except EOFError:
        interview.tell("unchanged")
        return FAILED
    if code == 0:
        with suppress(EOFError):
            for name, plugin in plugins_found().items():
                if name in plugin.setup:
                    await _set_up(name, interview)
    return code


async def set_up_alone(name: str, settings: Settings, ask: Ask | None) -> int:
    """Set up the part of a plug-in, and nothing else; return 0, or 1 if that is not wanted, or not possible.

    Raises:
        ConfigError: a file cannot be written.
        UsageError: there is a question, and no person to ask.
    """
    interview = _Interview(settings.app_lang, ask, is_alone=True)
    with suppress(EOFError):
        return 0 if await _set_up(name, interview) else FAILED
    interview.tell("unchanged")
    return FAILED


async def _set_up(step: str, interview: _Interview) -> bool:
    """Take a step of `setup`: first that of the plug-in of its name, then the additions of others."""
    plug_ins = sorted(plugins_found().items(), key=lambda named: named[0] != step)
    for name, plugin in plug_ins:
        own = replace(interview, sentences=(f"{name}/setup", ""))
        if step in plugin.setup and not await plugin.setup[step](own):
            return False
    return True


async def _try_and_write(choice: Choice, settings: Settings, interview: _Interview) -> int:
    """Ask the model as turns do, and write the choice and its findings if the model works or the person insists."""
    interview.tell("trying", model=choice.name if choice.provider != OPENAI else choice.model)
    if choice.provider != OPENAI and choice.key:
        # Clients of other providers read the key from the environment.
        os.environ[KEY_OF[choice.provider]] = choice.key
    before = read_env(FILE)
    parameters = _parameters(choice, before)
    models: Models | None = None
    try:
        models = _models(choice, settings, parameters)
        trial = await verdict(models)
    except ConfigError:
        if choice.provider != OPENAI:
            # A package or a key is missing; the message names it.
            raise
        trial = ModelVerdict("no_key")
    outcome = trial.outcome
    interview.tell("rejected" if trial.is_rejected else outcome)
    if trial.cause:
        _print(clean(trial.cause))
    if outcome not in ("good", "no_tools") and not (interview.ask and await interview.agrees("keep_anyway")):
        interview.tell("unchanged")
        return TROUBLE.get(outcome, FAILED)
    values = {**choice.values, **(await _for_its_room(models, parameters, interview) if models else {})}
    changed = [name for name, value in values.items() if before.get(name) and before[name] != value]
    changed = [name for name in changed if name != PARAMETERS]
    if changed and interview.ask and not await interview.agrees("overwrite", path=FILE, names=", ".join(changed)):
        interview.tell("unchanged")
        return FAILED
    interview.write({name: value for name, value in values.items() if value or before.get(name)})
    interview.tell("written", path=FILE)
    stronger = [name for name, value in values.items() if os.environ.get(name, value) != value]
    if stronger:
        interview.tell("environment", names=", ".join(stronger))
    return 0


def _parameters(choice: Choice, before: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Return the set parameters, without the findings on another model or address."""
    current = {**before, **os.environ}
    parameters: dict[str, dict[str, object]] = json.loads(current.get(PARAMETERS) or "{}")
    if (current.get("LLM_MODEL"), current.get("OPENAI_BASE_URL") or "") != (choice.name, choice.base_url):
        common = parameters.get(DEFAULT, {})
        parameters[DEFAULT] = {name: value for name, value in common.items() if name not in LEARNT}
    return parameters


def _models(choice: Choice, settings: Settings, parameters: Mapping[str, Mapping[str, object]]) -> Models:
    """Return the models of the choice as for turns, but with one try only if they are busy."""
    chosen = {
        "llm_model": choice.name,
        "openai_base_url": choice.base_url or None,
        "openai_api_key": SecretStr(choice.key) if choice.key else None,
        "llm_parameters": {role: Parameters.model_validate(each) for role, each in parameters.items()},
        "model_retries": 0,
        "role_models": {},
        "observer_model": None,
        "fallback_model": None,
    }
    return settings.model_copy(update=chosen).models()


async def _for_its_room(
    models: Models, parameters: dict[str, dict[str, object]], interview: _Interview
) -> Mapping[str, str]:
    """Print the model's window, the misfits and the refused parameters; return the settings for them."""
    model, common = models.default, parameters.setdefault(DEFAULT, {})
    values: dict[str, str] = {}
    if without := sorted(model.form.without):
        interview.tell("learnt", names=", ".join(without))
        common["without"] = without
    if wanted := sorted(model.form.wanted):
        common["wanted"] = wanted
    if address := address_of(model):
        facts = await facts_of(address, model.name.partition(":")[2], model.key)
        _, misfits = await fitting(discover()[0], models, interview.lang)
        window = model.window.size
        interview.tell("window" if window else "no_window", window=f"{window or 0:,}")
        for misfit in misfits:
            _print(misfit)
        if facts.slots is not None:
            interview.tell("one_slot" if facts.slots == 1 else "slots", slots=facts.slots)
            values = {"OBSERVERS_ASKED": "first"} if facts.slots == 1 else {}
        if model.sends_window and facts.window:
            # Ollama tells the window while the model is loaded: the trial has loaded it.
            common["window"] = facts.window
    kept = {role: each for role, each in parameters.items() if each}
    return {**values, PARAMETERS: json.dumps(kept, ensure_ascii=False) if kept else ""}


def _preset(model: str, base_url: str, key: str | None) -> Choice:
    """Return the choice from the options; the name of a model may begin with its provider."""
    provider, _, bare = model.partition(":")
    if bare and provider != OPENAI and (provider in KEY_OF or is_known(provider)) and not base_url:
        # The client of a provider that needs more than a key reads all settings from the environment.
        return Choice(bare, "", os.environ.get(KEY_OF.get(provider, "")), provider)
    return Choice(bare if bare and provider == OPENAI else model, base_url, key)


async def _choose(preset: Choice, interview: _Interview) -> Choice:
    """Offer the servers of this machine, unless an address is preset; else ask for everything."""
    if preset.provider != OPENAI:
        return replace(preset, key=await _key(preset.provider, interview))
    # A set key goes to every endpoint that is set later; the trial uses it in the same way.
    if not preset.base_url and (server := await _server_here(interview)):
        model = preset.model or await _model(server.models, interview, only=bool(server.models))
        return replace(preset, base_url=server.base_url, model=model)
    base_url = preset.base_url or await interview.answer("ask_url", providers=", ".join(KEY_OF))
    if base_url in KEY_OF:
        model = preset.model or await _model([], interview)
        return Choice(model, "", await _key(base_url, interview), base_url)
    key = await interview.answer("ask_key", is_secret=True) or preset.key
    models = await models_of(base_url, key) if base_url and not preset.model else []
    return Choice(preset.model or await _model(models, interview), base_url, key)


async def _key(provider: str, interview: _Interview) -> str | None:
    """Return the key of a provider, also a key that is set already; None if it needs none."""
    variable = KEY_OF.get(provider)
    return await interview.answer("ask_key", is_secret=True) or os.environ.get(variable) if variable else None


async def _server_here(interview: _Interview) -> ModelServer | None:
    """Return the server of this machine that the person chooses; None if there is none, or they want another one."""
    interview.tell("looking", places=", ".join(name for name, _ in PLACES))
    servers = await servers_here()
    for number, server in enumerate(servers, 1):
        models = ", ".join(server.models)
        interview.tell("server", number=number, name=server.name, url=server.base_url, models=models)
    interview.tell("other" if servers else "none")
    while servers:
        answer = await interview.answer("choose_server") or "1"
        if answer == "0":
            break
        if answer.isdecimal() and int(answer) <= len(servers):
            return servers[int(answer) - 1]
        interview.tell("no_such", answer=answer)
    return None


async def _model(models: Sequence[str], interview: _Interview, *, only: bool = False) -> str:
    """Return the chosen model, by its name or its number in the list; with `only`, a model of the list."""
    if len(models) == 1:
        return models[0]
    for number, name in enumerate(models[:MOST_LISTED], 1):
        _print(f"{number:>4}  {clean(name)}")
    if len(models) > MOST_LISTED:
        interview.tell("more_models", count=len(models) - MOST_LISTED)
    while True:
        answer = await interview.answer("choose_model")
        if answer and (answer in models or not (only or answer.isdecimal())):
            return answer
        if answer.isdecimal() and 0 < int(answer) <= len(models):
            return models[int(answer) - 1]
        interview.tell("no_such" if answer else "need_answer", answer=repr(answer))


def _say(key: str, lang: str) -> str:
    return sentence(PHRASES, f"setup.{key}", lang)


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def _typed(question: str, secret: bool) -> str:
    session: PromptSession[str] = PromptSession()
    return await session.prompt_async(question, is_password=secret)
