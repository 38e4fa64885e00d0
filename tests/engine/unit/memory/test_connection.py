"""A connection with a thread of its own: whole transactions, in their order."""

import asyncio
import sqlite3
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from agents.errors import DatabaseError
from agents.memory import Memory
from agents.memory.connection import PAGE_BYTES, WAL_BYTES, Connection, Session, connect
from tests.support.simulated_time import rounds

ADD = "INSERT INTO owners VALUES (?, 1)"


async def added(connection: Connection) -> list[str]:
    """Return the rows that the tests have added."""
    return [owner for (owner,) in await connection.execute("SELECT owner FROM owners WHERE owner LIKE '_'")]


def _add(name: str, database: Session) -> None:
    database.execute(ADD, (name,))


async def test_a_write_that_nobody_waits_for_any_more_is_not_made(memory: Memory) -> None:
    """A write that is cancelled while the connection is busy leaves nothing, and those after it are made."""
    database, busy = memory.database, threading.Event()
    first = asyncio.create_task(database.read(lambda _: busy.wait(60)))
    second, third = (asyncio.create_task(database.write(partial(_add, name))) for name in "xy")
    await rounds(1)
    second.cancel()
    await rounds(1)
    busy.set()
    await asyncio.wait([first, second, third])
    assert second.cancelled()
    assert await added(database) == ["y"]


async def test_a_cancelled_transaction_of_several_trips_is_undone(memory: Memory) -> None:
    """Whenever its task is cancelled, it happened whole or not at all, and the file is free at once."""

    async def write(name: str) -> None:
        async with memory.database.transaction():
            await memory.database.execute(ADD, (name,))
            await memory.database.execute("DELETE FROM owners WHERE owner = ?", (name,))

    for moment in range(12):
        task = asyncio.create_task(write("x"))
        await rounds(moment)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert await added(memory.database) == []
        async with asyncio.timeout(60):
            await memory.store.aput(("a",), str(moment), {})


async def test_a_failed_write_is_undone(memory: Memory) -> None:
    """Of a piece of work that fails nothing is written."""
    with pytest.raises(DatabaseError):
        await memory.database.write(lambda database: database.executemany(ADD, [("x",), ("x",)]).rowcount)
    assert await added(memory.database) == []


async def test_a_cursor_does_not_leave_its_thread(memory: Memory) -> None:
    """Dropped elsewhere, a cursor would reset its statement while it runs; such a write is undone and told."""
    with pytest.raises(TypeError, match="cursor"):
        await memory.database.write(lambda database: database.execute(ADD, ("x",)))
    assert await added(memory.database) == []


@pytest.mark.parametrize("page_bytes", [PAGE_BYTES, 4096])
async def test_a_file_keeps_the_size_of_its_pages(tmp_path: Path, page_bytes: int) -> None:
    """A new file has small pages, an older one those that it was made with; their logs grow to the same bytes."""
    path = tmp_path / "talk.db"
    if page_bytes != PAGE_BYTES:
        with sqlite3.connect(path) as older:
            older.executescript(f"PRAGMA page_size={page_bytes}; CREATE TABLE t (a)")
        older.close()
    async with connect(str(path)) as connection:
        assert await connection.execute("PRAGMA page_size") == [(page_bytes,)]
        assert await connection.execute("PRAGMA wal_autocheckpoint") == [(WAL_BYTES // page_bytes,)]


async def test_a_closed_database_keeps_nobody_waiting(tmp_path: Path) -> None:
    """A turn that nobody read to its end may write something while the process ends."""
    async with connect(str(tmp_path / "x.db")) as connection:
        pass
    with pytest.raises(DatabaseError, match="closed"):
        await connection.execute("SELECT 1")
