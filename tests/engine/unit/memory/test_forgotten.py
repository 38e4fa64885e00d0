"""Somebody is forgotten: no table knows them any more, of a file or of a server."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from agents.memory import TABLES, Memory
from agents.memory.checkpointer import TABLES as CHECKPOINTS
from agents.memory.connection import Session, migrate
from app.composition import open_assistant, plugins_found, tables_of
from app.composition.databases import is_postgres
from app.postgres import handed_turns
from app.settings import Settings

NAME = "pomegranate"
"""The name of the person and of their thread."""
OBJECT = f'{{"a": "{NAME}"}}'
OBJECTS = ("metadata", "record", "value", "quoted", "told", "outcome", "body", "events")
"""Columns of JSON objects."""
HASHES = ("digest", "user_hash", "who", "door")
"""Columns in which no name stands."""
VALUES = {
    "checkpoint_ns": "",
    "day": "1970-01-01",
    "lang": "en",
    "model": "m",
    "prefix": f"users.{NAME}",
    "status": "done",
    "what": "everything",
}
VALUES |= dict.fromkeys(OBJECTS, OBJECT) | dict.fromkeys(HASHES, "x")
BY_TYPE: dict[str, object] = {"TEXT": NAME, "INTEGER": 1, "REAL": 1.0, "BLOB": NAME.encode()}
KEPT = {"audit", "updates", "worker_turns", "media_viewers", "shop_changes", "shop_customers", "shop_records"}
"""What operators did and set up, what the shop has on record, and a message whose outcome nobody was shown yet."""


def tables(url: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each table that an installation has, with a row about the person."""
    owners = [CHECKPOINTS, *TABLES, *tables_of(plugins_found()), *([handed_turns.TABLES] if is_postgres(url) else [])]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
        for owner in owners:
            migrate(owner, empty)
        names = empty.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (name,) in names.fetchall():
            columns = empty.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall()
            if name != "owners":
                yield name, {column: VALUES.get(column, BY_TYPE[kind]) for column, kind in columns}


async def tables_that_know(memory: Memory, url: str) -> set[str]:
    """Return the tables with the name in any of their rows."""
    rows = {name: await memory.database.execute(f"SELECT * FROM {name}") for name, _ in tables(url)}
    return {name for name, found in rows.items() if NAME in repr(found)}


async def test_no_table_knows_who_was_forgotten(database: str) -> None:
    """Each table has a row about the person, also one that a dialog brings tomorrow."""
    settings = Settings(_env_file=None, llm_model="local:rules", app_lang="en", database_url=database)

    def fill(session: Session) -> None:
        for name, row in tables(database):
            if name == "worker_events":
                row["request"] = "read by nobody"
            marks = ", ".join("?" * len(row))
            session.execute(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({marks})", list(row.values()))

    async with open_assistant(settings) as assistant:
        await assistant.memory.database.write(fill)
        kept = KEPT.intersection(name for name, _ in tables(database))
        assert kept - {"worker_turns"} < await tables_that_know(assistant.memory, database)
        await assistant.forgetting.thread(NAME)
        await assistant.forgetting.person(NAME)
        assert await tables_that_know(assistant.memory, database) <= KEPT
