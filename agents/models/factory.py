"""Make chat models from their names: "local:rules", "openai:<name>", or "<provider>:<name>" of another provider."""

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from agents.errors import ConfigError
from agents.models import LONGEST, MOST_CHARACTERS, RETRIED_FOR, Model, Models
from agents.models.caching import Caching
from agents.models.parameters import Parameters
from agents.models.providers import make_chat

DEFAULT, FALLBACK = "default", "fallback"
"""Entries of the parameters that belong to no role: those of all roles, and those of the fallback model."""
LOCAL: Mapping[str, str] = {"rules": "agents.models.standin"}
"""The models behind "local:", each with the module that makes it; a model whose module is not installed is unknown."""
CACHING: Mapping[str, Caching] = {"openai": "key", "anthropic": "marks"}
"""Which providers want to be asked to keep a prompt's beginning, and how."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """How models are asked. `timeout` is in seconds, per attempt and per silent gap of a stream.

    Key and address are those of "openai:" models; the other providers read their own environment variables.
    """

    key: SecretStr | None = None
    base_url: str | None = None
    timeout: float = 60
    retries: int = 2
    caching: bool = True
    rules_length: int = 1_000
    """Characters of a message that `local:rules` reads."""
    reply_length: int = MOST_CHARACTERS
    reply_seconds: float = LONGEST


def make_model(name: str, endpoint: Endpoint, parameters: Parameters | None = None) -> Model:
    """Return the model of that name.

    Raises:
        ConfigError: the name is of no known kind, its package or its key is missing, or it takes no such parameter.
    """
    kind, _, bare = name.partition(":")
    if not bare or (kind == "local" and not _is_here(bare)):
        local = "".join(f"local:{name}, " for name in LOCAL if _is_here(name))
        raise ConfigError(
            f"LLM_MODEL and its kin take {local}openai:<name> or <provider>:<name>, found {name!r}; see .env.example"
        )
    if kind == "local":
        return Model(name, importlib.import_module(LOCAL[bare]).make_chat(longest=endpoint.rules_length))
    chat = _chat(kind, bare, endpoint, {})
    parameters = parameters or Parameters()
    if options := parameters.options(chat, name):
        chat = _chat(kind, bare, endpoint, options)
    caching = CACHING.get(kind, "none") if endpoint.caching else "none"
    return Model(
        name,
        chat,
        parallel_tool_calls=parameters.parallel_tool_calls,
        images=parameters.images,
        caching=caching,
        reply_length=endpoint.reply_length,
        reply_seconds=endpoint.reply_seconds,
        first_seconds=max(endpoint.timeout, RETRIED_FOR),
    )


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
    own = {role: entry.over(common) for role, entry in parameters.items() if role != DEFAULT}
    names = {**{role: default for role in own if role != FALLBACK}, **roles}
    return Models(
        default=make_model(default, endpoint, common),
        roles={role: make_model(name, endpoint, own.get(role, common)) for role, name in names.items()},
        fallback=make_model(fallback, endpoint, own.get(FALLBACK, common)) if fallback else None,
    )


def _is_here(local: str) -> bool:
    return local in LOCAL and importlib.util.find_spec(LOCAL[local]) is not None


def _chat(kind: str, name: str, endpoint: Endpoint, options: Mapping[str, object]) -> BaseChatModel:
    if kind == "openai":
        return _openai(name, endpoint, options)
    return make_chat(kind, name, timeout=endpoint.timeout, max_retries=endpoint.retries, **options)


def _openai(name: str, endpoint: Endpoint, options: Mapping[str, object]) -> BaseChatModel:
    if endpoint.key is None and endpoint.base_url is None:
        raise ConfigError("openai: models need OPENAI_API_KEY (or OPENAI_BASE_URL of a server without keys) in .env")
    settings: dict[str, object] = {
        "model": name,
        "api_key": endpoint.key or SecretStr("none"),
        "base_url": endpoint.base_url,
        "timeout": endpoint.timeout,
        "stream_chunk_timeout": endpoint.timeout,
        "max_retries": endpoint.retries,
        "stream_usage": True,
    }
    # The client takes a second to load, and `local:rules` needs none.
    from agents.models.openai_chat import CompatibleChat  # noqa: PLC0415

    return CompatibleChat.model_validate({**settings, **options})
