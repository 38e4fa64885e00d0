"""Somebody is forgotten: no table knows them any more, of a file or of a server."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest

from agents.memory import TABLES, Memory
from agents.memory.checkpointer import TABLES as CHECKPOINTS
from agents.memory.connection import Session, migrate
from agents.memory.deletions import Deletion
from agents.memory.digests import secret_file
from agents.memory.inbox import InboxEntry
from app.composition import open_assistant, plugins_found, tables_of
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
"""Operators' deeds and settings, the shop's records, and a message whose outcome nobody has seen yet."""


def tables(url: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each table that an installation has, with a row about the person."""
    owners = [CHECKPOINTS, *TABLES, *tables_of(plugins_found())]
    if url.startswith("postgresql"):
        owners.append(import_module("app.plugins.postgres.handed_turns").TABLES)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
        for owner in owners:
            migrate(owner, empty)
        names = empty.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (name,) in names.fetchall():
            columns = empty.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall()
            if name != "owners":
                yield name, {column: VALUES.get(column, BY_TYPE[kind]) for column, kind in columns}


def settings_of(database: str) -> Settings:
    """Return the settings of an installation."""
    return Settings(_env_file=None, llm_model="local:rules", app_lang="en", database_url=database)


async def tables_that_know(memory: Memory, url: str) -> set[str]:
    """Return the tables with the name in any of their rows."""
    rows = {name: await memory.database.execute(f"SELECT * FROM {name}") for name, _ in tables(url)}
    return {name for name, found in rows.items() if NAME in repr(found)}


@pytest.mark.needs("standin")
async def test_no_table_knows_who_was_forgotten(database: str) -> None:
    """Each table has a row about the person, also one that a dialog brings tomorrow."""

    def fill(session: Session) -> None:
        for name, row in tables(database):
            if name == "worker_events":
                row["request"] = "read by nobody"
            marks = ", ".join("?" * len(row))
            session.execute(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({marks})", list(row.values()))

    async with open_assistant(settings_of(database)) as assistant:
        await assistant.memory.database.write(fill)
        kept = KEPT.intersection(name for name, _ in tables(database))
        assert kept - {"worker_turns"} < await tables_that_know(assistant.memory, database)
        await assistant.forgetting.thread(NAME)
        await assistant.forgetting.person(NAME)
        assert await tables_that_know(assistant.memory, database) <= KEPT


def digests_of(*guesses: str) -> Iterator[bytes]:
    """Yield the bytes of a guess in a file: the guess, two of them together, and their digests without a key."""
    pairs = [f"{one}{between}{other}" for one, other in product(guesses, guesses) for between in "\0 :/"]
    for guess in (*guesses, *pairs):
        for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "blake2s"):
            digest = hashlib.new(name, guess.encode()).digest()
            yield from (digest[:8], digest.hex()[:16].encode())
    yield from (guess.encode() for guess in guesses)


@pytest.mark.needs("standin")
async def test_no_guess_can_be_verified(tmp_path: Path) -> None:
    """The digests that outlive a deletion need a key that is in no table: the done writes are still known."""
    path, door, user, thread, message = tmp_path / "d.db", "telegram 4711", "user-pomelo", "thread-pomelo", "m-pomelo"
    async with open_assistant(settings_of(f"sqlite:///{path}")) as assistant:
        memory = assistant.memory
        await memory.updates.close((await memory.updates.take(door, message, "{}", thread)).id)
        entry = InboxEntry(thread, message, user, "yes", "message")
        await memory.transcript.accept(entry)
        deletion = Deletion(thread, message, user, "everything", "en")
        await memory.transcript.close(entry, "done", 1, [], beside=[memory.forgettings.entering(deletion)])
        assert await memory.notes.add(thread, "call me", "call", user, most=1)
        await assistant.forgetting.carry_out(deletion)
        await assistant.forgetting.person(user)
        assert await memory.updates.knows(door, message)
        assert await memory.forgettings.of(thread, message)
        assert not await memory.notes.add(thread, "call me", "another", user, most=1)
    content, key = path.read_bytes(), secret_file(path).read_bytes()
    assert not [
        guess for guess in digests_of(user, thread, message, door) if guess in content and guess != door.encode()
    ]
    assert len(key) == 32
    assert key not in content


@pytest.mark.needs("standin")
async def test_digests_of_older_versions_get_the_key(tmp_path: Path) -> None:
    """Writes from before the upgrade are still known after it, and their digests without a key are gone."""
    path, settings = tmp_path / "d.db", settings_of(f"sqlite:///{tmp_path}/d.db")
    async with open_assistant(settings):
        pass
    plain = hashlib.sha256(b"telegram 1 message 1").hexdigest()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("INSERT INTO updates (digest, door, received_ms) VALUES (?, 'telegram 1', 1)", (plain,))
        database.execute("DELETE FROM owners WHERE owner = 'digests'")
    async with open_assistant(settings) as assistant:
        assert await assistant.memory.updates.knows("telegram 1", "message 1")
    assert plain.encode() not in path.read_bytes()
