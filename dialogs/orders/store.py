"""The tables of the shop, and its records as one customer may see them."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from agents.memory.connection import Tables
from dialogs.orders.records import Database, Kind, Order, Product, User

TABLES = Tables(
    "orders",
    [
        """
CREATE TABLE IF NOT EXISTS shop_records (
    kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, id));
CREATE INDEX IF NOT EXISTS shop_records_owner ON shop_records (owner, kind);
CREATE TABLE IF NOT EXISTS shop_customers (
    user TEXT NOT NULL, device TEXT NOT NULL, customer TEXT NOT NULL, PRIMARY KEY (user, device));
CREATE TABLE IF NOT EXISTS shop_changes (
    id INTEGER PRIMARY KEY, user TEXT NOT NULL, record TEXT NOT NULL, about TEXT NOT NULL);
"""
    ],
)
VISIBLE = "kind = :kind AND (owner = '' OR :customer IS NULL OR owner = :customer)"
READ = f"SELECT body FROM shop_records WHERE {VISIBLE} AND id = :id"
LIST = f"SELECT body FROM shop_records WHERE {VISIBLE} ORDER BY rowid"
FILL = "INSERT INTO shop_records (kind, id, owner, body) VALUES (?, ?, ?, ?)"
WRITE = "UPDATE shop_records SET body = ? WHERE kind = ? AND id = ?"
NOTE_CHANGE = "INSERT INTO shop_changes (user, record, about) VALUES (?, ?, ?)"
DROP_CUSTOMERS = "DELETE FROM shop_customers WHERE customer NOT IN (SELECT id FROM shop_records WHERE kind = 'users')"
Record = dict[str, Any]


class ShopError(Exception):
    """Something that the shop refuses; `key` names the sentence that says so, `values` are its variables."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


@dataclass
class ShopRecords:
    """The records that a customer may see. Changes are collected, and written by `save`.

    `customer` is a trusted value: other people's orders and details do not exist for it. With None, the user may act
    for every customer.
    """

    db: sqlite3.Connection
    customer: str | None
    own: str = ""
    """The customer that the user is; empty if the user is no customer."""
    _changed: dict[tuple[Kind, str], Record] = field(default_factory=dict)

    def own_customer(self) -> str:
        """Return the customer that the user is. Raises ShopError."""
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
        """Return the orders of the customer that the user is, oldest first. Raises ShopError."""
        return [self.order(id) for id in self.user(self.own_customer())["orders"]]

    def products(self) -> list[Product]:
        """Return all products, by name."""
        return sorted(cast(list[Product], self._records("products")), key=lambda product: product["name"])

    def product_of(self, item_id: str) -> Product:
        """Return the product that is sold as an item. Raises ShopError."""
        for product in self.products():
            if item_id in product["variants"]:
                return product
        raise ShopError("no_item")

    def put(self, kind: Kind, record: User | Order | Product) -> None:
        """Change a record, for now only in this object."""
        copy: Record = json.loads(json.dumps(record))
        self._changed[kind, str(copy[f"{kind.removesuffix('s')}_id"])] = copy

    def save(self, by: str, about: str) -> None:
        """Write all changes, and that a user made them to the record `about`; the caller commits."""
        kind = next(kind for kind, id in self._changed if id == about)
        for (changed, id), record in self._changed.items():
            self.db.execute(WRITE, (json.dumps(record, ensure_ascii=False), changed, id))
        self.db.execute(NOTE_CHANGE, (by, kind, about))
        self._changed.clear()

    def _record(self, kind: Kind, id: str) -> Record:
        if (kind, id) in self._changed:
            copy: Record = json.loads(json.dumps(self._changed[kind, id]))
            return copy
        row = self.db.execute(READ, {"kind": kind, "id": id, "customer": self.customer}).fetchone()
        if row is None:
            raise ShopError(f"no_{kind.removesuffix('s')}")
        record: Record = json.loads(row[0])
        return record

    def _records(self, kind: Kind) -> list[Record]:
        rows = self.db.execute(LIST, {"kind": kind, "customer": self.customer}).fetchall()
        return [json.loads(body) for (body,) in rows]


def fill(db: sqlite3.Connection, records: Database) -> None:
    """Replace all records. A user stays matched with a customer that is still there."""
    db.execute("DELETE FROM shop_records")
    for kind, by_id in cast(Mapping[str, Mapping[str, Record]], records).items():
        rows = [(kind, id, it.get("user_id", ""), json.dumps(it, ensure_ascii=False)) for id, it in by_id.items()]
        db.executemany(FILL, rows)
    db.execute(DROP_CUSTOMERS)
