"""The shop in the database of the conversations, and the records that one customer may see.

A write commits together with the answer of the tool that makes it.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from agents.errors import UsageError
from agents.memory.connection import Connection, Session, Tables
from agents.memory.ledger import Ledger
from agents.sources.documents.files import Unreadable, contents
from agents.toolkit import Refused, Runtime
from agents.toolkit.services import Services
from dialogs.orders.records import Database, Kind, Order, Product, User
from dialogs.orders.wording import said, translated

TABLES = Tables(
    "orders",
    {
        "make_shop": """
CREATE TABLE IF NOT EXISTS shop_records (
    kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, id));
CREATE INDEX IF NOT EXISTS shop_records_owner ON shop_records (owner, kind);
CREATE TABLE IF NOT EXISTS shop_customers (
    user TEXT NOT NULL, device TEXT NOT NULL, customer TEXT NOT NULL, PRIMARY KEY (user, device));
CREATE TABLE IF NOT EXISTS shop_changes (
    id INTEGER PRIMARY KEY, user TEXT NOT NULL, record TEXT NOT NULL, about TEXT NOT NULL);
""",
        # Earlier versions matched only the user "me" with the customer of the demo shop.
        "match_everybody": """
INSERT INTO shop_customers (user, device, customer)
SELECT '*', device, customer FROM shop_customers
WHERE user = 'me' AND device = 'terminal' AND customer = 'ann_berg_1001' ON CONFLICT DO NOTHING;
""",
    },
)
VISIBLE = "kind = :kind AND (owner = '' OR :customer IS NULL OR owner = :customer)"
READ = f"SELECT body FROM shop_records WHERE {VISIBLE} AND id = :id"
LIST = f"SELECT body FROM shop_records WHERE {VISIBLE} ORDER BY id"
FILL = "INSERT INTO shop_records (kind, id, owner, body) VALUES (:kind, :id, :owner, :body)"
WRITE = "UPDATE shop_records SET body = ? WHERE kind = ? AND id = ?"
NOTE_CHANGE = "INSERT INTO shop_changes (user, record, about) VALUES (?, ?, ?)"
DROP_CUSTOMERS = "DELETE FROM shop_customers WHERE customer NOT IN (SELECT id FROM shop_records WHERE kind = 'users')"
Record = dict[str, object]
T = TypeVar("T")
SERVE = "serve_customers"
"""The permission to act for every customer."""
CATALOGUE = Path(__file__).with_name("catalogue.json")
EVERYBODY = "*"
"""The name for all users without a customer of their own."""
DEMO_DEVICE, DEMO_CUSTOMER = "terminal", "ann_berg_1001"
"""Everybody at a fresh terminal is this customer of the catalogue, through that door only."""
MATCH = """
INSERT INTO shop_customers (user, device, customer) VALUES (?, ?, ?)
ON CONFLICT (user, device) DO UPDATE SET customer = excluded.customer
"""
UNMATCH = "DELETE FROM shop_customers WHERE user = ?"
MATCHES = "SELECT user, device, customer FROM shop_customers ORDER BY user, device"
CUSTOMER = f"""
SELECT customer FROM shop_customers WHERE user IN (?, '{EVERYBODY}') AND device IN ('', ?)
ORDER BY user = '{EVERYBODY}', device
"""


class ShopError(Exception):
    """A refusal of the shop; `key` names its sentence, `values` are the sentence's variables."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


@dataclass
class ShopRecords:
    """The records that a customer may see. A record that was read by its identifier may be changed; `save` writes it.

    `customer` is a trusted value: other people's orders and details do not exist for it. With None, the user may act
    for every customer.
    """

    db: Session
    customer: str | None
    own: str = ""
    """The user's own customer; empty if the user is not a customer."""
    _read: dict[tuple[Kind, str], tuple[Record, str]] = field(default_factory=dict)
    """The read records, each with its JSON in the database."""

    def own_customer(self) -> str:
        """Return the user's own customer. Raises ShopError."""
        if not self.own:
            raise ShopError("no_customer")
        return self.own

    def user(self, id: str) -> User:
        """Return a customer's details. Raises ShopError."""
        return cast(User, self._record("users", id))

    def order(self, id: str) -> Order:
        """Return an order. Raises ShopError."""
        return cast(Order, self._record("orders", id))

    def product(self, id: str) -> Product:
        """Return a product. Raises ShopError."""
        return cast(Product, self._record("products", id))

    def users(self) -> list[User]:
        """Return all customers that may be seen."""
        return cast(list[User], self._records("users"))

    def own_orders(self) -> list[Order]:
        """Return the orders of the user's own customer, oldest first. Raises ShopError."""
        return [self.order(id) for id in self.user(self.own_customer())["orders"]]

    def products(self) -> list[Product]:
        """Return all products, by name."""
        return sorted(cast(list[Product], self._records("products")), key=lambda product: product["name"])

    def product_of(self, item_id: str) -> Product:
        """Return the product of an item. Raises ShopError."""
        for product in self.products():
            if item_id in product["variants"]:
                return product
        raise ShopError("no_item")

    def save(self, by: str, about: str) -> None:
        """Write all changes, and the name of the user who made them, to the record `about`; the caller commits."""
        for (kind, id), (record, before) in self._read.items():
            body = json.dumps(record, ensure_ascii=False)
            if body != before:
                self.db.execute(WRITE, (body, kind, id))
            if id == about:
                self.db.execute(NOTE_CHANGE, (by, kind, about))

    def _record(self, kind: Kind, id: str) -> Record:
        if (kind, id) not in self._read:
            row = self.db.execute(READ, {"kind": kind, "id": id, "customer": self.customer}).fetchone()
            if row is None:
                raise ShopError(f"no_{kind.removesuffix('s')}")
            self._read[kind, id] = json.loads(row[0]), row[0]
        return self._read[kind, id][0]

    def _records(self, kind: Kind) -> list[Record]:
        rows = self.db.execute(LIST, {"kind": kind, "customer": self.customer}).fetchall()
        return [json.loads(body) for (body,) in rows]


