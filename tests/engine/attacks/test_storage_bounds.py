"""Damaged values, locks that are refused, and tables that would grow for ever."""

import fcntl
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agents.errors import DatabaseError
from agents.events import Error
from agents.memory import gate_log, locks, notices
from agents.memory.connection import Connection
from agents.memory.gate_log import GateOutcome, Logged
from agents.memory.locks import ThreadLocks
from agents.memory.sqlite_file import SqliteBackend
from app.assistant import Turn
from app.process.exit_codes import STORAGE
from app.testing import Chat
from tests.support.tiny_graph import letter


@pytest.mark.parametrize("value", ["[]", "7", "{", "[" * 100_000])
async def test_a_damaged_value_ends_no_turn(chat: Chat, value: str) -> None:
    """It counts as not there, and what is set anew is kept again."""
    chat.expects(supervisor=["Hello.", "Hello again."])
    await chat.says("hello")
    sql = "INSERT OR REPLACE INTO store VALUES (?, ?, ?, '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
    with closing(sqlite3.connect(chat.path)) as database, database:
        rows = [("settings", "zone"), ("settings", "language"), ("forms", "profile"), ("todos", "x"), ("facts", "x")]
        database.executemany(sql, [(f"users.ann.{place}", key, value) for place, key in rows])
    assert (await chat.says("hello")).endswith("supervisor: Hello again.")
    async with chat.assistant() as assistant:
        await assistant.speak("ann", "ru")
        assert (await assistant.preferences("ann")).lang == "ru"


async def test_a_lock_that_is_not_permitted_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some systems mean "taken" by that, so it is tried for some seconds."""
    tries = list[int]()

    def refuse(*_: object) -> None:
        tries.append(1)
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(locks, "REFUSED_AFTER", 0.1)
    monkeypatch.setattr(fcntl, "lockf", refuse)
    with pytest.raises(PermissionError):
        async with ThreadLocks(tmp_path / "x.db").hold("ann"):
            pass
    assert len(tries) > 2


async def test_a_full_disk_in_the_middle_of_a_turn_is_told_as_such(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is room again when the turn ends: the message is kept and answered with the next one."""
    chat.expects(supervisor=["Hello.", "Here I am."])
    async with chat.assistant() as assistant:
        execute = assistant.memory.saver.aput

        async def full(*_: object, **__: object) -> object:
            monkeypatch.setattr(assistant.memory.saver, "aput", execute)
            raise DatabaseError("database or disk is full")

        monkeypatch.setattr(assistant.memory.saver, "aput", full)
        events = [event async for event in assistant.play(Turn(thread="ann", text="hello"))]
        assert [event.code for event in events if isinstance(event, Error)] == [STORAGE]
        assert [entry.text for entry in await assistant.memory.transcript.open_entries("ann")] == ["hello"]
    trace = await chat.says("are you there")
    assert [line for line in trace.split("\n") if line.startswith("user")] == ["user: hello", "user: are you there"]


async def test_what_was_told_long_ago_is_forgotten(tmp_path: Path) -> None:
    """A notice of a year ago goes when another one is told; the key of a later one is known."""
    at = 1_800_000_000.0
    async with SqliteBackend(f"sqlite:///{tmp_path}/x.db").open(lambda: at) as memory:

        async def tell(key: str) -> None:
            await memory.notices.add("ann", "t", key, text=key, lang="en")
            for due in await memory.notices.due(round(at * 1000), None, "*"):
                await memory.notices.rang(due)

        for key, later in (("first", 0), ("second", 300), ("third", 100)):
            at += later * 24 * 3600
            await tell(key)
        assert await memory.database.execute("SELECT key FROM notices ORDER BY key") == [("second",), ("third",)]
    assert notices.KEPT_MS > 300 * 24 * 3600 * 1000


async def test_guesses_of_long_ago_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log keeps the latest messages."""
    monkeypatch.setattr(gate_log, "KEPT", 3)
    async with SqliteBackend(f"sqlite:///{tmp_path}/x.db").open() as memory:
        for number in range(6):
            entry = letter(f"m{number}")
            await memory.transcript.accept(entry)
            guess = GateOutcome(Logged(float(number), watched=True, leaves=False), "model")
            await memory.transcript.close(entry, "done", number, [], None, guess)
        assert [guess.score for guess in await memory.transcript.guesses("model")] == [3.0, 4.0, 5.0]


async def test_a_write_within_a_transaction_is_a_part_of_it(tmp_path: Path) -> None:
    """Nothing of it stays if the transaction fails behind it."""
    async with SqliteBackend(f"sqlite:///{tmp_path}/x.db").open() as memory:

        async def both(database: Connection) -> None:
            async with database.transaction():
                await memory.notices.add("ann", "t", "key", text="x", lang="en")
                raise ValueError("cut off")

        with pytest.raises(ValueError, match="cut off"):
            await both(memory.database)
        assert await memory.database.execute("SELECT key FROM notices") == []
