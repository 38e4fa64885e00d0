"""The chain of `assistant_help`, from the settings: the links that answer in the assistant's place."""

import secrets
from collections.abc import Callable, Collection, Mapping

from langgraph.store.base import BaseStore

from agents.errors import ConfigError
from agents.memory import Memory
from agents.models.factory import Endpoint, make_model
from agents.plugin import Plugin
from agents.toolkit.help import HelpChain, HelpLink, PageLink
from agents.toolkit.services import Services
from app.help_links import OtherModel, PersonLink, Webhook
from app.settings import Settings

SALT = ("application", "help")
EXAMPLE = "(see .env.example)"
OWN = ("pages", "model", "webhook", "person")
"""The names of the application's links."""


def brought_links(plug_ins: Mapping[str, Plugin]) -> dict[str, Callable[[Services], HelpLink]]:
    """Return the makers of the links that plug-ins and dialogs bring, by name."""
    return {name: make for plugin in plug_ins.values() for name, make in plugin.help.items()}


async def make_help(
    settings: Settings, memory: Memory, services: Services, plug_ins: Mapping[str, Plugin]
) -> HelpChain:
    """Return the chain. Raises ConfigError: a link is not known, or lacks a setting."""
    brought = brought_links(plug_ins)
    check_help(settings, brought)
    links: list[HelpLink] = []
    for name in settings.help_chain:
        match name:
            case "pages":
                links.append(PageLink())
            case "model":
                links.append(model_link(settings))
            case "webhook":
                secret = settings.help_webhook_secret.get_secret_value() if settings.help_webhook_secret else None
                links.append(
                    Webhook(str(settings.help_webhook_url), await _salt(memory.store), secret, settings.help_timeout)
                )
            case "person":
                links.append(PersonLink(memory.notes, settings.notes_per_day))
            case _ if name in brought:
                links.append(brought[name](services))
    return HelpChain(links, settings.help_timeout)


def check_help(settings: Settings, brought: Collection[str]) -> None:
    """Check the links; plug-ins have `brought` some. Raises ConfigError: one is not known, or lacks a setting."""
    known = [*brought, *OWN]
    # The part that brings a link of the default may be left out.
    named = settings.help_chain if "help_chain" in settings.model_fields_set else ()
    if strange := next((name for name in named if name not in known), None):
        raise ConfigError(f"HELP_CHAIN: there is no link {strange!r}; there are: {', '.join(known)} {EXAMPLE}")
    if "model" in settings.help_chain:
        model_link(settings)
    if "webhook" in settings.help_chain and settings.help_webhook_url is None:
        raise ConfigError(f"HELP_CHAIN: the link webhook needs HELP_WEBHOOK_URL {EXAMPLE}")


def model_link(settings: Settings) -> OtherModel:
    """Return the link to another model. Raises ConfigError: its name or key is missing."""
    name = settings.help_model or ""
    provider, _, bare = name.partition(":")
    if not bare or provider == "local":
        raise ConfigError(f"HELP_CHAIN: the link model needs HELP_MODEL=<provider>:<name> {EXAMPLE}")
    if provider != "openai":
        if settings.help_base_url or settings.help_api_key:
            raise ConfigError(f"HELP_BASE_URL and HELP_API_KEY are for HELP_MODEL=openai:<name> alone {EXAMPLE}")
        return OtherModel(make_model(name, Endpoint(timeout=settings.help_timeout, retries=0)))
    own = bool(settings.help_base_url or settings.help_api_key)
    key = settings.help_api_key if own else settings.openai_api_key
    url = settings.help_base_url if own else settings.openai_base_url
    if not (key or url):
        raise ConfigError(f"HELP_MODEL needs HELP_API_KEY or HELP_BASE_URL {EXAMPLE}")
    endpoint = Endpoint(key=key, base_url=url, timeout=settings.help_timeout, retries=0)
    return OtherModel(make_model(name, endpoint))


async def _salt(store: BaseStore) -> bytes:
    """Return the salt for hashes of thread ids: a secret of the database that never changes."""
    if (item := await store.aget(SALT, "salt")) is not None:
        return bytes.fromhex(str(item.value["salt"]))
    salt = secrets.token_bytes(16)
    await store.aput(SALT, "salt", {"salt": salt.hex()})
    return salt
