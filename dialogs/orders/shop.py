"""The shop as a service: it finds out which customer a user is, and limits every query to that customer.

The records stand in the database of the conversations, so that a write commits together with the answer of the tool
that makes it.
"""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from agents.errors import UsageError
from agents.memory.connection import Connection
from agents.memory.ledger import Ledger
from agents.toolkit import Refused, Runtime
from agents.toolkit.services import Services
from dialogs.orders.records import Database, Product
from dialogs.orders.store import ShopError, ShopRecords, fill
from dialogs.orders.wording import said

T = TypeVar("T")
Work = Callable[[ShopRecords], T]
SERVE = "serve_customers"
"""The permission to act for every customer."""
CATALOGUE = Path(__file__).with_name("catalogue.json")
DEMO_USER, DEMO_DEVICE, DEMO_CUSTOMER = "me", "terminal", "ann_berg_1001"
"""The user of a fresh terminal is this customer of the catalogue, there and through no other door."""
MATCH = "INSERT OR REPLACE INTO shop_customers (user, device, customer) VALUES (?, ?, ?)"
UNMATCH = "DELETE FROM shop_customers WHERE user = ?"
MATCHES = "SELECT user, device, customer FROM shop_customers ORDER BY user, device"
CUSTOMER = "SELECT customer FROM shop_customers WHERE user = ? AND device IN ('', ?) ORDER BY device"


@dataclass(frozen=True)
class Shop:
    """The shop in the database; at its first use it is filled with the catalogue."""

    database: Connection
    ledger: Ledger

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Look something up."""
        await self._fill_if_empty()
        return await self.database.read(work)

    async def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do what a tool does; it commits with the answer of the tool, or not at all."""
        await self._fill_if_empty()
        async with self.ledger.transaction() as connection:
            return await connection.read(work)

    async def matches(self) -> Sequence[tuple[str, str, str]]:
        """Return every user with the device (empty: every device) and the customer."""
        return await self.read(lambda db: db.execute(MATCHES).fetchall())

    async def match(self, user: str, customer: str, device: str = "") -> None:
        """Say which customer a user is: through every door, or through that of one `device` ("terminal").

        Raises:
            ShopError: there is no such customer.
        """
        await self.read(lambda db: ShopRecords(db, None).user(customer))
        await self.database.write(partial(_match, user=user, device=device, customer=customer))

    async def unmatch(self, user: str) -> bool:
        """Say that a user is no customer; return False if the user was no customer before."""
        await self._fill_if_empty()
        return await self.database.write(lambda db: db.execute(UNMATCH, (user,)).rowcount > 0)

    async def set_price(self, item_id: str, price: float) -> Product:
        """Change what an item costs from now on; orders keep what was paid. Raises ShopError."""
        await self._fill_if_empty()
        return await self.database.write(partial(_set_price, item_id=item_id, price=price))

    async def load(self, records: Database) -> None:
        """Replace all records of the shop."""
        await self.database.write(partial(fill, records=records))

    async def _fill_if_empty(self) -> None:
        if not await self.database.read(_is_filled):
            await self.database.write(fill_with_catalogue)


async def read(runtime: Runtime, work: Work[T]) -> T:
    """Look something up as the user of a turn.

    Raises:
        Refused: this does not exist for the user.
    """
    return await runtime.context.service(Shop).read(_as_user(runtime, work))


async def change(runtime: Runtime, about: str, operation: Work[T]) -> T:
    """Change the record `about` as the user of a turn.

    Raises:
        Refused: the shop forbids it, or there is no such record for this user.
    """

    def work(records: ShopRecords) -> T:
        outcome = operation(records)
        records.save(runtime.context.user, about)
        return outcome

    return await runtime.context.service(Shop).change(_as_user(runtime, work))


@asynccontextmanager
async def open_shop(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the shop as a service."""
    database = services.get(Connection)
    yield [Shop(database, services.get(Ledger))]


def fill_with_catalogue(db: sqlite3.Connection) -> None:
    """Fill the shop with the catalogue that comes with it, unless it is filled."""
    if not _is_filled(db):
        fill(db, json.loads(CATALOGUE.read_text("utf-8")))
        _match(db, DEMO_USER, DEMO_DEVICE, DEMO_CUSTOMER)


def read_records(path: Path) -> Database:
    """Read the records of a shop from a file; numbers and further fields stay as they are.

    Raises:
        UsageError: the file cannot be read, or does not have the schema of a shop.
    """
    try:
        records = json.loads(path.read_text("utf-8"))
        TypeAdapter(Database).validate_python(records)
    except OSError as fault:
        raise UsageError(f"{path}: {fault.strerror}") from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"{path} is no shop: {place}: {first['msg']}") from None
    except ValueError as wrong:
        raise UsageError(f"{path} is no JSON: {wrong}") from None
    return {"products": records["products"], "users": records["users"], "orders": records["orders"]}


def _is_filled(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM shop_records LIMIT 1").fetchone() is not None


def _match(db: sqlite3.Connection, user: str, device: str, customer: str) -> None:
    db.execute(MATCH, (user, device, customer))


def _set_price(db: sqlite3.Connection, item_id: str, price: float) -> Product:
    records = ShopRecords(db, None)
    product = records.product_of(item_id)
    product["variants"][item_id]["price"] = price
    records.put("products", product)
    records.save("", product["product_id"])
    return product


def _as_user(runtime: Runtime, work: Work[T]) -> Callable[[sqlite3.Connection], T]:
    context, lang = runtime.context, runtime.state["lang"]

    def with_records(db: sqlite3.Connection) -> T:
        row = db.execute(CUSTOMER, (context.user, context.device)).fetchone()
        own = str(row[0]) if row else ""
        try:
            return work(ShopRecords(db, None if SERVE in context.permissions else own, own))
        except ShopError as refusal:
            raise Refused(said(f"refused.{refusal.key}", lang, **refusal.values)) from None

    return with_records
