"""What the shop's tools work with."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from agents.memory.connection import Connection
from agents.memory.ledger import Ledger
from agents.toolkit.services import Services
from dialogs.orders.store import Shop


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the shop."""
    yield [Shop(services.get(Connection), services.get(Ledger))]
