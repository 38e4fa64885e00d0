"""Damaged rows, a full or locked database, a deleted file: a clear word, and nothing that was said is lost."""

import logging
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import ormsgpack
import pytest

from agents.events import REBUILT, Error
from agents.memory import connection
from agents.memory.serializer import Packing
from app.assistant import Assistant, Turn
from app.process.exit_codes import STORAGE
from app.testing import Chat
from prompts import phrase

pytestmark = pytest.mark.sqlite


def damage(path: Path, sql: str, *values: object) -> None:
    """Change the database behind the application's back."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(sql, values)


def forge(path: Path, **values: object) -> None:
    """Put other values than a state has into the latest checkpoint."""
    newest = "SELECT max(rowid) FROM checkpoints"
    with closing(sqlite3.connect(path)) as database:
        [(id,)] = database.execute(f"SELECT checkpoint_id FROM checkpoints WHERE rowid = ({newest})")
    checkpoint = {"v": 4, "id": id, "ts": "", "channel_values": values, "channel_versions": {}, "versions_seen": {}}
    sql = f"UPDATE checkpoints SET type = ?, checkpoint = ? WHERE rowid = ({newest})"
    damage(path, sql, *Packing().dumps_typed(checkpoint))


async def play(assistant: Assistant, text: str) -> list[tuple[str, str]]:
    """Say something and return the errors, by code, and the texts that came."""
    events = [event async for event in assistant.play(Turn(thread="ann", text=text))]
    return [(event.code if isinstance(event, Error) else "", getattr(event, "text", "") or "") for event in events]


MSGPACK = "zlib msgpack"
ROWS: dict[str, tuple[str, bytes] | dict[str, object]] = {
    "bytes": (MSGPACK, zlib.compress(b"\xc1\xff\x00")),
    "text that is no UTF-8": (MSGPACK, zlib.compress(b"\xa3\xff\xfe\xfd")),
    "another kind": ("pickle", b"cos\nsystem\n."),
    "a list": (MSGPACK, zlib.compress(ormsgpack.packb([1, 2]))),
    "bytes that are cut off": (MSGPACK, zlib.compress(b"x" * 99)[:-5]),
    "bytes that are not packed": ("msgpack", b"\xc1\xff\x00"),
    "blocks in another form": ("blocks msgpack", ormsgpack.packb([[1], b"digest", b""])),
    "no list of blocks": ("blocks msgpack", ormsgpack.packb({"a": 1})),
    "other values": {"talks": 5, "turn": "many"},
    "messages that are none": {"talks": {"supervisor": {"messages": ["hi"]}}, "turn": 1, "lang": "en"},
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_a_broken_state_is_rebuilt_from_the_transcript(
    row: tuple[str, bytes] | dict[str, object], chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    """The user reads that it was damaged; the model knows what was said; the next turn is as any other."""
    chat.expects(supervisor=["Hello Ann!", "You are Ann.", "Yes?"])
    await chat.says("I am Ann")
    if isinstance(row, dict):
        forge(chat.path, **row)
    else:
        damage(chat.path, "UPDATE checkpoints SET type = ?, checkpoint = ?", *row)

    assert "You are Ann." in await chat.says("Say my name")
    [told] = [(event.code, event.text) for event in chat.events if isinstance(event, Error)]
    assert told == (REBUILT, phrase("state_rebuilt", "en"))
    heard = [message.text for message in chat.script.asked[1].messages]
    assert any("I am Ann" in text for text in heard)
    assert "Hello Ann!" in heard
    assert [record.levelno for record in caplog.records if record.exc_info] == []
    assert await chat.says("Hm") == "user: Hm\nsupervisor: Yes?"


async def test_a_broken_turn_of_the_past_costs_only_itself(chat: Chat) -> None:
    """The conversation goes on; that turn alone can no longer be gone back to."""
    chat.expects(supervisor=["One.", "Two.", "Three."])
    await chat.says("a", "b")
    damage(
        chat.path,
        "UPDATE checkpoints SET checkpoint = x'00', metadata = '{' WHERE rowid = (SELECT min(rowid) FROM checkpoints)",
    )
    assert await chat.says("c") == "user: c\nsupervisor: Three."


@pytest.mark.parametrize("lang", ["../../evil", "xx", 7])
async def test_a_stored_language_is_checked_like_input(lang: object, chat: Chat) -> None:
    """A language that there is not leads nowhere, in the settings of a user and in a state."""
    chat.expects(supervisor=["Hello!", "Well?"])
    async with chat.assistant() as assistant:
        await assistant.memory.store.aput(("users", "ann", "settings"), "language", {"lang": lang})
        await assistant.memory.store.aput(("users", "ann", "settings"), "zone", {"zone": lang})
    assert await chat.says("Hi") == "user: Hi\nsupervisor: Hello!"
    assert (await chat.state())["lang"] == "en"
    forge(chat.path, lang="../../evil", turn=1)
    assert "Well?" in await chat.says("Hm")
    assert (await chat.state())["lang"] == "en"


async def test_a_locked_database_costs_the_message_and_says_so(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The user is asked to send it again, the operator reads one line; the conversation goes on afterwards."""
    monkeypatch.setattr(connection, "PRAGMAS", connection.PRAGMAS.replace(str(connection.BUSY_MS), "50"))
    chat.expects(supervisor=["Hello!", "Welcome back."])
    async with chat.assistant() as assistant:
        await play(assistant, "Hi")
        with closing(sqlite3.connect(chat.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert await play(assistant, "Hm") == [(STORAGE, phrase("sorry_not_stored", "en")), ("", "")]
            other.execute("ROLLBACK")
        assert ("", "Welcome back.") in await play(assistant, "Hm")
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == [
        "thread ann: the database cannot be used: database is locked"
    ]
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_full_disk_loses_no_message(chat: Chat) -> None:
    """A message that was stored before the disk was full is answered once there is room; another one is not taken."""
    chat.expects(supervisor=["Hello!", "Here you are."])
    async with chat.assistant() as assistant:
        await play(assistant, "Hi")
        await assistant.receive(Turn(thread="ann", text="Give me a list"))
        databases = assistant.memory.saver.connection, assistant.memory.database
        for database in databases:
            await database.execute("PRAGMA max_page_count = 1")
        failed = await play(assistant, "x" * 9000)
        assert failed[-2:] == [(STORAGE, phrase("sorry_not_stored", "en")), ("", "")]
        for database in databases:
            await database.execute("PRAGMA max_page_count = 1000000")
        [waiting] = await assistant.unanswered("ann", "terminal")
        assert [event.text async for event in assistant.play(waiting) if hasattr(event, "text")][-1] == "Here you are."


async def test_a_deleted_file_is_noticed(chat: Chat) -> None:
    """Messages in a deleted file would be lost without a word."""
    chat.expects(supervisor=["Hello!"])
    async with chat.assistant() as assistant:
        await play(assistant, "Hi")
        chat.path.unlink()
        assert await play(assistant, "Hm") == [(STORAGE, phrase("sorry_not_stored", "en")), ("", "")]
        sqlite3.connect(chat.path).close()
        chat.path.touch()
        assert (await play(assistant, "Hm"))[0][0] == STORAGE
