"""Make chat models from their names: "local:rules", "openai:<name>", or "<provider>:<name>" of another provider."""

import importlib
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from agents.errors import ConfigError
from agents.models import COLD, Caching, Choice, Model, Models
from agents.models.attempts import RETRIED_FOR
from agents.models.request_form import LIMITS, RequestForm
from agents.models.window import Window

SPELLINGS: Mapping[str, Sequence[str]] = {
    "temperature": ("temperature",),
    "reasoning_effort": ("reasoning_effort", "reasoning"),
    "max_tokens": LIMITS,
    "base_url": ("base_url",),
    "slot": ("extra_body",),
    "parallel_tool_calls": ("parallel_tool_calls",),
    "choice": ("extra_body",),
}
"""The names of parameters in LangChain's classes; the first name that a class knows counts."""
PER_REQUEST = frozenset(("parallel_tool_calls", "choice"))
"""Parameters of a request; the class itself does not take them."""
KEYS: Mapping[str, Sequence[str]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "mistralai": ("MISTRAL_API_KEY",),
}
"""Variables of providers' keys, for packages that notice a missing key only in the first call."""
DEFAULT, FALLBACK = "default", "fallback"
"""Entries of the parameters without a role: those of all roles, and those of the fallback model."""
LOCAL = "local:rules"
"""The model that needs no provider."""
OBSERVER = "observer"
"""The role of the observers."""
MOST_TOKENS, MOST_JUDGED = 1024, 256
"""Tokens of a reply where `max_tokens` is not set: of a speaker, and of an observer."""
Wire = Literal["responses", "chat"]
"""OpenAI's two forms: responses, and chat completions."""
Address = Annotated[str, Field(pattern="(?i)^https?://")]
CACHING: Mapping[str, Caching] = {"openai": "key", "anthropic": "marks"}
ALWAYS_SENT: Mapping[str, str] = {"anthropic": "ANTHROPIC_AUTH_TOKEN", "ollama": "OLLAMA_API_KEY"}
"""Secrets that clients take from the environment, besides any given key, and send to every address."""
NO_RETRIES: Mapping[str, int] = {"google_genai": 1}
"""A class's own number for a single try, if that is not 0: it counts tries, and takes 0 for its default."""
FORMS: dict[str, RequestForm] = {}
"""The forms of requests that this process has learnt, by model and address."""


class Parameters(BaseModel):
    """An operator's parameters for a role's model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float | None = Field(default=None, ge=0, le=2)
    reasoning_effort: str | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    parallel_tool_calls: bool | None = None
    images: bool | None = None
    """Whether the model sees pictures; left out, LangChain's profile of it decides."""
    slots: int | None = Field(default=None, ge=1)
    """Prompts whose beginning the model's server keeps; with one, observers ask behind the dialog's prompt."""
    choice: Choice | None = None
    window: int | None = Field(default=None, ge=1024)
    """Tokens of a prompt and its reply together; left out, the server is asked."""
    history: int | None = Field(default=None, ge=256)
    """Tokens up to which a history is not cut; left out, half of the window, at most 16,000."""
    patience: float = Field(default=10, gt=0, le=3_600)
    """Seconds of a reply that no user waits for: by an observer, a summary, a question put anew."""
    base_url: Address | None = None
    """An endpoint of the role's own; it does not get the key of the others."""
    wire: Wire | None = None
    """The form in which a server of OpenAI's kind is asked first; left out, OpenAI's own `responses`, others `chat`."""
    slot: int | None = Field(default=None, ge=0)
    """The slot of llama.cpp's server that keeps the role's prompts."""
    without: tuple[str, ...] = ()
    """Fields of requests that the model's server refuses, by name; more are learnt."""
    wanted: tuple[str, ...] = ()
    """Fields of thinking that the model's server wants in each reply of a request; more are learnt."""

    def over(self, default: Self) -> Self:
        """Return these parameters, and the default's where one is not set; `null` takes a default back."""
        return default.model_copy(update=self.model_dump(exclude_unset=True))

    def options(self, chat: BaseChatModel, name: str) -> dict[str, object]:
        """Return the set parameters by the names in the class of `chat`. Raises ConfigError: the class lacks one."""
        fields = type(chat).model_fields
        bound = inspect.signature(type(chat).bind_tools).parameters
        names_taken = {*fields, *(field.alias for field in fields.values()), *(PER_REQUEST & bound.keys())}
        options: dict[str, object] = {}
        for parameter, spellings in SPELLINGS.items():
            if (value := getattr(self, parameter)) is not None:
                option = next((spelling for spelling in spellings if spelling in names_taken), None)
                if option is None:
                    raise ConfigError(f"LLM_PARAMETERS: {name} takes no {parameter}")
                if parameter not in PER_REQUEST:
                    options[option] = {"id_slot": value} if parameter == "slot" else value
        key = next((field.alias or name for name, field in fields.items() if name.endswith("api_key")), None)
        # A key belongs to the address for which the operator gave it.
        return options | ({key: "none"} if key and self.base_url is not None else {})


