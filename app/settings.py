"""Settings, read once from the environment and `.env`; `.env.example` explains each."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar

from langsmith.utils import tracing_is_enabled
from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode

import prompts
from agents.discovery import code_of, place_of
from agents.errors import ConfigError
from agents.memory.checkpointer import KEPT_TURNS
from agents.models import Models
from agents.models.factory import LOCAL, Address, Endpoint, Parameters, make_models
from agents.state.limits import Limits
from agents.state.message_notes import Forwarding
from app.extensions import Extensions, explained, module_of, plugins, use, written
from app.prices import Price, read_prices
from app.process.files import read_env
from app.security.api_keys import Key, read_keys
from prompts import FALLBACK, languages

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from agents.plugin import Plugin
    from agents.toolkit.speaker import Silence

Kind = TypeVar("Kind", bound=BaseSettings)
TRACERS = ("LANGCHAIN_", "LANGSMITH_", "OTEL_")
"""The beginnings of the variables of LangSmith and OpenTelemetry."""
NO_LEAVE = (
    "LANGSMITH_TRACING sends the texts of users and models to LangSmith; "
    "set TRACE_CONTENT=1 to allow that, or LANGSMITH_TRACING=false"
)
ALIKE = 0.85
"""The least likeness to the name of a setting for a warning of a slip, from 0 to 1."""
ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?", re.ASCII)
PERMISSION = re.compile(r"[\w.:-]+")


def _language(value: str) -> str:
    """Return a language that has texts, or refuse it."""
    if value not in (there_are := languages()):
        raise ValueError(f"there is no language {value!r}; there are: {', '.join(there_are)}")
    return value


def _pairs(text: str) -> dict[str, str]:
    """Read "planner=openai:a, supervisor=openai:b"."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if any(not name.strip() or not model.strip() for name, _, model in pairs):
        raise ValueError("write role=model, separated by commas")
    return {name.strip(): model.strip() for name, _, model in pairs}


def _prices(text: str) -> dict[str, Price]:
    """Read "openai:gpt-x=1.25/10, openai:gpt-y=0.25/0.025/2"."""
    return read_prices(filter(str.strip, text.split(",")))


def _json(text: str) -> object:
    """Read {"default": {"temperature": 0.2}, "observer": {"max_tokens": 200}}."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as wrong:
        raise ValueError(f"no JSON object: {wrong}") from None


def _granted(text: str) -> dict[str, frozenset[str]]:
    """Read "alice=refund admin; *=read"."""
    granted: dict[str, frozenset[str]] = {}
    for entry in filter(str.strip, text.split(";")):
        user, _, words = (part.strip() for part in entry.partition("="))
        if not user or not words or not all(PERMISSION.fullmatch(word) for word in words.split()):
            raise ValueError(f"write user=permission permission, separated by semicolons, not {entry.strip()!r}")
        if user in granted:
            raise ValueError(f"{user!r} stands there twice")
        granted[user] = frozenset(words.split())
    return granted


def _origins(text: str) -> tuple[str, ...]:
    """Read "https://chat.example.com, http://localhost:3000"; a browser's origin must equal one of them."""
    origins = tuple(filter(None, (part.strip() for part in text.split(","))))
    if wrong := next((origin for origin in origins if not ORIGIN.fullmatch(origin)), None):
        raise ValueError(f"write origins such as https://chat.example.com, without a path or *, not {wrong!r}")
    return origins


def _numbers(text: str) -> str | list[str]:
    """Read "12345, 67890", or "*" for everybody; nothing at all lets nobody in."""
    words = text.replace(",", " ").split()
    if words != ["*"] and not all(word.isdecimal() for word in words):
        raise ValueError("write the numbers of users, separated by commas, or * alone for everybody")
    return "*" if words == ["*"] else words


def _links(text: str) -> list[str]:
    """Read "pages, webhook, person"."""
    links = text.replace(",", " ").split()
    if len(set(links)) < len(links):
        raise ValueError("name each link once")
    if "person" in links[:-1]:
        raise ValueError("person answers whatever is left, and comes last")
    return links


HelpChain = Annotated[tuple[str, ...], NoDecode, written(_links)]
UserNumbers = Annotated[frozenset[int] | Literal["*"], NoDecode, written(_numbers)]


class SharedSettings(BaseSettings):
    """Settings of the application that plug-ins with links of HELP_CHAIN read, too."""

    model_config = Extensions.model_config

    openai_api_key: SecretStr | None = None
    openai_base_url: Address | None = None
    help_chain: HelpChain = ("remembered", "documents", "pages")
    help_timeout: float = Field(default=10, gt=0, le=20)


