"""A shop in a file of its own, and what became of it."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from dialogs.orders import store
from dialogs.orders.records import Database, Kind
from dialogs.orders.store import TABLES

Record = dict[str, Any]


def fill(file: Path, records: Mapping[Kind, Mapping[str, Record]]) -> None:
    """Make a new database with these records."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript("\n".join(TABLES.migrations.values()))
        store.fill(connection, cast(Database, records))


def fill_with_catalogue(file: Path) -> None:
    """Make the tables, and fill them with the catalogue."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript("\n".join(TABLES.migrations.values()))
        store.fill_with_catalogue(connection)


def digest(file: Path, changes: Mapping[str, Callable[[Record], Record]]) -> str:
    """Return the SHA-256 of all records, some of them changed, as JSON.

    Keys are sorted, those of nulls left out; there are no blanks, and nothing is escaped.
    """
    records: dict[str, Record] = {}
    with closing(sqlite3.connect(file)) as connection:
        for kind, id, body in connection.execute("SELECT kind, id, body FROM shop_records"):
            record = json.loads(body)
            records.setdefault(kind, {})[id] = changes[id](record) if id in changes else record
    text = json.dumps(without_nulls(records), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def writes(file: Path) -> list[str]:
    """Return the orders and users of the writes, in order, with repetitions."""
    with closing(sqlite3.connect(file)) as connection:
        return [about for (about,) in connection.execute("SELECT about FROM shop_changes ORDER BY id")]


def without_nulls(data: Any) -> Any:
    """Return data without the keys whose value is null."""
    if isinstance(data, Mapping):
        return {name: without_nulls(value) for name, value in data.items() if value is not None}
    return [without_nulls(value) for value in data] if isinstance(data, list) else data
