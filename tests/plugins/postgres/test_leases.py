"""A process without its thread's lock writes no more, and a frozen one loses the lock to those that wait."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import cast

import psycopg
import pytest

from agents.errors import DatabaseError
from agents.memory import Memory
from agents.memory.inbox import TranscriptLine
from app.databases import backend_of
from app.plugins.postgres import locks
from tests.support.postgres_server import PostgresServer
from tests.support.simulated_time import advance
from tests.support.tiny_graph import letter, reply
from tests.support.until import moment, until

pytestmark = pytest.mark.slow
HOLDER = """
import asyncio, sys
from agents.errors import DatabaseError
from agents.memory.inbox import InboxEntry
from app.databases import backend_of

async def main():
    async with backend_of(sys.argv[1]).open() as memory, memory.locks.hold("t"):
        await memory.transcript.accept(InboxEntry("t", "held", "u", "held", "message"))
        print("held", flush=True)
        sys.stdin.readline()
        try:
            await memory.transcript.accept(InboxEntry("t", "late", "u", "late", "message"))
        except DatabaseError as fault:
            print("refused", flush=True)

asyncio.run(main())
"""


@pytest.fixture
async def url(postgres_server: PostgresServer) -> str:
    """Return the address of an empty place."""
    return postgres_server.fresh()


@pytest.fixture
async def memory(url: str) -> AsyncIterator[Memory]:
    """Open a fresh database."""
    async with backend_of(url).open() as opened:
        yield opened


@asynccontextmanager
async def another_process(url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a process that holds the thread "t" until it reads a line, and then writes."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDER, url, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"held\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ids(memory: Memory) -> list[str]:
    """Return the ids of the messages that came."""
    return [entry.message_id for entry in await memory.transcript.open_entries("t")]


def end_sessions(url: str, condition: str) -> None:
    """End connections of other processes, as a lost network would."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'dialogs %'"
            f" AND {condition}".encode()
        )


HOLDS = "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"


async def test_a_lost_lock_stops_the_writing(url: str, memory: Memory) -> None:
    """Nothing is written under a lock whose connection is gone, even before anybody has noticed that."""
    async with memory.locks.hold("t"):
        await memory.transcript.accept(letter("m1"))
        await asyncio.to_thread(end_sessions, url, HOLDS)
        with pytest.raises(DatabaseError, match="lock of the thread was lost"):
            await memory.transcript.accept(letter("m2"))
    async with memory.locks.hold("t"):
        await memory.transcript.accept(letter("m3"))
    assert await ids(memory) == ["m1", "m3"]


def _has_answered(holder: locks._Holder, answers: int) -> bool:
    return holder._answers > answers


async def test_a_process_with_much_to_do_keeps_its_locks(memory: Memory) -> None:
    """Its event loop hears late what the server has said in time; the turn goes on."""
    async with memory.locks.hold("t"):
        holder = cast(locks.AdvisoryLocks, memory.locks)._holder
        assert holder is not None
        for _ in range(20):
            answers = holder._answers
            # The loop is kept for longer than a server may be silent.
            advance(2 * locks.SILENCE * locks.BEAT)
            await until(partial(_has_answered, holder, answers))
        await memory.transcript.accept(letter("m1"))
        assert await ids(memory) == ["m1"]


async def test_a_lost_connection_ends_the_lease(url: str, memory: Memory) -> None:
    """Later writes of the same turn are refused; the next turn finds everything open again."""
    async with memory.locks.hold("t"):
        await memory.transcript.accept(letter("m1"))
        await asyncio.to_thread(end_sessions, url, "true")
        for name in ("m2", "m3"):
            with pytest.raises(DatabaseError):
                await memory.transcript.accept(letter(name))
        with pytest.raises(DatabaseError):
            await memory.ledger.take_back("anything")
    async with memory.locks.hold("t"):
        await memory.transcript.close(letter("m1"), "done", 1, [reply("there")])
    assert [line.text for line in await memory.transcript.lines("t")] == ["hello", "there"]


async def test_a_server_that_restarts_between_turns_costs_no_turn(url: str, memory: Memory) -> None:
    """Connections that it has ended while nothing was asked of them are opened anew, those that only read too."""
    await memory.transcript.accept(letter("m1"))
    await memory.transcript.lines("t")
    await asyncio.to_thread(end_sessions, url, "true")
    async with memory.locks.hold("t"):
        await memory.transcript.close(letter("m1"), "done", 1, [reply("there")])
    await asyncio.to_thread(end_sessions, url, "true")
    assert [line.text for line in await memory.transcript.lines("t")] == ["hello", "there"]