def fill(db: Session, records: Database) -> None:
    """Replace all records. A user stays matched with a customer that still exists."""
    db.execute("DELETE FROM shop_records")
    for kind, by_id in cast(Mapping[str, Mapping[str, Record]], records).items():
        rows = [
            {"kind": kind, "id": id, "owner": it.get("user_id", ""), "body": json.dumps(it, ensure_ascii=False)}
            for id, it in by_id.items()
        ]
        db.executemany(FILL, rows)
    db.execute(DROP_CUSTOMERS)


Work = Callable[[ShopRecords], T]


@dataclass(frozen=True)
class Shop:
    """The shop in the database; its first use fills it with the catalogue."""

    database: Connection
    ledger: Ledger

    async def read(self, work: Callable[[Session], T]) -> T:
        """Read from the shop."""
        await self._fill_if_empty()
        return await self.database.read(work)

    async def change(self, work: Callable[[Session], T]) -> T:
        """Do a tool's work on the records; it commits with the answer of the tool, or not at all."""
        await self._fill_if_empty()
        async with self.ledger.transaction() as connection:
            return await connection.read(work)

    async def matches(self) -> Sequence[tuple[str, str, str]]:
        """Return every user with the device (empty: every device) and the customer."""
        return await self.read(lambda db: db.execute(MATCHES).fetchall())

    async def match(self, user: str, customer: str, device: str = "") -> None:
        """Match a user with a customer: through every door, or through that of one `device` ("terminal").

        Raises:
            ShopError: there is no such customer.
        """
        await self.read(lambda db: ShopRecords(db, None).user(customer))
        await self.database.write(lambda db: db.execute(MATCH, (user, device, customer)).rowcount)

    async def unmatch(self, user: str) -> bool:
        """Take a user's match away; return False if there was none."""
        await self._fill_if_empty()
        return await self.database.write(lambda db: db.execute(UNMATCH, (user,)).rowcount > 0)

    async def set_price(self, item_id: str, price: float) -> Product:
        """Change the price of an item from now on; orders keep the paid price. Raises ShopError."""

        def work(db: Session) -> Product:
            records = ShopRecords(db, None)
            product = records.product(records.product_of(item_id)["product_id"])
            product["variants"][item_id]["price"] = price
            records.save("", product["product_id"])
            return product

        await self._fill_if_empty()
        return await self.database.write(work)

    async def load(self, records: Database) -> None:
        """Replace all records of the shop."""
        await self.database.write(partial(fill, records=records))

    async def _fill_if_empty(self) -> None:
        if not await self.database.read(_is_filled):
            await self.database.write(fill_with_catalogue)


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the shop as a service for the tools."""
    yield [Shop(services.get(Connection), services.get(Ledger))]


async def read(runtime: Runtime, work: Work[T]) -> T:
    """Read records as the user of a turn. Raises Refused: they do not exist for the user."""
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


def fill_with_catalogue(db: Session) -> None:
    """Fill the shop with its catalogue, unless it is filled."""
    if not _is_filled(db):
        fill(db, json.loads(CATALOGUE.read_text("utf-8")))
        db.execute(MATCH, (EVERYBODY, DEMO_DEVICE, DEMO_CUSTOMER))


def read_records(path: Path) -> Database:
    """Read the records of a shop from a file; numbers and further fields stay as they are.

    Raises:
        UsageError: the file cannot be read, or does not have the schema of a shop.
    """
    try:
        source = contents(path)
        TypeAdapter(Database).validate_json(source)
    except Unreadable as fault:
        raise UsageError(f"{path}: {fault}") from None
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"{path} is not a shop: {place}: {first['msg']}") from None
    records = json.loads(source)
    return {"products": records["products"], "users": records["users"], "orders": records["orders"]}


def _is_filled(db: Session) -> bool:
    return db.execute("SELECT 1 FROM shop_records LIMIT 1").fetchone() is not None


def _as_user(runtime: Runtime, work: Work[T]) -> Callable[[Session], T]:
    context, lang = runtime.context, runtime.state["lang"]

    def with_records(db: Session) -> T:
        row = db.execute(CUSTOMER, (context.user, context.device)).fetchone()
        own = str(row[0]) if row else ""
        try:
            return work(ShopRecords(db, None if SERVE in context.permissions else own, own))
        except ShopError as refusal:
            values = {name: translated(str(value), lang) for name, value in refusal.values.items()}
            raise Refused(said(f"refused.{refusal.key}", lang, **values)) from None

    return with_records
