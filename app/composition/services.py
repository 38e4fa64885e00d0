"""Open the services of the dialogs: the database, their settings, and what they make of these."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import dialogs
import observers
from agents.memory import Memory
from agents.memory.connection import Tables
from agents.toolkit.services import Services
from app.settings import read
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
