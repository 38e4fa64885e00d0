"""What conversations have beside models: services of dialogs, the chain of help, file reader, gate thresholds."""

import logging
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from langgraph.store.base import BaseStore

import dialogs
import observers
from agents.conversation.gate.trained import Calibration, Thresholds, weights
from agents.errors import ConfigError
from agents.memory import Memory
from agents.memory.connection import Tables
from agents.memory.notes import Notes
from agents.models.factory import Endpoint, make_model
from agents.sources.attachments.transcriber import Transcriber
from agents.toolkit.help import HelpChain, Link, Pages
from agents.toolkit.help.links import OtherModel, Person, Webhook
from agents.toolkit.services import Services
from app.assistant import Assistant
from app.assistant.file_reader import FileReader
from app.settings import HelpLink, Settings, read
from dialogs import Dialog
from prompts import languages


def dialogs_of() -> Mapping[str, Dialog]:
    """Return every dialog with what it declares, by name."""
    return dialogs.discover(languages(), observers.discover(languages()))


def tables_of(specialists: Mapping[str, Dialog]) -> list[Tables]:
    """Return the tables of the dialogs that have some."""
    return [dialog.tables for dialog in specialists.values() if dialog.tables]


@asynccontextmanager
async def open_services(specialists: Mapping[str, Dialog], memory: Memory, *given: object) -> AsyncIterator[Services]:
    """Yield the services of all dialogs; they work during the block.

    A dialog may use the services of those before it in the alphabet. Every dialog's settings are there first, and
    `given` services go before others of their types.

    Raises:
        ConfigError: a setting of a dialog is wrong.
    """
    services = Services(*given, memory, memory.store, memory.database, memory.ledger, memory.locks, memory.notes)
    services.add(*(read(dialog.settings) for dialog in specialists.values() if dialog.settings))
    async with AsyncExitStack() as stack:
        for dialog in specialists.values():
            if dialog.services is not None:
                services.add(*await stack.enter_async_context(dialog.services(services)))
            if dialog.forget is not None:
                memory.erasers.append(partial(dialog.forget, services))
        yield services


SALT = ("application", "help")
EXAMPLE = "(see .env.example)"


async def make_help(settings: Settings, store: BaseStore, notes: Notes) -> HelpChain:
    """Return the chain.

    Raises:
        ConfigError: a link lacks what it needs.
    """
    check_help(settings)
    links = [await _link(name, settings, store, notes) for name in settings.help_chain]
    return HelpChain(links, settings.help_timeout)


def check_help(settings: Settings) -> None:
    """Check that the links have the settings that they need.

    Raises:
        ConfigError: a link lacks what it needs.
    """
    if "model" in settings.help_chain:
        model_link(settings)
    if "webhook" in settings.help_chain and settings.help_webhook_url is None:
        raise ConfigError(f"HELP_CHAIN: the link webhook needs HELP_WEBHOOK_URL {EXAMPLE}")


async def _link(name: HelpLink, settings: Settings, store: BaseStore, notes: Notes) -> Link:
    match name:
        case "pages":
            return Pages()
        case "model":
            return model_link(settings)
        case "webhook":
            secret = settings.help_webhook_secret
            shared = secret.get_secret_value() if secret else None
            return Webhook(str(settings.help_webhook_url), await _salt(store), shared, settings.help_timeout)
        case "person":
            return Person(notes, settings.notes_per_day)


def model_link(settings: Settings) -> OtherModel:
    """Return the link to another model.

    Raises:
        ConfigError: its name or key is missing.
    """
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
    item = await store.aget(SALT, "salt")
    if item is None:
        await store.aput(SALT, "salt", {"salt": secrets.token_hex(16)})
        item = await store.aget(SALT, "salt")
    assert item is not None  # it was put there just now
    return bytes.fromhex(str(item.value["salt"]))


OPENAI_URL = "https://api.openai.com/v1"


def make_file_reader(settings: Settings, assistant: Assistant) -> FileReader:
    """Return what reads files; it hears if a model for that is set."""
    transcriber = None
    if settings.transcriber_model:
        own = settings.transcriber_base_url and str(settings.transcriber_base_url)
        url, key = own or settings.openai_base_url or OPENAI_URL, settings.transcriber_api_key
        # The key of one server is nothing for another one.
        key = key if own else key or settings.openai_api_key
        transcriber = Transcriber(url, settings.transcriber_model, key, settings.model_timeout)
    return FileReader(assistant, transcriber, settings.attached_length)


THRESHOLDS_ITEM = ("application", "gate"), "thresholds"
LOG = logging.getLogger(__name__)


async def load_thresholds(store: BaseStore) -> Thresholds | None:
    """Return the thresholds of this installation; None if it has none, or they belong to other weights."""
    item = await store.aget(*THRESHOLDS_ITEM)
    if item is None:
        return None
    if item.value["model"] != weights().name:
        LOG.warning("the gate has new weights since it was calibrated; run `python -m app calibrate` again")
        return None
    return Thresholds(item.value["low"], item.value["high"])


async def store_thresholds(store: BaseStore, chosen: Calibration) -> None:
    """Write thresholds down; they are used from the next start on."""
    limits = chosen.thresholds
    value = {"model": weights().name, "low": limits.low, "high": limits.high, "turns": chosen.turns}
    await store.aput(*THRESHOLDS_ITEM, {**value, "switches": chosen.switches})


async def drop_thresholds(store: BaseStore) -> None:
    """Go back to the thresholds that come with the application."""
    await store.adelete(*THRESHOLDS_ITEM)