def make_chat(kind: str, name: str, **options: object) -> BaseChatModel:
    """Return the chat model `name` of the provider `kind`; its key comes from the provider's own variable.

    Raises ConfigError: the provider is unknown, its package or its key is missing, or a key would go elsewhere.
    """
    if "base_url" in options and os.environ.get(secret := ALWAYS_SENT.get(kind, "")):
        raise ConfigError(f"LLM_PARAMETERS: {kind}:{name} would send {secret} to its base_url: unset one of them")
    try:
        init_chat_model = importlib.import_module("langchain.chat_models").init_chat_model
        chat = init_chat_model(name, model_provider=kind, **options)
    except ImportError as missing:
        # LangChain names the package in its message; else the packages' names suggest it.
        named = str(missing).partition("pip install ")[2].split("`")[0]
        package = named or f"langchain-{kind.replace('_', '-')}"
        raise ConfigError(f"{kind}: models need a package: pip install langchain {package}") from None
    except Exception as wrong:
        # The packages raise any errors: ValidationError, ValueError, errors of their clients.
        raise ConfigError(f"{kind}:{name} cannot be used: {_first_sentence(wrong)}") from None
    if (keys := KEYS.get(kind)) and not any(os.environ.get(key) for key in keys):
        raise ConfigError(f"{kind}: models need {keys[0]} in the environment or in .env")
    assert isinstance(chat, BaseChatModel)  # so promises init_chat_model for a name without configurable fields
    return chat


def _first_sentence(failure: Exception) -> str:
    """Return the fault in one line; pydantic puts its own words and the values around it."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    line = next((line for line in lines if "[type=" in line), lines[0] if lines else type(failure).__name__)
    return line.partition(" [type=")[0].removeprefix("Value error, ")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The settings of requests to models. `timeout` is in seconds, per attempt and per silent gap of a stream.

    Both are counted here, and so are `retries`: the clients differ in units and in the requests that they repeat.
    Key and address are those of "openai:" models; the other providers read their own environment variables.
    """

    key: SecretStr | None = None
    base_url: str | None = None
    timeout: float = 60
    retries: int = 2
    caching: bool = True
    rules: Callable[[], BaseChatModel] | None = None
    """Makes the model `local:rules`; without it there is no such model."""


