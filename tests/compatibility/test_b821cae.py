"""Databases that commit b821cae wrote: today's code opens them, tells the same of them, and goes on with them."""

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agents.events import Event
from agents.events.trace import trace
from agents.models.script import Call
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.settings import Settings
from app.short_term_memory import SOURCES, contents
from tests.conftest import Chat, told
from tests.support.exports import Captured, exported
from tests.support.reminder_room import Room, texts
from tests.support.shop_tools import RETURNS, with_shop

FOLDER = Path(__file__).parent / "b821cae"
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
"""When the databases were written, by the clock of reminders."""
KNOWN: dict[str, dict[str, Any]] = {
    f"{name}/{thread}": facts
    for name in ("script", "rules")
    for thread, facts in json.loads((FOLDER / f"{name}.json").read_text()).items()
}


def unpack(name: str, folder: Path) -> Path:
    """Put a copy of a database into the folder."""
    path = folder / "dialogs.db"
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.db.gz").read_bytes()))
    return path


@pytest.fixture
def old(chat: Chat) -> Chat:
    """The conversations of the script."""
    unpack("script", chat.path.parent)
    chat.now = NOW.timestamp
    return chat


@asynccontextmanager
async def rules(path: Path) -> AsyncIterator[Assistant]:
    """Open a database with the model that needs no key."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{path}", llm_model="local:rules")
    async with open_assistant(settings) as assistant:
        yield assistant


@pytest.mark.parametrize("name", KNOWN)
async def test_a_thread_is_told_as_before(chat: Chat, name: str) -> None:
    """State and transcript read the same."""
    database, _, thread = name.partition("/")
    unpack(database, chat.path.parent)
    async with chat.assistant() as assistant:
        assert KNOWN[name]["state"] == await assistant.state(thread)
        assert KNOWN[name]["history"] == [asdict(line) for line in await assistant.history(thread)]


async def test_what_was_said_has_the_form_of_today(chat: Chat) -> None:
    """Every line of before is a message with a turn from 0, a time, and a source of the list."""
    for name in KNOWN:
        database, _, thread = name.partition("/")
        unpack(database, chat.path.parent)
        async with chat.assistant() as assistant:
            memory = contents(await assistant.history(thread))
        assert len(memory) == len(KNOWN[name]["history"])
        for message in memory:
            assert message["metadata"]["source"] in SOURCES[message["role"]]
            assert message["turn_id"] >= 0
            assert message["timestamp"] > 1_700_000_000_000


@pytest.mark.parametrize("form", ["markdown", "json"])
async def test_a_thread_is_exported(old: Chat, capsys: Captured, form: str) -> None:
    """A conversation can be read and processed."""
    await exported(old, thread="profile", form=form)
    assert "first aid" in capsys.readouterr().out.lower()


async def test_a_dialog_goes_on_and_ends(old: Chat) -> None:
    """The dialog knows its history and the user's to-dos, and hands back."""
    old.expects(
        supervisor=["Goodbye."],
        planner=[[Call("list_todos")], "Two things.", Call("hand_back", {"reason": "finished"})],
        observer=["stay", "stay"],
    )
    assert "planner.list_todos() = 1. milk\n2. bread" in await old.says("What else is there?", thread="middle")
    [asked, *_] = [asked for asked in old.script.asked if asked.role == "planner"]
    assert "Put milk and bread on my list" in asked.prefix

    await old.says("And now I have everything that I need", thread="middle")
    assert (await old.state("middle"))["is_active"]


async def test_a_paused_dialog_is_resumed(old: Chat) -> None:
    """Yes to the offer brings the recap from the stored form."""
    profile = replace(old.speakers.dialogs["profile"], resume="ask")
    old.speakers = Speakers(old.speakers.supervisor, {**old.speakers.dialogs, "profile": profile})
    assert told("""
        user: yes
        offer (free): switch -> profile
        supervisor -> profile
        profile: Back to your profile (experience: nurse). Which skills do you have?
    """) == await old.says("yes", thread="paused")


async def test_a_choice_is_answered(old: Chat) -> None:
    """The tool that asked is given the option that is chosen."""
    old.speakers = with_shop(old.speakers)
    old.expects(planner=["The hat it is."])
    assert told("""
        user: 2
        planner.choose_order() = {"id":1,"name":"Red hat","price":15.0}
        planner: The hat it is.
    """) == await old.says("2", thread="choice")


