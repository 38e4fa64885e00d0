"""An installation moves from a file to a server and back; a move that was cut off goes on."""

import os
import signal
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest

from agents.errors import ConfigError, UsageError
from agents.memory import Memory
from agents.memory.connection import Tables
from agents.memory.sqlite_file import SqliteBackend
from app.composition import plugins_found, tables_of
from app.composition.migration import Tell, copy
from app.databases import backend_of
from tests.support.postgres_server import PostgresServer
from tests.support.tiny_graph import letter, reply, say
from tests.support.until import until
from tests.support.warm_process import WarmProcess

THREADS = int(os.environ.get("MIGRATED_THREADS", "60"))
"""2,000 of them were moved, with two interruptions: docs/figures.md."""
WAITS = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
"""Whether somebody waits to write to a table."""


def untold(done: int, total: int, name: str) -> None:
    """Take no notice of how far it is."""


async def copied(old: str, new: str, *, tell: Tell = untold) -> Mapping[str, int]:
    """Copy a database to another address."""
    return await copy(backend_of(old), backend_of(new), tell)


async def filled(memory: Memory, threads: int = THREADS) -> None:
    """Hold conversations, and write into what they leave."""
    for number in range(threads):
        thread = f"t{number}"
        for turn in (1, 2):
            message = letter(f"m{turn}", f"hello {turn} \u2028 'ё' {chr(0x1F600)}", thread, f"u{number % 7}")
            await memory.transcript.accept(message)
            await memory.transcript.close(message, "done", turn, [reply(f"answer {turn}", to="u")], record="{}")
        await say(memory.saver, "word " * 300, {"configurable": {"thread_id": thread}})
        await memory.store.aput(("users", f"u{number}"), "key", {"a": [1, 2.5, None, "x"]})
        await memory.notices.add(f"u{number}", thread, "k", text="later", lang="en", at_ms=number)
        await memory.notes.add(thread, "call me", "c1", f"u{number}", 10)


def content(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of a file."""
    with closing(sqlite3.connect(path)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return {
            name: sorted(database.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for (name,) in names.fetchall()
        }


@pytest.fixture
async def source(tmp_path: Path) -> Path:
    """Return a file with conversations."""
    path = tmp_path / "old.db"
    async with SqliteBackend(f"sqlite:///{path}").open(tables=tables_of(plugins_found())) as memory:
        await filled(memory)
    return path


async def test_from_file_to_file(source: Path, tmp_path: Path) -> None:
    """Every row is there; the bar is told of each."""
    steps: list[tuple[int, int]] = []
    old, new = f"sqlite:///{source}", f"sqlite:///{tmp_path}/new.db"
    counts = await copied(old, new, tell=lambda *step: steps.append(step[:2]))
    assert content(tmp_path / "new.db") == content(source)
    assert counts["transcript"] == 4 * THREADS
    assert steps[-1] == (sum(counts.values()), sum(counts.values()))


async def test_a_target_with_conversations_is_refused(source: Path, tmp_path: Path) -> None:
    """Nothing is mixed, and nothing is copied onto itself."""
    other = f"sqlite:///{tmp_path}/other.db"
    async with SqliteBackend(other).open() as memory:
        await memory.transcript.accept(letter())
    with pytest.raises(UsageError, match="already"):
        await copied(f"sqlite:///{source}", other)
    with pytest.raises(UsageError, match="another one"):
        await copied(other, other)


@pytest.mark.parametrize(
    ("address", "fault"),
    [("mysql://x", "--to must be"), ("sqlite:////", "--to must be"), ("sqlite:///{folder}", "--to: cannot use")],
)
async def test_a_target_that_is_no_database_is_told(source: Path, tmp_path: Path, address: str, fault: str) -> None:
    """The fault is that of the option, and not that of the setting."""
    (folder := tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=f"^{fault}"):
        await copied(f"sqlite:///{source}", address.format(folder=folder))


async def test_unknown_and_older_tables_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program cannot copy unknown tables whole."""
    old, new = f"sqlite:///{tmp_path}/old.db", f"sqlite:///{tmp_path}/new.db"
    garden = Tables("garden", {"make_plants": "CREATE TABLE plants (name TEXT)"})
    async with SqliteBackend(old).open(tables=[garden]):
        pass
    with pytest.raises(UsageError, match="garden"):
        await copied(old, new)
    newer = Tables("garden", {**garden.migrations, "add_height": "ALTER TABLE plants ADD COLUMN height INTEGER"})
    monkeypatch.setattr("app.composition.migration.tables_of", lambda plug_ins: [newer])
    with pytest.raises(UsageError, match="older version"):
        await copied(old, new)


@pytest.mark.slow
@pytest.mark.needs("postgres")
async def test_to_a_server_and_back(source: Path, tmp_path: Path, postgres_server: PostgresServer) -> None:
    """There and back nothing has changed; new rows get new numbers on the server."""
    before, url = content(source), postgres_server.fresh()
    await copied(f"sqlite:///{source}", url)
    await copied(url, f"sqlite:///{tmp_path}/back.db")
    assert content(source) == before
    assert content(tmp_path / "back.db") == before
    with psycopg.connect(url) as connection:
        number = 'INSERT INTO inbox (thread, message_id, "user", source, turn, status, received_ms)'
        [new] = connection.execute(f"{number} VALUES ('t', 'new', 'u', 's', 1, 'open', 1) RETURNING id").fetchall()
    assert new == (2 * THREADS + 1,)


@pytest.mark.slow
@pytest.mark.needs("postgres")
async def test_a_move_that_was_killed_twice_is_whole(
    source: Path, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """The command goes on with the rows that are missing, and says how many of each table there are."""
    url = postgres_server.fresh()
    async with backend_of(url).open(tables=tables_of(plugins_found())):
        pass
    for table in ("inbox", "store"):
        with psycopg.connect(url) as connection:
            connection.execute(f"LOCK TABLE {table} IN SHARE MODE".encode())
            process = await migrating(source, url)
            await until(partial(_waits, connection, table, process))
            process.kill()
            assert await process.wait() == -signal.SIGKILL
    process = await migrating(source, url)
    printed, faults = await process.communicate()
    assert process.returncode == 0, faults
    assert f"transcript: {4 * THREADS}" in printed.decode()
    process = await migrating(source, url)
    _, faults = await process.communicate()
    assert (process.returncode, faults.count(b"\n")) == (2, 1)
    await copied(url, f"sqlite:///{tmp_path}/back.db")
    assert content(tmp_path / "back.db") == content(source)


def _waits(connection: psycopg.Connection, table: str, process: WarmProcess) -> bool:
    assert process.returncode is None
    return bool(connection.execute(WAITS, (table,)).fetchall())


async def migrating(source: Path, url: str) -> WarmProcess:
    """Start the command."""
    variables = {**os.environ, "DATABASE_URL": f"sqlite:///{source}", "APP_LANG": "en"}
    return await WarmProcess.start("migrate", "--to", url, environment=variables, is_read=True)
