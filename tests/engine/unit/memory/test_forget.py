"""Deleted data leaves no byte."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from agents.errors import UsageError
from agents.memory import Memory
from agents.memory.ledger import Write
from agents.memory.store import namespace_of
from tests.support.tiny_graph import count, letter, reply, say


async def at_once() -> None:
    """Be ready."""


class TestForget:
    """`forget` removes every trace of a thread."""

    async def test_no_byte_is_left(self, path: Path, memory: Memory) -> None:
        """Neither the database nor its log holds the words, the thread or the user any more."""
        for turn in range(12):
            entry = letter(f"m{turn}", f"pomegranate {turn}", thread="pomegranate", user="pomegranate.1")
            await memory.transcript.accept(entry)
            await say(memory.saver, f"pomegranate {turn}", {"configurable": {"thread_id": "pomegranate"}})
            await memory.transcript.close(entry, "done", turn, [reply("a pomegranate")])
        await memory.transcript.accept(letter("open", "pomegranate", "pomegranate", "pomegranate.1"))
        await memory.store.aput((*namespace_of("pomegranate.1"), "todos"), "x", {"buy": "pomegranate"})
        await memory.transcript.accept(letter(text="apple", thread="kept"))
        unwiped = sqlite3.connect(path)
        unwiped.executescript(
            "PRAGMA secure_delete=OFF; CREATE TABLE old AS SELECT text FROM transcript; DROP TABLE old"
        )
        unwiped.close()
        assert await memory.forget("pomegranate") is True
        left = b"".join(file.read_bytes().lower() for file in path.parent.iterdir())
        assert b"pomegranate" not in left
        assert b"apple" in left
        assert await memory.forget("pomegranate") is False

    async def test_a_large_file_is_not_written_anew(
        self, path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Forgetting frees the pages of a thread and overwrites them; the rest of a large file is left alone."""
        monkeypatch.setattr("agents.memory.sqlite_file.SMALL", 0)
        await memory.transcript.accept(letter(text="pomegranate " * 2000, thread="gone"))
        await memory.transcript.accept(letter(text="apple", thread="kept"))
        await memory.forget("gone")
        assert await memory.database.execute("PRAGMA freelist_count") != [(0,)]
        assert b"pomegranate" not in b"".join(file.read_bytes() for file in path.parent.iterdir())

    @pytest.mark.parametrize("others", [[], ["u"], ["v"], ["u", "v"]])
    async def test_a_persons_data_go_with_a_thread_of_their_own(self, memory: Memory, others: list[str]) -> None:
        """Whatever other threads there are, and who else writes there; the other threads stay."""
        await memory.store.aput(namespace_of("u"), "profile", {"name": "Ann"})
        await memory.transcript.accept(letter(thread="one"))
        for user in others:
            await memory.transcript.accept(letter(f"m{user}", thread="two", user=user))
        await memory.forget("one")
        assert await memory.store.aget(namespace_of("u"), "profile") is None
        assert await memory.transcript.users_of("two") == {*others}

    async def test_a_persons_data_stay_when_a_shared_thread_goes(self, memory: Memory) -> None:
        """It belongs to nobody alone, also if it is the only thread of them all."""
        await memory.store.aput(namespace_of("u"), "profile", {"name": "Ann"})
        for user in ("u", "v"):
            await memory.transcript.accept(letter(f"m{user}", user=user))
        await memory.forget("t")
        assert await memory.store.aget(namespace_of("u"), "profile") is not None

    async def test_a_thread_known_to_the_saver_alone_is_forgotten_too(self, path: Path, memory: Memory) -> None:
        """Checkpoints without a transcript are a trace as well."""
        await say(memory.saver, "ask")
        assert await memory.forget("t") is True
        assert count(path, "checkpoints") == count(path, "writes") == 0

    async def test_a_thread_of_another_server_is_forgotten_too(self, memory: Memory) -> None:
        """Notes and done writes of a thread that is kept elsewhere are traces by themselves; others' notes stay."""

        async def write() -> str:
            return "done"

        await memory.notes.add("here", "Why?", "c", "here", 20)
        record = Write(key="k", thread="there", user="there", message="m", reply="m 1", lasts=60)
        for leave in (
            memory.ledger.once(record, write, ready=at_once),
            memory.notes.add("there", "Who?", "c", "there", 20),
        ):
            await leave
            assert await memory.forget("there") is True
            assert await memory.forget("there") is False
        assert [note.thread for note in await memory.notes.all()] == ["here"]

    async def test_a_running_turn_is_waited_for(self, memory: Memory) -> None:
        """A turn's writes at its end are deleted with the rest."""
        await memory.transcript.accept(letter())
        async with memory.locks.hold("t"):
            forgetting = asyncio.create_task(memory.forget("t"))
            # Each of our trips to the database lets it have one of its own.
            for _ in range(10):
                await memory.transcript.lines("t")
            await memory.transcript.close(letter(), "done", 1, [reply("late")])
        assert await forgetting is True
        assert await memory.transcript.lines("t") == []

    async def test_a_reader_in_the_way_is_reported(self, path: Path, memory: Memory) -> None:
        """When the log cannot be emptied the caller is told, and the rows are gone all the same."""
        await memory.transcript.accept(letter())
        await memory.database.execute("PRAGMA busy_timeout=50")
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM inbox").fetchone()
        with pytest.raises(UsageError, match="Another process"):
            await memory.forget("t")
        reader.close()
        assert count(path, "inbox") == 0
