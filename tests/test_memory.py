"""What is stored stays, what is forgotten is gone, and nothing is written twice."""

import asyncio
import logging
import os
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import ormsgpack
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import id as ids
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import PutOp
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from agents.errors import ConfigError, UsageError
from agents.memory import Memory, open_memory
from agents.memory.checkpoints import Saver
from agents.memory.connection import writing
from agents.memory.letters import Letter, Line, clean
from agents.memory.store import Store, namespace_of
from agents.memory.transcript import Transcript

THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


def append(words: list[str], added: list[str]) -> list[str]:
    """Keep the last 40 words."""
    return [*words, *added][-40:]


class Words(TypedDict, total=False):
    """The state of a tiny conversation."""

    words: Annotated[list[str], append]


def graph(saver: Saver) -> Any:
    """Build a graph of one node that asks the user when it hears "ask"."""

    def answer(state: Words) -> Words:
        if state["words"][-1] == "ask":
            return {"words": [interrupt("yes?")]}
        return {"words": [state["words"][-1].upper()]}

    built = StateGraph(Words)
    built.add_node("answer", answer)
    built.add_edge(START, "answer")
    built.add_edge("answer", END)
    return built.compile(checkpointer=saver)


async def words(saver: Saver, config: RunnableConfig = THREAD) -> list[str]:
    """Return what the thread's latest checkpoint holds."""
    state = await graph(saver).aget_state(config)
    return list(state.values.get("words", []))


async def say(saver: Saver, word: str, config: RunnableConfig = THREAD) -> None:
    """Play a turn."""
    await graph(saver).ainvoke({"words": [word]}, config, durability="sync")


