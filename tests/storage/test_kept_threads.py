"""A stored talk outlives the program: files of former versions, exports, and states that can be read and not used."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from agents.errors import ConfigError
from agents.events import Error, Message
from agents.memory.connection import Tables
from agents.memory.inbox import TranscriptLine
from app.assistant import Assistant, Turn
from app.assistant.short_term_memory import ExportedThread, contents
from app.cli.command_line import main
from app.composition import open_assistant, plugins_found, tables_of
from app.databases import backend_of
from app.settings import Settings
from app.testing import Chat
from tests.doors.cli.conftest import Captured
from tests.support.settings_cache import without_file

KEPT = {path.stem: path.read_text("utf-8") for path in (Path(__file__).parent / "kept").glob("*.sql")}
"""A small database of each release, as SQL."""


async def said(assistant: Assistant, thread: str, text: str, device: str = "") -> list[str]:
    """Return the answer to a message."""
    turn = Turn(thread=thread, text=text, device=device)
    return [event.text for event in [event async for event in assistant.play(turn)] if isinstance(event, Message)]


def made_by(release: str, path: Path, more: str = "") -> Settings:
    """Write the database of a release, and more SQL, to a file; return the settings that name it."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"{KEPT[release]};{more}")
    return without_file(Settings).model_copy(update={"database_url": f"sqlite:///{path}"})


@pytest.mark.needs("planner", "standin")
@pytest.mark.parametrize("release", sorted(KEPT))
async def test_a_talk_of_a_release_goes_on(tmp_path: Path, release: str) -> None:
    """Its transcript is read, the dialog goes on where it was, and a reminder and the to-dos are there."""
    async with open_assistant(made_by(release, tmp_path / "kept.db"), remote=False) as assistant:
        assert [line.text for line in await assistant.history("t") if line.role == "user"] == [
            "add milk and bread to my list",
            "remind me on 3 March 2099 at 9 to call mum",
        ]
        [answer] = await said(assistant, "t", "what is on my list")
        assert "milk" in answer
        [answer] = await said(assistant, "t", "what reminders do I have")
        assert "call mum" in answer


@pytest.mark.parametrize("release", sorted(KEPT))
async def test_check_opens_what_an_opening_would(tmp_path: Path, release: str) -> None:
    """It refuses in the same words what cannot be opened, before anybody talks, and leaves each file as it was."""
    path, tables = tmp_path / "kept.db", tables_of(plugins_found())
    settings = made_by(release, path)
    for wrong, words in (
        ("", ""),
        ("UPDATE owners SET version = 99 WHERE owner = 'checkpoints'", "newer than this program"),
        ("DROP TABLE owners", r"before 23 November 2026 .*python -m app import"),
    ):
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(wrong)
            before = list(database.iterdump())
        for opening in (backend_of(settings.database_url).check(tables), opened(settings, tables)):
            with pytest.raises(ConfigError, match=words) if words else nullcontext():
                await opening
            with closing(sqlite3.connect(path)) as database:
                assert not words or list(database.iterdump()) == before


async def opened(settings: Settings, tables: Sequence[Tables]) -> None:
    """Open and close a database."""
    async with backend_of(settings.database_url).open(tables=tables):
        pass


