"""The tables of a shop, and the shop as one customer sees it: no query leaves out whose the record is."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from agents.shop.records import Kind, Order, Product, User

TABLES = (
    """CREATE TABLE IF NOT EXISTS shop_records (
    kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, id))""",
    "CREATE INDEX IF NOT EXISTS shop_records_owner ON shop_records (owner, kind)",
    """CREATE TABLE IF NOT EXISTS shop_customers (
    user TEXT NOT NULL, device TEXT NOT NULL, customer TEXT NOT NULL, PRIMARY KEY (user, device))""",
    """CREATE TABLE IF NOT EXISTS shop_changes (
    id INTEGER PRIMARY KEY, user TEXT NOT NULL, record TEXT NOT NULL, about TEXT NOT NULL)""",
)
READ = """
SELECT body FROM shop_records WHERE kind = :kind AND id = :id
AND (owner = '' OR :customer IS NULL OR owner = :customer)
"""
LIST = """
SELECT body FROM shop_records WHERE kind = :kind AND (owner = '' OR :customer IS NULL OR owner = :customer)
ORDER BY rowid
"""
WRITE = "UPDATE shop_records SET body = ? WHERE kind = ? AND id = ?"
Record = dict[str, Any]


class ShopError(Exception):
    """Something that the shop refuses; `key` names the sentence that says so, `values` are its variables."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


@dataclass
class Shop:
    """The shop as a customer sees it; changes are collected, and written by `save`.

    `customer` is a trusted value: other people's orders and details do not exist for it. With None, whoever uses the
    shop may act for every customer.
    """

    db: sqlite3.Connection
    customer: str | None
    own: str = ""
    """The customer that the user is; empty if they are none."""
    _changed: dict[tuple[Kind, str], Record] = field(default_factory=dict)

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
        """Return all customers that there are for this one."""
        return [cast(User, record) for record in self._records("users")]

    def orders_of(self, user: User) -> list[Order]:
        """Return a user's orders, oldest first."""
        return [self.order(id) for id in user["orders"]]

    def products(self) -> list[Product]:
        """Return all products, by name."""
        products = [cast(Product, record) for record in self._records("products")]
        return sorted(products, key=lambda product: product["name"])

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
        """Write all changes, and that a user made them to an order or a customer; the caller commits."""
        for (kind, id), record in self._changed.items():
            self.db.execute(WRITE, (json.dumps(record, ensure_ascii=False), kind, id))
        self.db.execute("INSERT INTO shop_changes (user, record, about) VALUES (?, ?, ?)", (by, *self._about(about)))
        self._changed.clear()

    def _about(self, id: str) -> tuple[str, str]:
        return next(kind for kind, changed in self._changed if changed == id), id

    def _record(self, kind: Kind, id: str) -> Record:
        if (kind, id) in self._changed:
            copy: Record = json.loads(json.dumps(self._changed[kind, id]))
            return copy
        row = self.db.execute(READ, {"kind": kind, "id": id, "customer": self.customer}).fetchone()
        if row is None:
            raise ShopError(f"no_{kind.removesuffix('s')}")
        record: Record = json.loads(row[0])
        return record

    def _records(self, kind: Kind) -> Iterator[Record]:
        rows = self.db.execute(LIST, {"kind": kind, "customer": self.customer}).fetchall()
        return (json.loads(body) for (body,) in rows)


def is_there(db: sqlite3.Connection) -> bool:
    """Tell whether the database has a shop."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'shop_records'").fetchone() is not None
