"""A shop in a file of its own, and what became of it."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
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
    members: dict[str, list[str]] = {}
    with closing(sqlite3.connect(file)) as connection:
        for kind, id, body in connection.execute("SELECT kind, id, body FROM shop_records ORDER BY kind, id"):
            changed = json.dumps(changes[id](json.loads(body))) if id in changes else body
            members.setdefault(kind, []).append(f"{json.dumps(id)}:{canonical(changed)}")
    text = ",".join(f"{json.dumps(kind)}:{{{','.join(records)}}}" for kind, records in members.items())
    return hashlib.sha256(f"{{{text}}}".encode()).hexdigest()


@cache
def canonical(body: str) -> str:
    """Return JSON in its canonical form; most records are the same in every file."""
    return json.dumps(without_nulls(json.loads(body)), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def writes(file: Path) -> list[str]:
    """Return the orders and users of the writes, in order, with repetitions."""
    with closing(sqlite3.connect(file)) as connection:
        return [about for (about,) in connection.execute("SELECT about FROM shop_changes ORDER BY id")]


def without_nulls(data: Any) -> Any:
    """Return data without the keys whose value is null."""
    if isinstance(data, Mapping):
        return {name: without_nulls(value) for name, value in data.items() if value is not None}
    return [without_nulls(value) for value in data] if isinstance(data, list) else data
