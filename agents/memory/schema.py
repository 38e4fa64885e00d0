"""The tables of the database file: each owner says in steps how its own are made, and they only go forward."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from agents.errors import ConfigError

ENGINE = "engine"
"""The owner of the engine's tables; their version is also the file's `user_version`."""
OWNERS = "CREATE TABLE IF NOT EXISTS owners (owner TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID"
VERSION = "SELECT version FROM owners WHERE owner = ?"


@dataclass(frozen=True)
class Tables:
    """The tables of one owner."""

    owner: str
    steps: Sequence[str]
    """SQL scripts: the first one makes the tables, each other one brings them to the next version.

    A step that was ever run stays as it is; a change is a step more.
    """


def migrate(tables: Tables, database: sqlite3.Connection) -> None:
    """Run the steps that an owner's tables lack, all of them or none; the caller keeps other processes away.

    Raises:
        ConfigError: the tables were made by a newer version of this program.
    """
    database.execute(OWNERS)
    (version,) = database.execute(VERSION, (tables.owner,)).fetchone() or (0,)
    newest = len(tables.steps)
    if version > newest:
        raise ConfigError(
            f"DATABASE_URL: the tables of {tables.owner!r} have version {version}, newer than this program,"
            f" which knows {newest}; update the program or name another file."
        )
    if version == newest:
        return
    try:
        # A script would commit a transaction that was begun before it.
        database.executescript(";\n".join(["BEGIN IMMEDIATE", *tables.steps[version:]]))
        database.execute("INSERT OR REPLACE INTO owners (owner, version) VALUES (?, ?)", (tables.owner, newest))
        if tables.owner == ENGINE:
            database.execute(f"PRAGMA user_version = {newest}")
        database.execute("COMMIT")
    except BaseException:
        database.rollback()
        raise
