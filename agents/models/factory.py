"""Make chat models from their names: "local:rules", or "openai:<name>" at any OpenAI-compatible endpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from agents.errors import ConfigError
from agents.models import Model, Models
from agents.models.openai_chat import CompatibleChat
from agents.models.rules import RulesModel


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where "openai:" models are asked. `timeout` is in seconds, per attempt and per silent gap of a stream."""

    key: SecretStr | None = None
    base_url: str | None = None
    timeout: float = 60
    retries: int = 2


def make_model(name: str, endpoint: Endpoint) -> Model:
    """Return the model of that name.

    Raises:
        ConfigError: the name is of no known kind, or an "openai:" model has no key.
    """
    kind, _, bare = name.partition(":")
    make = MAKERS.get(kind)
    chat = make(bare, endpoint) if make and bare else None
    if chat is None:
        raise ConfigError(f"LLM_MODEL and its kin take local:rules or openai:<name>, found {name!r}; see .env.example")
    return Model(name, chat)


def make_models(default: str, roles: dict[str, str], fallback: str | None, endpoint: Endpoint) -> Models:
    """Return the models of all roles."""
    return Models(
        default=make_model(default, endpoint),
        roles={role: make_model(name, endpoint) for role, name in roles.items()},
        fallback=make_model(fallback, endpoint) if fallback else None,
    )


def _local(name: str, _: Endpoint) -> BaseChatModel | None:
    return RulesModel() if name == "rules" else None


def _openai(name: str, endpoint: Endpoint) -> BaseChatModel:
    if endpoint.key is None and endpoint.base_url is None:
        raise ConfigError("openai: models need OPENAI_API_KEY (or OPENAI_BASE_URL of a server without keys) in .env")
    return CompatibleChat(
        model=name,
        api_key=endpoint.key or SecretStr("none"),
        base_url=endpoint.base_url,
        timeout=endpoint.timeout,
        stream_chunk_timeout=endpoint.timeout,
        max_retries=endpoint.retries,
        stream_usage=True,
    )


MAKERS: Mapping[str, Callable[[str, Endpoint], BaseChatModel | None]] = {"local": _local, "openai": _openai}
"""What makes a chat model, by the kind that stands before the colon; it returns None for a name it does not know."""