def make_model(name: str, endpoint: Endpoint, parameters: Parameters | None = None) -> Model:
    """Return the model of that name.

    Raises ConfigError: the name is of no known kind, its package or its key is missing, or it takes no such parameter.
    """
    provider, _, bare = name.partition(":")
    # LangChain takes every spelling of a provider.
    kind = provider.replace("-", "_").lower()
    if name == LOCAL and endpoint.rules:
        return Model(name, endpoint.rules())
    if not bare or kind == "local":
        local = f"{LOCAL}, " if endpoint.rules else ""
        raise ConfigError(
            f"LLM_MODEL and its kin take {local}openai:<name> or <provider>:<name>, found {name!r}; "
            "run make setup, or put LLM_MODEL and OPENAI_API_KEY into .env"
        )
    parameters = parameters or Parameters()
    make, *other = _forms(kind, bare, endpoint, {}, parameters.wire)
    if options := parameters.options(make(), name):
        make, *other = _forms(kind, bare, endpoint, options, parameters.wire)
    model = Model(
        name,
        make(),
        other=next(iter(other), None),
        parallel_tool_calls=parameters.parallel_tool_calls,
        images=parameters.images,
        habits={} if parameters.slots is None else {"slots": parameters.slots},
        window=Window(parameters.window, parameters.history),
        aside_seconds=parameters.patience,
        choice=parameters.choice,
        caching=CACHING.get(kind, "none") if endpoint.caching else "none",
        gap_seconds=endpoint.timeout,
        retries=endpoint.retries,
        first_seconds=max(endpoint.timeout, RETRIED_FOR),
        cold_seconds=COLD,
        most_tokens=None if "max_tokens" in parameters.model_fields_set else MOST_TOKENS,
    )
    form = FORMS.setdefault(model.place, RequestForm())
    form.without.update(parameters.without)
    form.wanted.update(parameters.wanted)
    return replace(model, form=form)


def make_models(
    default: str,
    roles: Mapping[str, str],
    fallback: str | None,
    endpoint: Endpoint,
    parameters: Mapping[str, Parameters] | None = None,
) -> Models:
    """Return the models of all roles; those with parameters of their own have their own client, too."""
    parameters = parameters or {}
    common = parameters.get(DEFAULT, Parameters())
    own_parameters = {role: entry.over(common) for role, entry in parameters.items() if role != DEFAULT}
    names = {**{role: default for role in own_parameters if role != FALLBACK}, **roles}
    default_model = make_model(default, endpoint, common)
    models = {role: make_model(name, endpoint, own_parameters.get(role, common)) for role, name in names.items()}
    judge = models.get(OBSERVER, default_model)
    if judge.most_tokens is not None:
        models[OBSERVER] = replace(judge, most_tokens=MOST_JUDGED)
    spare = make_model(fallback, endpoint, own_parameters.get(FALLBACK, common)) if fallback else None
    return Models(default=default_model, roles=models, fallback=spare)


def _forms(
    kind: str, name: str, endpoint: Endpoint, options: Mapping[str, object], wire: Wire | None
) -> Sequence[Callable[[], BaseChatModel]]:
    """Return the makers of the model: in the form to ask first, then in the other one that OpenAI has, if any.

    The first form is `wire`; without it responses for OpenAI's own models, and completions for servers of its kind.
    """
    settings: dict[str, object] = {"model": name, "base_url": endpoint.base_url, "api_key": endpoint.key, **options}
    if kind != "openai":
        chat = make_chat(kind, name, max_retries=NO_RETRIES.get(kind, 0), **options)
        client = getattr(chat, "root_async_client", None)
        if client is None or hasattr(chat, "azure_endpoint"):
            if wire:
                raise ConfigError(f"LLM_PARAMETERS: {kind}:{name} takes no wire")
            return [lambda: chat]
        # LangChain's class has the address and the key, and drops fields that the server wants back.
        settings |= {"base_url": str(client.base_url), "api_key": client.api_key}
    elif endpoint.key is None and endpoint.base_url is None:
        raise ConfigError("openai: models need OPENAI_API_KEY (or OPENAI_BASE_URL of a server without keys) in .env")
    elif endpoint.key is None:
        settings["api_key"] = "none"
    host = urlsplit(str(settings["base_url"] or "")).hostname or ""
    is_openai = kind == "openai" and (not settings["base_url"] or f".{host}".endswith(".api.openai.com"))
    settings |= {"stream_chunk_timeout": None, "max_retries": 0, "stream_usage": True}

    @cache
    def make(form: Wire) -> BaseChatModel:
        # The client takes a second to load, and `local:rules` needs none.
        from agents.models.openai_chat import CompatibleChat, stateless  # noqa: PLC0415

        return stateless(settings) if form == "responses" else CompatibleChat(**settings, use_responses_api=False)

    first: Wire = wire or ("responses" if is_openai else "chat")
    return [partial(make, first), partial(make, "chat" if first == "responses" else "responses")]