def count(path: Path, table: str) -> int:
    """Count the rows of a table, through a connection of its own."""
    connection = sqlite3.connect(path)
    (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return int(rows)


def letter(message_id: str = "m1", text: str | None = "hello", thread: str = "t", user: str = "u") -> Letter:
    """Make a message."""
    return Letter(thread, message_id, user, text, "message")


def reply(text: str, **metadata: Any) -> Line:
    """Make a line of the assistant."""
    return Line("assistant", "supervisor", text, 0, "", 5, {"source": "llm", **metadata})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name the database file of a test."""
    return tmp_path / "var" / "dialogs.db"


@pytest.fixture
async def memory(path: Path) -> AsyncIterator[Memory]:
    """Open a fresh database."""
    async with open_memory(f"sqlite:///{path}") as opened:
        yield opened


class TestOpening:
    """`open_memory` makes a database or says what is wrong."""

    async def test_a_relative_path_and_its_folders_are_created(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Parent folders are made, and closing leaves one file with everything in it."""
        monkeypatch.chdir(tmp_path)
        async with open_memory("sqlite:///a/b/x.db") as memory:
            await memory.transcript.accept(letter())
        assert {file.name for file in (tmp_path / "a" / "b").iterdir()} == {"x.db", "x.db.lock"}
        assert count(tmp_path / "a" / "b" / "x.db", "inbox") == 1

    @pytest.mark.parametrize("url", ["postgresql://u:secret@host/db", "sqlite:///", "sqlite:///:memory:", "x.db"])
    async def test_another_kind_of_address_is_refused(self, url: str) -> None:
        """The error names the setting and a good value, and keeps passwords to itself."""
        with pytest.raises(ConfigError, match="DATABASE_URL must be sqlite:///path") as caught:
            async with open_memory(url):
                pass
        assert "secret" not in str(caught.value)

    async def test_a_file_that_is_no_database_is_refused_and_kept(self, tmp_path: Path) -> None:
        """A wrong path must not cost the file there."""
        note = tmp_path / "note.txt"
        note.write_text("milk, eggs " * 500)
        with pytest.raises(ConfigError, match=r"DATABASE_URL: cannot use .*note\.txt"):
            async with open_memory(f"sqlite:///{note}"):
                pass
        assert note.read_text() == "milk, eggs " * 500

    async def test_a_path_that_cannot_be_is_refused(self, tmp_path: Path) -> None:
        """A folder in place of the file, or a file in place of the folder, is the operator's to mend."""
        (tmp_path / "file").touch()
        for wrong in (tmp_path, tmp_path / "file" / "x.db"):
            with pytest.raises(ConfigError, match="DATABASE_URL"):
                async with open_memory(f"sqlite:///{wrong}"):
                    pass

    async def test_an_error_of_the_user_is_not_taken_for_a_wrong_setting(self, path: Path) -> None:
        """Only opening is translated; what happens later keeps its type."""
        with pytest.raises(FileNotFoundError):
            async with open_memory(f"sqlite:///{path}"):
                raise FileNotFoundError

    async def test_values_do_not_reach_the_log(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """The database driver's debug lines hold people's words and stay off."""
        with caplog.at_level(logging.DEBUG):
            async with open_memory(f"sqlite:///{path}") as memory:
                await memory.transcript.accept(letter(text="pomegranate"))
        assert "pomegranate" not in caplog.text

    @pytest.mark.slow
    async def test_processes_that_start_together_share_a_fresh_file(self, path: Path) -> None:
        """Creating the tables is no race."""
        code = (
            "import asyncio, sys\nfrom agents.memory import open_memory\n"
            "async def main():\n    async with open_memory(sys.argv[1]): pass\nasyncio.run(main())"
        )
        processes = [
            await asyncio.create_subprocess_exec(sys.executable, "-c", code, f"sqlite:///{path}") for _ in range(4)
        ]
        assert [await process.wait() for process in processes] == [0, 0, 0, 0]


class TestSaver:
    """Checkpoints: last written wins, nothing grows, nothing runs."""

    async def test_a_turn_under_a_clock_that_is_behind_is_kept(
        self, path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A second saver whose clock is 5 s behind answers a turn, and the next turn knows it."""
        await say(memory.saver, "one")
        behind = time.time_ns() - 5_000_000_000
        async with Saver.from_conn_string(str(path)) as second:
            with monkeypatch.context() as patch:
                patch.setattr(ids, "_last_v6_timestamp", None)
                patch.setattr(time, "time_ns", lambda: behind)
                await say(second, "two")
        await say(memory.saver, "three")
        assert await words(memory.saver) == ["one", "ONE", "two", "TWO", "three", "THREE"]

    @pytest.mark.slow
    async def test_a_process_whose_clock_is_behind_loses_nothing(self, path: Path, memory: Memory) -> None:
        """The same with a real process."""
        code = (
            "import asyncio, sys, time\nreal = time.time_ns\ntime.time_ns = lambda: real() - 60_000_000_000\n"
            "from agents.memory.checkpoints import Saver\nfrom tests.test_memory import say\n"
            "async def main():\n    async with Saver.from_conn_string(sys.argv[1]) as saver:\n"
            "        await say(saver, 'two')\nasyncio.run(main())"
        )
        await say(memory.saver, "one")
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(path))
        assert await process.wait() == 0
        assert await words(memory.saver) == ["one", "ONE", "two", "TWO"]
        await say(memory.saver, "three")
        assert await words(memory.saver) == ["one", "ONE", "two", "TWO", "three", "THREE"]

    async def test_one_checkpoint_a_thread_is_kept(self, path: Path, memory: Memory) -> None:
        """Each checkpoint replaces the one before, of its own thread only, and the talk goes on."""
        other: RunnableConfig = {"configurable": {"thread_id": "other"}}
        await say(memory.saver, "hello", other)
        for word in ("one", "two", "three"):
            await say(memory.saver, word)
        assert (count(path, "checkpoints"), count(path, "writes")) == (2, 0)
        assert await words(memory.saver) == ["one", "ONE", "two", "TWO", "three", "THREE"]
        assert [found.config["configurable"]["thread_id"] async for found in memory.saver.alist(None)] != []
        await memory.saver.adelete_thread("t")
        assert count(path, "checkpoints") == 1

    async def test_a_waiting_thread_keeps_what_it_needs(self, path: Path, memory: Memory) -> None:
        """A thread that waits for an answer keeps its pending writes and can be answered."""
        await say(memory.saver, "one")
        await say(memory.saver, "ask")
        assert count(path, "checkpoints") == 1
        assert count(path, "writes") > 0
        await graph(memory.saver).ainvoke(Command(resume="fine"), THREAD, durability="sync")
        assert await words(memory.saver) == ["one", "ONE", "ask", "fine"]
        assert (count(path, "checkpoints"), count(path, "writes")) == (1, 0)

    @pytest.mark.parametrize("kind", ["msgpack", "json", "pickle"])
    async def test_a_forged_row_runs_no_code(
        self, kind: str, path: Path, memory: Memory, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Who can write to the database still cannot run anything here."""
        await say(memory.saver, "one")
        trap = str(tmp_path / "trap")
        extension = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", trap))))
        forged = {
            "msgpack": extension,
            "json": b'{"lc": 2, "type": "constructor", "id": ["os", "mkdir"], "args": ["%s"]}' % trap.encode(),
            "pickle": b"cos\nmkdir\n(V" + trap.encode() + b"\ntR.",
        }
        async with writing(memory.saver.conn):
            await memory.saver.conn.execute("UPDATE checkpoints SET type = ?, checkpoint = ?", (kind, forged[kind]))
        try:
            await memory.saver.aget_tuple(THREAD)
        except NotImplementedError:
            assert kind == "pickle"
        assert "trap" not in os.listdir(tmp_path)

    async def test_a_cancelled_write_is_undone_and_lets_the_next_writer_in(self, path: Path, memory: Memory) -> None:
        """Whenever a write is cancelled, it happened whole or not at all, and the file is free at once."""
        await say(memory.saver, "one")
        place = await latest(memory.saver)
        for moment in range(20):
            task = asyncio.create_task(memory.saver.aput_writes(place, [("a", 1), ("b", 2)], f"x{moment}"))
            for _ in range(moment):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert count(path, "writes") % 2 == 0
            async with asyncio.timeout(5):
                await memory.transcript.accept(letter(str(moment)))

    async def test_a_write_that_nobody_waits_for_any_more_is_not_made(self, path: Path, memory: Memory) -> None:
        """A write that is cancelled while the connection is busy leaves nothing, and those after it are made."""
        await say(memory.saver, "one")
        place, busy = await latest(memory.saver), threading.Event()
        first = asyncio.create_task(memory.saver.conn.read(lambda _: busy.wait(5)))
        second = asyncio.create_task(memory.saver.aput_writes(place, [("a", 1)], "x"))
        third = asyncio.create_task(memory.saver.aput_writes(place, [("a", 1)], "y"))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.sleep(0.01)
        busy.set()
        await asyncio.wait([first, second, third])
        assert second.cancelled()
        assert count(path, "writes") == 1

    async def test_a_cursor_does_not_leave_its_thread(self, memory: Memory) -> None:
        """Dropped elsewhere, a cursor would reset its statement while it runs; such a write is undone and told."""
        with pytest.raises(TypeError, match="cursor"):
            await memory.saver.conn.write(lambda connection: connection.execute("DELETE FROM checkpoints"))
        await say(memory.saver, "one")

    async def test_many_turns_at_once_are_all_kept(self, memory: Memory) -> None:
        """Writes of many threads on one connection do not disturb each other."""
        configs: list[RunnableConfig] = [{"configurable": {"thread_id": str(number)}} for number in range(40)]
        for word in ("one", "two"):
            await asyncio.gather(*(say(memory.saver, word, config) for config in configs))
        assert {tuple(await words(memory.saver, config)) for config in configs} == {("one", "ONE", "two", "TWO")}


async def latest(saver: Saver) -> RunnableConfig:
    """Return the config of the latest checkpoint."""
    found = await saver.aget_tuple(THREAD)
    assert found is not None
    return found.config


class TestStore:
    """Long-term items."""

    async def test_erase_takes_a_namespace_and_what_is_below_it(self, memory: Memory) -> None:
        """A user's items go, also many of them, and nobody else's."""
        home, other = namespace_of("u"), namespace_of("u2")
        for number in range(30):
            await memory.store.aput((*home, "todos"), str(number), {"n": number})
        await memory.store.aput(home, "profile", {"name": "Ann"})
        await memory.store.aput(other, "profile", {"name": "Bob"})
        assert await memory.store.erase(home) == 31
        assert await memory.store.asearch(home) == []
        assert len(await memory.store.asearch(other)) == 1

    @pytest.mark.parametrize("user", ["anna.smith", "", "50%", "a.", "%2E"])
    async def test_every_user_has_a_namespace(self, memory: Memory, user: str) -> None:
        """Names with full stops, which the store forbids, have a home of their own."""
        await memory.store.aput(namespace_of(user), "profile", {"user": user})
        found = await memory.store.aget(namespace_of(user), "profile")
        assert found is not None
        assert found.value == {"user": user}
        homes = {namespace_of(name) for name in ("anna.smith", "", "50%", "a.", "%2E", ".", "%")}
        assert len(homes) == 7

    async def test_a_failed_batch_leaves_nothing(self, path: Path, memory: Memory) -> None:
        """Of a batch that cannot be written whole, nothing is written."""
        await memory.store.aput(("a",), "b", {})
        with pytest.raises(UnicodeEncodeError):
            await memory.store.abatch([PutOp(("a",), "b", None), PutOp(("a",), "\ud800", {})])
        assert count(path, "store") == 1
        await memory.store.aput(("a",), "c", {})
        assert count(path, "store") == 2

    async def test_a_read_and_write_batch_waits_for_other_writers(self, path: Path, memory: Memory) -> None:
        """A batch that reads first does not fail because somebody else commits in between."""
        async with Store.from_conn_string(str(path)) as second:
            async with memory.store._cursor() as cursor:
                await cursor.execute("SELECT count(*) FROM store")
                waiting = asyncio.create_task(second.aput(("a",), "b", {}))
                await asyncio.sleep(0.05)
                await cursor.execute("INSERT INTO store (prefix, key, value) VALUES ('a', 'c', '{}')")
            await waiting
        assert count(path, "store") == 2


class TestTranscript:
    """Inbox and transcript."""

    async def test_a_message_is_accepted_once(self, path: Path, memory: Memory) -> None:
        """The same message again changes nothing and returns what is known of it."""
        assert await memory.transcript.accept(letter()) == letter()
        await memory.transcript.close(letter(), "done", 3, [reply("hi")])
        again = await memory.transcript.accept(letter())
        assert (again.status, again.turn, again.text) == ("done", 3, "hello")
        assert again == await memory.transcript.letter("t", "m1")
        assert count(path, "inbox") == 1

    @pytest.mark.parametrize(("first", "second"), [("hello", "bye"), ("hello", None), (None, "hello")])
    async def test_an_id_with_another_text_is_refused(
        self, memory: Memory, first: str | None, second: str | None
    ) -> None:
        """An id stands for one text, before and after it was answered."""
        await memory.transcript.accept(letter(text=first))
        with pytest.raises(UsageError, match="another text"):
            await memory.transcript.accept(letter(text=second))
        await memory.transcript.close(letter(text=first), "done", 1, [reply("hi")])
        with pytest.raises(UsageError, match="another text"):
            await memory.transcript.accept(letter(text=second))
        await memory.transcript.accept(letter(text=second, thread="another"))

    async def test_closing_twice_writes_once(self, memory: Memory) -> None:
        """Equal replies of one message are kept apart, but a second close adds none."""
        await memory.transcript.accept(letter())
        for _ in range(2):
            await memory.transcript.close(letter(), "done", 1, [reply("ok"), reply("ok"), reply("bye")])
        lines = await memory.transcript.lines("t")
        assert [line.text for line in lines] == ["hello", "ok", "ok", "bye"]

    async def test_failed_then_done(self, memory: Memory) -> None:
        """The user's line stands once; the apology and the later answer both stand."""
        await memory.transcript.accept(letter())
        await memory.transcript.close(letter(), "failed", 1, [reply("Sorry.", source="llm failure")])
        assert await memory.transcript.open_letters("t") == []
        await memory.transcript.close(letter(), "done", 2, [reply("Here you are.")])
        told = [(line.role, line.text, line.turn) for line in await memory.transcript.lines("t")]
        assert told == [("user", "hello", 1), ("assistant", "Sorry.", 1), ("assistant", "Here you are.", 2)]
        last = await memory.transcript.last("t")
        assert last is not None
        assert (last.status, last.turn) == ("done", 2)

    async def test_lines_say_who_when_and_how(self, memory: Memory) -> None:
        """Metadata comes back as it was; the user's line names the source and the time of receipt."""
        before = time.time_ns() // 1_000_000
        await memory.transcript.accept(letter())
        cut_off = reply("Once upon", interrupted=True, interrupt_timestamp=7, original="Once upon a time")
        await memory.transcript.close(letter(), "interrupted", 1, [cut_off])
        heard, said = await memory.transcript.lines("t")
        assert (heard.role, heard.speaker, heard.metadata) == ("user", "u", {"source": "message"})
        assert before <= heard.at_ms <= time.time_ns() // 1_000_000
        assert said == Line("assistant", "supervisor", "Once upon", 1, "m1", 5, cut_off.metadata)

    async def test_speaking_unasked_has_no_user_line(self, memory: Memory) -> None:
        """A message without text leaves only what the assistant said."""
        await memory.transcript.accept(letter(text=None))
        await memory.transcript.close(letter(text=None), "done", 1, [reply("Good morning")])
        await memory.transcript.close(letter(text=None), "done", 1, [reply("Good morning")])
        assert [line.text for line in await memory.transcript.lines("t", message_id="m1")] == ["Good morning"]
        assert await memory.transcript.letter("t", "m1") == Letter("t", "m1", "u", None, "message", "done", 1)

    async def test_lines_can_be_narrowed(self, memory: Memory) -> None:
        """One message's lines, or the last few, always oldest first."""
        for number in range(1, 4):
            await memory.transcript.accept(letter(f"m{number}", f"q{number}"))
        for number in range(1, 4):
            await memory.transcript.close(letter(f"m{number}"), "done", number, [reply(f"a{number}")])
        await memory.transcript.close(letter("m1"), "done", 1, [reply("late")])
        assert [line.text for line in await memory.transcript.lines("t", limit=2)] == ["a3", "late"]
        assert [line.text for line in await memory.transcript.lines("t", message_id="m1")] == ["q1", "a1", "late"]
        assert await memory.transcript.lines("t", message_id="m9") == []
        assert await memory.transcript.lines("nowhere") == []

    async def test_open_letters_are_oldest_first(self, memory: Memory) -> None:
        """What was never closed is found again in the order of receipt."""
        for number in ("2", "1", "3"):
            await memory.transcript.accept(letter(number))
        await memory.transcript.close(letter("1"), "failed", 1, [])
        assert [item.message_id for item in await memory.transcript.open_letters("t")] == ["2", "3"]
        last = await memory.transcript.last("t")
        assert last is not None
        assert last.message_id == "3"

    async def test_an_unknown_message_cannot_be_closed(self, memory: Memory) -> None:
        """Closing what was never accepted is an error and writes nothing."""
        with pytest.raises(UsageError, match="never accepted"):
            await memory.transcript.close(letter(), "done", 1, [reply("hi")])
        assert await memory.transcript.lines("t") == []
        assert await memory.transcript.last("t") is None

    async def test_odd_characters_are_cleaned(self, memory: Memory) -> None:
        """Lone surrogates and NUL break nothing; names with them are refused."""
        assert clean("a\ud800b\0c\U0001f600") == "a\ufffdbc\U0001f600"
        odd = letter(text="a\udcff\0")
        assert (await memory.transcript.accept(odd)).text == "a\ufffd"
        await memory.transcript.close(odd, "done", 1, [reply("\ud800", original="\ud800")])
        assert await memory.transcript.accept(odd) == Letter("t", "m1", "u", "a\ufffd", "message", "done", 1)
        (said,) = (await memory.transcript.lines("t"))[1:]
        assert (said.text, said.metadata["original"]) == ("\ufffd", "\ufffd")
        assert await memory.transcript.lines("\ud800", message_id="\ud800") == []
        with pytest.raises(UsageError, match="surrogates"):
            await memory.transcript.accept(letter("\udcff"))

    async def test_threads_are_listed(self, memory: Memory) -> None:
        """Each thread with who wrote last, its turns and its last activity, the most recent first."""
        await memory.transcript.accept(letter("m1", thread="old"))
        await memory.transcript.close(letter("m1", thread="old"), "done", 4, [])
        await memory.transcript.accept(letter("m1", thread="new", user="v"))
        late = Line("assistant", "supervisor", "hi", 0, "", time.time_ns() // 1_000_000 + 60_000)
        await memory.transcript.close(letter("m1", thread="new", user="v"), "done", 1, [late])
        listed = await memory.transcript.threads()
        assert [(one.thread, one.user, one.turns) for one in listed] == [("new", "v", 1), ("old", "u", 4)]
        assert listed[0].active_ms == late.at_ms

    async def test_erase_names_users_without_another_thread(self, memory: Memory) -> None:
        """A user with a second thread is not among them."""
        await memory.transcript.accept(letter("m1", user="u"))
        await memory.transcript.accept(letter("m2", user="v"))
        await memory.transcript.accept(letter("m1", thread="second", user="v"))
        assert await memory.transcript.erase("t") == {"u"}
        assert await memory.transcript.erase("t") == set()
        assert await memory.transcript.last("t") is None

    async def test_a_cancelled_transaction_leaves_nothing(self, path: Path, memory: Memory) -> None:
        """Whenever a close is cancelled, it happened whole or not at all, and the next one works."""
        await memory.transcript.accept(letter())
        for moment in range(40):
            task = asyncio.create_task(memory.transcript.close(letter(), "done", 1, [reply("a"), reply("b")]))
            for _ in range(moment):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert count(path, "transcript") in (0, 3)
        await memory.transcript.close(letter(), "done", 1, [reply("a"), reply("b")])
        assert [line.text for line in await memory.transcript.lines("t")] == ["hello", "a", "b"]


@pytest.mark.slow
async def test_fifty_writers_at_once(path: Path, memory: Memory) -> None:
    """Saver, store and transcript of two openings write side by side; nobody finds the file locked."""

    async def write(opened: Memory, number: int) -> None:
        config: RunnableConfig = {"configurable": {"thread_id": str(number)}}
        entry = letter(thread=str(number))
        await opened.transcript.accept(entry)
        await say(opened.saver, "one", config)
        await opened.store.aput(namespace_of(str(number)), "n", {"n": number})
        await opened.transcript.close(entry, "done", 1, [reply("hi")])

    async with open_memory(f"sqlite:///{path}") as second:
        await asyncio.gather(*(write((memory, second)[number % 2], number) for number in range(50)))
    assert [count(path, table) for table in ("inbox", "transcript", "checkpoints", "store")] == [50, 100, 50, 50]


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

    async def test_a_user_with_another_thread_keeps_the_long_term_items(self, memory: Memory) -> None:
        """They go with the user's last thread."""
        await memory.store.aput(namespace_of("u"), "profile", {"name": "Ann"})
        await memory.transcript.accept(letter(thread="one"))
        await memory.transcript.accept(letter(thread="two"))
        await memory.forget("one")
        assert await memory.store.aget(namespace_of("u"), "profile") is not None
        await memory.forget("two")
        assert await memory.store.aget(namespace_of("u"), "profile") is None

    async def test_a_thread_known_to_the_saver_alone_is_forgotten_too(self, path: Path, memory: Memory) -> None:
        """Checkpoints without a transcript are a trace as well."""
        await say(memory.saver, "ask")
        assert await memory.forget("t") is True
        assert count(path, "checkpoints") == count(path, "writes") == 0

    async def test_a_running_turn_is_waited_for(self, memory: Memory) -> None:
        """What a turn writes at its end is forgotten with the rest."""
        await memory.transcript.accept(letter())
        async with memory.locks.hold("t"):
            forgetting = asyncio.create_task(memory.forget("t"))
            await asyncio.sleep(0.02)
            await memory.transcript.close(letter(), "done", 1, [reply("late")])
        assert await forgetting is True
        assert await memory.transcript.lines("t") == []

    async def test_a_reader_in_the_way_is_reported(self, path: Path, memory: Memory) -> None:
        """When the log cannot be emptied the caller is told, and the rows are gone all the same."""
        await memory.transcript.accept(letter())
        await memory.saver.setup()
        await memory.saver.conn.execute("PRAGMA busy_timeout=50")
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM inbox").fetchone()
        with pytest.raises(UsageError, match="Another process"):
            await memory.forget("t")
        reader.close()
        assert count(path, "inbox") == 0


@pytest.mark.slow
async def test_five_hundred_turns_stay_small(path: Path, memory: Memory) -> None:
    """A thread of 500 turns of 400 + 400 characters takes less than 1 MB, log and all."""
    for turn in range(500):
        entry = letter(f"{turn:032x}", f"{turn:04}" * 100)
        await memory.transcript.accept(entry)
        await say(memory.saver, f"{turn:04}" * 100)
        await memory.transcript.close(entry, "done", turn, [reply(f"{turn:04}" * 100)])
    assert sum(file.stat().st_size for file in path.parent.iterdir()) < 1_000_000


async def test_a_transcript_can_be_opened_alone(path: Path) -> None:
    """The parts do not need each other."""
    path.parent.mkdir()
    async with Transcript.from_conn_string(str(path)) as transcript:
        assert await transcript.threads() == []