async def test_a_transaction_is_not_continued_on_a_new_connection(url: str, memory: Memory) -> None:
    """Its first half is undone with the connection, so the second half is refused."""

    async def write() -> None:
        async with memory.database.transaction():
            await memory.database.execute("INSERT INTO owners VALUES ('x', 1)")
            await asyncio.to_thread(end_sessions, url, "true")
            with suppress(DatabaseError):
                await memory.database.execute("INSERT INTO owners VALUES ('y', 1)")
            await memory.database.execute("INSERT INTO owners VALUES ('z', 1)")

    with pytest.raises(DatabaseError):
        await write()
    assert await memory.database.execute("SELECT owner FROM owners WHERE owner IN ('x', 'y', 'z')") == []


async def test_a_server_that_starts_again_is_found_again(memory: Memory, postgres_server: PostgresServer) -> None:
    """Committed data is there; the next message is accepted."""
    await memory.transcript.accept(letter("m1"))
    await asyncio.to_thread(postgres_server.kill)
    with pytest.raises(DatabaseError):
        await memory.transcript.accept(letter("m2"))
    await asyncio.to_thread(postgres_server.start)
    async with memory.locks.hold("t"):
        await memory.transcript.accept(letter("m3"))
    assert await ids(memory) == ["m1", "m3"]


async def test_another_process_waits_for_the_thread(url: str, memory: Memory) -> None:
    """A killed one frees it at once."""
    async with another_process(url) as process:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5), memory.locks.hold("t"):
                pass
        process.kill()
        async with asyncio.timeout(120), memory.locks.hold("t"):
            await memory.transcript.accept(letter("next"))
    assert await ids(memory) == ["held", "next"]


async def test_a_frozen_process_loses_the_thread(url: str, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A waiting process takes it over; when the frozen process wakes, it writes nothing."""
    monkeypatch.setattr(locks, "FROZEN", 2.0)
    async with another_process(url) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        os.kill(process.pid, signal.SIGSTOP)
        async with asyncio.timeout(120), memory.locks.hold("t"):
            await memory.transcript.accept(letter("next"))
            os.kill(process.pid, signal.SIGCONT)
            process.stdin.write(b"\n")
            assert await process.stdout.readline() == b"refused\n"
    assert await ids(memory) == ["held", "next"]


async def test_a_cancelled_wait_keeps_no_lock(url: str) -> None:
    """Whenever somebody is cancelled who waits for a thread, another one can have it."""
    async with backend_of(url).open() as ours, backend_of(url).open() as theirs:
        for wait in range(20):

            async def hold() -> None:
                async with ours.locks.hold("t"):
                    await moment(0.001)

            task = asyncio.create_task(hold())
            await moment(wait / 5000, wait / 5000)
            task.cancel()
            async with asyncio.timeout(120), theirs.locks.hold("t"):
                pass


async def test_a_row_that_is_refused_is_not_quoted(memory: Memory) -> None:
    """The server tells the whole row behind its reason; the reason alone goes into the log."""
    with pytest.raises(DatabaseError, match="null value in column") as refused:
        await memory.database.execute("INSERT INTO inbox (thread, text) VALUES (?, ?)", ("t", "my card is 4111 1111"))
    assert "4111" not in str(refused.value)


async def test_a_connection_that_dies_in_a_query(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """psycopg calls it an internal fault; the lock is taken by the next connection, and nobody is told of a fault."""
    works, faults = locks._Holder.does, [psycopg.InternalError("got no result from the query")]

    async def does(holder: locks._Holder, sql: str, key: int) -> bool:
        if faults and sql == locks.LOCK:
            raise faults.pop()
        return await works(holder, sql, key)

    monkeypatch.setattr(locks._Holder, "does", does)
    async with asyncio.timeout(120), memory.locks.hold("t"):
        told = await memory.transcript.tell("t", TranscriptLine("assistant", "supervisor", "Said.", 0, "s", 1))
    assert faults == []
    assert [line.text for line in await memory.transcript.lines("t", after=told.row - 1)] == ["Said."]
    assert await memory.transcript.lines("t", after=told.row) == []
    assert await memory.transcript.records("t", "s") == []


async def test_threads_that_begin_together_are_locked_together(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty threads at once take a few statements, and each has its own lock."""
    async with memory.locks.hold("first"):
        holder = cast(locks.AdvisoryLocks, memory.locks)._holder
        assert holder
        statements, inside, run = list[str](), asyncio.Barrier(40), holder._run

        async def noted(sql: str) -> None:
            statements.append(sql)
            await run(sql)

        async def held(number: int) -> None:
            async with memory.locks.hold(f"t{number}"):
                await inside.wait()

        monkeypatch.setattr(holder, "_run", noted)
        await asyncio.gather(*map(held, range(40)))
        assert {locks.LOCK, locks.UNLOCK} == {*statements}
        assert len(statements) <= 10