class Settings(SharedSettings, Extensions):
    """Everything an operator can set."""

    llm_model: str = "local:rules"
    observer_model: str | None = None
    role_models: Annotated[dict[str, str], NoDecode, written(_pairs)] = Field(default_factory=dict)
    fallback_model: str | None = None
    llm_parameters: Annotated[dict[str, Parameters], NoDecode, written(_json)] = Field(default_factory=dict)
    prompt_cache: bool = True
    model_timeout: float = Field(default=60, gt=0)
    model_retries: int = Field(default=2, ge=0, le=10)
    model_failures: int = Field(default=5, ge=0)
    model_rest: float = Field(default=30, gt=0)
    database_url: str = "sqlite:///var/dialogs.db"
    keep_turns: Annotated[int, Field(ge=1)] | Literal["all"] = KEPT_TURNS
    app_lang: Annotated[str, AfterValidator(_language)] = FALLBACK
    api_keys: Annotated[tuple[Key, ...], NoDecode, written(read_keys)] = ()
    history_bytes: int = Field(default=25_000_000, ge=1_000_000)
    allowed_origins: Annotated[tuple[str, ...], NoDecode, written(_origins)] = ()
    log_content: bool = False
    log_json: bool = False
    trace_content: bool = False
    permissions: Annotated[dict[str, frozenset[str]], NoDecode, written(_granted)] = Field(default_factory=dict)
    memory_forwarding: Forwarding = "standard"
    silence_seconds: int = Field(default=0, ge=0)
    silence_times: int = Field(default=1, ge=1, le=10)
    direct_switch: bool = True
    observers_asked: Literal["beside", "first"] = "beside"
    attached_length: int = Field(default=20_000, ge=0, le=1_000_000)
    message_length: int = Field(default=16_000, ge=100, le=1_000_000)
    turns_per_hour: int = Field(default=120, ge=0)
    key_turns_per_hour: int = Field(default=3_000, ge=0)
    turns_at_once: int = Field(default=500, ge=1)
    turns_waiting: int = Field(default=500, ge=0)
    turn_calls: int = Field(default=18, ge=2, le=200)
    turn_tokens: int = Field(default=500_000, ge=0)
    llm_prices: Annotated[dict[str, Price], NoDecode, written(_prices)] = Field(default_factory=dict)
    notes_per_day: int = Field(default=20, ge=0)

    @model_validator(mode="after")
    def _may_trace(self) -> Self:
        """Refuse to trace with LangSmith unless TRACE_CONTENT allows it."""
        if tracing_is_enabled() and not self.trace_content:
            raise ValueError(NO_LEAVE)
        return self

    @property
    def limits(self) -> Limits:
        """The limits of a turn, and of a user."""
        return Limits(**self.model_dump(include={part.name for part in fields(Limits)}))

    @property
    def silence(self) -> "Silence":
        """The silence after which a user is asked whether they are still there."""
        silence: type[Silence] = import_module("agents.toolkit.speaker").Silence
        return silence(self.silence_seconds, self.silence_times)

    def models(self, override: str | None = None) -> Models:
        """Make the models of all roles; `override` takes the place of every role's.

        Raises:
            ConfigError: a model's name or key is wrong.
        """
        endpoint = Endpoint(
            key=self.openai_api_key,
            base_url=self.openai_base_url,
            timeout=self.model_timeout,
            retries=self.model_retries,
            caching=self.prompt_cache,
            rules=_rules(),
        )
        roles = {**({"observer": self.observer_model} if self.observer_model else {}), **self.role_models}
        if override:
            roles = {}
        chosen = [override or self.llm_model, self.fallback_model or "", *roles.values()]
        if not all(model.partition(":")[0] in ("", "local", "openai") for model in chosen):
            # Clients of other providers look for their keys in the environment.
            _share("")
        return make_models(override or self.llm_model, roles, self.fallback_model, endpoint, self.llm_parameters)


def read_settings() -> Settings:
    """Read the settings of the application. Raises ConfigError if one is wrong."""
    use_extensions()
    _share(*TRACERS)
    return read(Settings)


def use_extensions() -> None:
    """Add the folders of EXTENSIONS, and switch shipped dialogs off. Raises ConfigError if a setting is wrong."""
    # A library would leave out a line that is not an entry: an error names it before.
    _in_file()
    use(read(Extensions))