async def test_an_export_is_a_thread_again(chat: Chat, tmp_path: Path) -> None:
    """Two people, a greeting, and a reminder told between: each message, answer, time and source is there again."""
    chat.expects(supervisor=["Hi, I am Sue.", "Hello Ann.", "Hello Bob.", "Welcome back."])
    async with chat.assistant() as assistant:
        for user, text in (("ann", None), ("ann", "I am Ann"), ("bob", "I am Bob")):
            async for _ in assistant.play(Turn(thread="g", text=text, user=user, is_group=True)):
                pass
        told = TranscriptLine("assistant", "supervisor", "⏰ milk", 0, "ring-1", 7, {"source": "unasked"})
        await assistant.memory.transcript.tell("g", told)
        lines = await assistant.history("g")
        answer, reminder = contents(lines)[-2:]
        exported = ExportedThread.model_validate(
            {
                "thread": "g",
                # A reminder may also come while an answer is made.
                "contents": [*contents(lines)[:-2], reminder, answer],
                "system_messages": [{"content": "Be brief."}],
            }
        )
        for name in ("g", "h"):
            is_new = await assistant.memory.transcript.restore(name, exported.messages(name))
            assert is_new == (name == "h")
        assert contents(await assistant.history("h")) == contents(lines)
        assert await assistant.forgetting.writers("h") == {"ann", "bob"}
        async for _ in assistant.play(Turn(thread="h", text="hello again", user="ann", is_group=True)):
            pass
    assert "I am Bob" in str(chat.script.asked[-1].messages)


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_import_reads_what_export_wrote(tmp_path: Path, capsys: Captured) -> None:
    """The copy exports the same. A file in another form and a thread that exists are refused in one line."""
    assert main(["ask", "add milk to my list", "--thread", "me"]) == 0
    capsys.readouterr()
    assert main(["export", "--thread", "me", "--format", "json"]) == 0
    file, text = tmp_path / "me.json", capsys.readouterr().out
    file.write_text(text, "utf-16")
    assert main(["import", str(file)]) == 2
    assert main(["import", str(file), "--thread", "again"]) == 0
    file.write_text(text, "utf-8-sig")
    assert main(["import", str(file), "--thread", "once more"]) == 0
    capsys.readouterr()
    assert main(["export", "--thread", "again", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["contents"] == json.loads(text)["contents"]
    assert main(["import", "/dev/zero"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


NEVER_EXPORTED: Sequence[Mapping[str, object]] = [
    {"timestamp": 10**30},
    {"timestamp": 10**16},
    {"turn_id": 10**30},
    {"turn_id": -1},
    {"role": "system"},
    {"metadata": {"citations": 5}},
    {"metadata": {"source": {}}},
    {"metadata": {"interrupted": True, "interrupt_timestamp": "now"}},
]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("wrong", NEVER_EXPORTED)
def test_what_no_export_says_is_one_line(wrong: Mapping[str, object], tmp_path: Path, capsys: Captured) -> None:
    """A thread that could be stored and not read again is refused, and nothing of it is stored."""
    place = {"turn_id": 0, "timestamp": 1, "message_id": "m"}
    line = {"role": "user", "speaker": "me", "content": "hello", "metadata": {}, **place, **wrong}
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"thread": "x", "contents": [line]}))
    assert main(["import", str(file)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


async def test_a_state_that_can_be_read_and_not_used_is_rebuilt(chat: Chat) -> None:
    """A program that counts its versions in another way wrote it; the transcript is what goes on."""
    chat.expects(supervisor=["Hello.", "Still here."])
    await chat.says("hello you")
    async with chat.assistant() as assistant:
        saver = assistant.memory.saver
        stored = await saver.aget_tuple({"configurable": {"thread_id": "ann", "checkpoint_ns": ""}})
        assert stored is not None
        versions = {name: f"0000000{version}.0.5" for name, version in stored.checkpoint["channel_versions"].items()}
        _, packed = saver.serde.dumps_typed({**stored.checkpoint, "channel_versions": versions})
        await saver.connection.execute("UPDATE checkpoints SET checkpoint = ?", (packed,))
    trace = await chat.says("are you there")
    assert [event.code for event in chat.events if isinstance(event, Error)] == ["rebuilt"]
    assert trace.endswith("supervisor: Still here.")


async def test_a_turn_that_was_killed_is_listed_by_its_message(chat: Chat) -> None:
    """Its text stands in the inbox alone until it is answered."""
    async with chat.assistant() as assistant:
        await assistant.receive(Turn(thread="ann", text="hello you", id="m"))
        [info] = await assistant.threads()
    assert (info.turns, info.first) == (0, "hello you")
