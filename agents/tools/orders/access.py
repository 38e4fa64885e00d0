"""The shop as the user of a turn may use it; whose records these are no model says."""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from agents.memory.connection import Connection
from agents.shop.customers import customer_of
from agents.shop.loader import fill_with_catalogue
from agents.shop.store import Shop, ShopError, is_there
from agents.toolkit import Refused, Runtime
from prompts import phrase

T = TypeVar("T")
SERVE = "serve_customers"
"""The permission to act for every customer."""
NOBODY = ""
"""The customer that a user is who is none: products exist for them, and nothing else."""


async def read(runtime: Runtime, work: Callable[[Shop], T]) -> T:
    """Look something up in the shop, which is filled first if there is none.

    Raises:
        Refused: there is no such thing for this user.
    """
    database = await _database(runtime)
    with_shop = _working(runtime, work)
    return await database.read(with_shop)


async def change(runtime: Runtime, about: str, operation: Callable[[Shop], T]) -> T:
    """Carry out an operation on an order or a customer; it commits with the answer of the tool, or not at all.

    Raises:
        Refused: the shop forbids it, or there is no such thing for this user.
    """
    ledger, user = runtime.context.ledger, runtime.context.user
    assert ledger is not None  # there is one wherever there is a database
    await _database(runtime)

    def work(shop: Shop) -> T:
        outcome = operation(shop)
        shop.save(user, about)
        return outcome

    async with ledger.transaction() as connection:
        return await connection.inside(_working(runtime, work))


def own_customer(shop: Shop) -> str:
    """Return the customer that the user is. Raises ShopError."""
    if not shop.own:
        raise ShopError("no_customer")
    return shop.own


async def _database(runtime: Runtime) -> Connection:
    database = runtime.context.database
    assert database is not None  # every context that a memory makes has it
    if not await database.read(is_there):
        await database.write(fill_with_catalogue)
    return database


def _working(runtime: Runtime, work: Callable[[Shop], T]) -> Callable[[sqlite3.Connection], T]:
    context, lang = runtime.context, runtime.state["lang"]

    def with_shop(db: sqlite3.Connection) -> T:
        own = customer_of(db, context.user, context.device) or NOBODY
        try:
            return work(Shop(db, None if SERVE in context.permissions else own, own))
        except ShopError as refusal:
            raise Refused(phrase(f"shop_{refusal.key}", lang, **refusal.values)) from None

    return with_shop