def read(kind: type[Kind]) -> Kind:
    """Read the settings of one kind, of the application or of a dialog.

    Raises:
        ConfigError: a setting is wrong; the message names it.
    """
    try:
        return kind(_env_file=Settings.model_config.get("env_file"), _env_ignore_empty=True)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        if not first["loc"]:
            raise ConfigError(f"{first['ctx']['error']} (see .env.example)") from None
        setting, *inside = map(str, first["loc"])
        name = " ".join([setting.upper(), ".".join(inside)]).strip()
        raise ConfigError(f"{name}: {first['msg']} (see .env.example)") from None


def slips(kinds: Sequence[type[BaseSettings]]) -> list[str]:
    """Return a line for each slip of a name in `.env`, each value that nothing reads, and each name of two settings."""
    owners: dict[str, type] = {}
    twice = list[str]()
    for kind in kinds:
        for name in kind.model_fields:
            owner = next(base for base in kind.__mro__ if name in vars(base).get("__annotations__", {}))
            if owners.setdefault(name, owner) is not owner:
                place, other = place_of(owner.__module__), place_of(owners[name].__module__)
                twice.append(f"{place}: the setting {name.upper()} is one of {other}, too: rename it")
    return [*_misspelt(kinds), *_unread(kinds), *twice]


def _misspelt(kinds: Iterable[type[BaseSettings]]) -> list[str]:
    """Return a warning for each name in `.env` that resembles the name of a setting of these kinds."""
    names = {name.upper() for kind in kinds for name in kind.model_fields}
    nearest = {name: get_close_matches(name, names, 1, ALIKE) for name in _in_file().keys() - names}
    return [f"{_env_file()}: {name} is not a setting; {near[0]} is" for name, near in sorted(nearest.items()) if near]


def ignored(kinds: Iterable[type[BaseSettings]]) -> list[str]:
    """Return a warning for each name in `.env` with words of a setting: OPENAI_KEY, MODEL, OPENAI_API_BASE."""
    there_are = {name.upper() for kind in kinds for name in kind.model_fields}
    alike = {name: filter(partial(_is_alike, name), there_are) for name in sorted(_in_file().keys() - there_are)}
    nearest = {name: " or ".join(get_close_matches(name, names, 2, 0)) for name, names in alike.items()}
    return [f"{_env_file()}: {name} is not a setting; do you mean {near}?" for name, near in nearest.items() if near]


def _is_alike(name: str, setting: str) -> bool:
    """Tell whether a setting has all words of a name, or its first one and another."""
    words, own = name.split("_"), setting.split("_")
    shared = {*words} & {*own}
    return shared == {*words} or (len(shared) > 1 and words[0] == own[0])


def _unread(kinds: Iterable[type[BaseSettings]]) -> list[str]:
    """Return a line for each set value that nothing reads, since its plug-in or dialog is left out."""
    names, values = {name.upper() for kind in kinds for name in kind.model_fields}, values_set()
    left_out = [
        (off, *entry) for off in sorted(prompts.OFF) for file in explained(off) for entry in read_env(file).items()
    ]
    return [
        f"{name} is set, and {off}, which reads it, is left out (see PLUGINS and SHIPPED_DIALOGS)"
        for off, name, example in left_out
        # A value equal to the example's was only copied.
        if name not in names and values.get(name, example) != example
    ]


def values_set() -> Mapping[str, str]:
    """Return the non-empty values of the environment, else of `.env`, by names in capitals."""
    written = [*_in_file().items(), *os.environ.items()]
    return {name.upper(): value for name, value in written if value}


def _env_file() -> Path:
    return Path(str(Settings.model_config.get("env_file") or ""))


def _in_file() -> Mapping[str, str]:
    """Return the values in `.env`."""
    return read_env(_env_file())


def _share(*beginnings: str) -> None:
    """Copy other variables of `.env` with these beginnings into the environment: libraries look there."""
    wanted = {name: value for name, value in _in_file().items() if value and name.startswith(beginnings)}
    # A plug-in's token must not reach a library, or a process that it starts.
    brought = [plugin.settings for plugin in plugins().values() if plugin.settings] if wanted else []
    ours = Settings.model_fields.keys() | {name for kind in brought for name in kind.model_fields}
    for name in wanted:
        if name.lower() not in ours:
            os.environ.setdefault(name, wanted[name])


def _rules() -> "Callable[[], BaseChatModel] | None":
    """Return the maker of a plug-in's model that needs no key; None if no plug-in brings one."""
    name, plugin = next(((name, plugin) for name, plugin in plugins().items() if LOCAL in plugin.models), ("", None))
    return partial(_made, name, plugin) if plugin else None


def _made(name: str, plugin: "Plugin") -> "BaseChatModel":
    with code_of(module_of(name)):
        return plugin.models[LOCAL](plugin.settings and plugin.settings())