async def test_a_form_is_completed(old: Chat) -> None:
    """What was filled in before the break is kept."""
    old.speakers = with_shop(old.speakers)
    old.expects(planner=["Fetched there."])
    assert told("""
        user: 8001
        planner.ask_address() = {"street":"Long Lane 5","zip":8001}
        planner: Fetched there.
    """) == await old.says("8001", thread="form")


async def test_a_message_that_was_answered_is_not_answered_again(old: Chat) -> None:
    """Sent once more it repeats the answer, and nothing is written twice."""
    old.speakers = with_shop(old.speakers)
    RETURNS.clear()
    answer = await old.says("Send the hat back", thread="returned", id="send-back")
    assert answer.endswith("planner: It is on its way.")
    assert RETURNS == []


async def test_a_turn_that_was_killed_is_finished(old: Chat) -> None:
    """It goes on behind the tool that has run, which does not run twice."""
    old.expects(planner=["Sugar is on it."])
    trace = await old.says("Put sugar on my list", thread="killed", id="cut-off")
    assert trace.endswith("planner: Sugar is on it.")

    old.expects(planner=[[Call("list_todos")], "Sugar."], observer=["stay"])
    assert "planner.list_todos() = 1. sugar\n" in await old.says("Fine, and now read them out", thread="killed")


async def test_reminders_ring(tmp_path: Path) -> None:
    """The timer, a reminder and a repetition come when they are due."""
    room = Room(unpack("script", tmp_path), NOW)
    async with room.open(user="reminders") as memory:
        await room.until(memory, NOW + timedelta(minutes=9))
        assert texts(room) == []
        await room.until(memory, NOW + timedelta(minutes=21))
        assert texts(room) == ["⏰ Time is up", "⏰ tea"]
        await room.until(memory, NOW + timedelta(hours=33))
    assert texts(room)[2:] == ["⏰ feed the cat", "⏰ feed the cat"]


async def test_todos_and_the_time_zone_are_kept(old: Chat) -> None:
    """What the user told is known, and can be changed."""
    calls = [Call("delete_todos", {"numbers": [1]}), Call("list_reminders")]
    old.expects(planner=[calls, "Done."], observer=["stay"])
    trace = await old.says("Well, then Bob is done with", thread="reminders")
    assert "planner.delete_todos(numbers=[1]) = Deleted: 1. call Bob (done)." in trace
    assert "tea: in 20 minutes, at 10:20 am" in trace


async def test_a_form_is_filled_to_its_end(old: Chat) -> None:
    """The dialog fills what is missing beside what is there."""
    rest = [Call("fill_form", {"interests": ["chess"], "work": "at night"})]
    old.expects(profile=[rest, "All noted."], observer=["stay", "stay"])
    await old.says("I like chess, and I want to work at night", thread="profile")
    form = {"experience": "nurse", "skills": ["first aid"], "interests": ["chess"], "work": "at night"}
    assert (await old.state("profile"))["forms"]["profile"] == form


@pytest.mark.parametrize(
    ("thread", "text", "answer"),
    [
        ("rules-en", "what is on my list?", "1. milk\n2. bread\n3. eggs"),
        ("rules-ru", "что в моём списке?", "1. молоко"),
    ],
)
async def test_the_model_without_a_key_goes_on(tmp_path: Path, thread: str, text: str, answer: str) -> None:
    """It reads histories that it wrote before."""
    events: list[Event] = []
    async with rules(unpack("rules", tmp_path)) as assistant:
        async for event in assistant.play(Turn(thread=thread, text=text)):
            events.append(event)
    assert answer in trace(events)


async def test_a_thread_is_forgotten(old: Chat) -> None:
    """Nothing of it stays in the file."""
    assert b"first aid" in old.path.read_bytes()
    async with old.assistant() as assistant:
        assert await assistant.forget("profile")
    assert b"first aid" not in old.path.read_bytes()


async def test_nobody_gets_anothers_thread_of_before(old: Chat) -> None:
    """A stored thread does not say whose it is; its transcript does, and another person begins anew in it."""
    before = await old.state("profile")
    assert before["forms"]["profile"]
    old.expects(supervisor=["Hello Bob."])
    await old.says("what do you know", thread="profile", user="bob")
    assert not any("first aid" in asked.prefix for asked in old.script.asked)
    async with old.assistant() as assistant:
        [owner] = {line.speaker for line in await assistant.history("profile") if line.role == "user"} - {"bob"}
        bobs, owners = await assistant.state("profile", "bob") or {}, await assistant.state("profile", owner) or {}
    assert (bobs["forms"], owners["forms"]) == ({}, before["forms"])
    assert (bobs["dialog"], owners["dialog"]) == (None, before["dialog"])
