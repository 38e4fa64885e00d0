"""Fill a shop: with the catalogue that comes with the application, or with a file in the same schema."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from agents.errors import UsageError
from agents.shop.customers import match
from agents.shop.records import Database, Kind
from agents.shop.store import TABLES

CATALOGUE = Path(__file__).with_name("catalogue.json")
KINDS: tuple[Kind, ...] = ("products", "users", "orders")
DEMO_USER, DEMO_DEVICE, DEMO_CUSTOMER = "me", "terminal", "ann_berg_1001"
"""The user of a fresh terminal is this customer of the catalogue, there and through no other door."""


def fill(db: sqlite3.Connection, records: Database) -> None:
    """Put these records in place of all that the shop holds; who is a customer that is still there stays so."""
    for statement in TABLES:
        db.execute(statement)
    db.execute("DELETE FROM shop_records")
    by_kind = cast(Mapping[Kind, Mapping[str, Mapping[str, Any]]], records)
    rows = [
        (kind, id, record.get("user_id", ""), json.dumps(record, ensure_ascii=False))
        for kind in KINDS
        for id, record in by_kind[kind].items()
    ]
    db.executemany("INSERT INTO shop_records (kind, id, owner, body) VALUES (?, ?, ?, ?)", rows)
    db.execute("DELETE FROM shop_customers WHERE customer NOT IN (SELECT id FROM shop_records WHERE kind = 'users')")


def fill_with_catalogue(db: sqlite3.Connection) -> None:
    """Make the shop that comes with the application, unless there is one."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'shop_records'").fetchone():
        return
    fill(db, json.loads(CATALOGUE.read_text("utf-8")))
    match(db, DEMO_USER, DEMO_CUSTOMER, DEMO_DEVICE)


def read_records(path: Path) -> Database:
    """Read a shop from a file; its numbers and further fields stay as they stand there.

    Raises:
        UsageError: it cannot be read, or is no shop in this schema.
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
    return cast(Database, records)
