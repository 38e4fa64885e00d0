"""A kept turn of a real thread as the beginning of a session at the desk, and of a case."""

import hashlib
import json
import sqlite3
from contextlib import closing
from itertools import zip_longest

import pytest

from agents.errors import UsageError
from app.assistant import Assistant, Turn
from app.cli import command_line
from app.composition import discover_checked, open_assistant
from app.composition.models import make_models
from app.plugins.lab.cases import Case
from app.plugins.lab.desk import sitting
from app.plugins.lab.desk_session import DeskCall
from app.plugins.lab.folder import lab_folder, written
from app.plugins.lab.going_back import state_after
from app.plugins.lab.initial_state import Beginning, beginning_of, staged_from
from app.plugins.lab.runs import RunOrder, run_cases
from app.plugins.lab.threads import desk_from, keep_case, keep_turn
from app.settings import Settings
from app.yaml_file import parsed

pytestmark = pytest.mark.needs("planner", "standin")
SAID = (
    "add milk to my list",
    "remind me in two hours to call Ann",
    "add bread to my list",
    "remind me tomorrow at nine to pay the rent",
)


async def talk(settings: Settings, *devices: str) -> None:
    """Hold a conversation in which each turn writes something, through these doors in turn."""
    async with open_assistant(settings) as assistant:
        for text, device in zip_longest(SAID, devices, fillvalue=""):
            async for _ in assistant.play(Turn(thread="t1", text=text, user="ann", device=device)):
                pass


def digest(settings: Settings) -> str:
    """Return a mark of all that stands in the installation's database."""
    with closing(sqlite3.connect(settings.database_url.removeprefix("sqlite:///"))) as database:
        return hashlib.sha256("\n".join(database.iterdump()).encode()).hexdigest()


async def said(assistant: Assistant, text: str) -> str:
    """Say something on the stage, and return what was answered."""
    events = [event async for event in assistant.play(Turn(thread="lab", text=text, user="ann"))]
    return "\n".join(str(event) for event in events)


async def test_a_conversation_begins_with_a_kept_turn(settings: Settings) -> None:
    """State, screen, clock and the user's items are those of the turn; later writes are gone."""
    await talk(settings)
    before = digest(settings)
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        beginning = await beginning_of(assistant, "t1", 2)
        state, lines = await state_after(assistant, "t1", 2), await assistant.history("t1")
        with pytest.raises(UsageError, match="turn 9 is not kept"):
            await beginning_of(assistant, "t1", 9)
    # As a file has it.
    beginning = parsed(written(beginning), Beginning, "file")
    speakers, _ = discover_checked(settings)
    async with staged_from(beginning, "lab", settings, speakers, make_models(settings, speakers)) as stage:
        began = await stage.state("lab", "ann")
        assert began is not None
        assert state is not None
        assert {**began, "held_by": ""} == {**state, "thread": "lab", "held_by": ""}
        assert stage.memory.now() - max(line.at_ms for line in lines if line.turn == 2) / 1000 < 60
        items = await said(stage, "what is on my list?")
        assert "milk" in items
        assert "bread" not in items
        reminders = await said(stage, "what are my reminders?")
        assert "Ann" in reminders
        assert "rent" not in reminders
    assert digest(settings) == before


async def test_the_desk_goes_on_from_a_turn(settings: Settings) -> None:
    """The person sees the history and the time of the turn, and goes back to it, not to nothing."""
    await talk(settings)
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        lab_folder().write("desk", "from", await desk_from(assistant, "t1", 1))
    async with sitting(settings, "from") as desk:
        desk.say("could the dairy products there spoil soon?")
        await desk.settle()
        assert desk.wanted
        assert any("add milk to my list" in json.dumps(message) for message in desk.wanted.messages)
        await desk.reply("", [DeskCall(tool="list_todos")])
        await desk.settle()
        assert "milk" in desk.session.turns[0].trace or (desk.wanted and "milk" in str(desk.wanted.messages[-1]))
        await desk.back(settings, 0)
        desk.say("could the dairy products there spoil soon?")
        await desk.settle()
        assert desk.wanted
        assert any("add milk to my list" in json.dumps(message) for message in desk.wanted.messages)
        with pytest.raises(UsageError, match="begins with a turn"):
            await desk.as_test("en")


async def test_what_begins_with_a_turn_has_its_door(settings: Settings) -> None:
    """Whom tools know by the door they know on the stage, too; where no door was recorded it is the terminal."""
    await talk(settings, "telegram", "http")
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        doors = [(await desk_from(assistant, "t1", turn)).device for turn in (1, 2, 3)]
        case = lab_folder().read("cases", await keep_turn(assistant, settings, "t1", 2), Case)
    assert doors == ["telegram", "http", "terminal"]
    assert case.device == "http"


async def test_a_thread_becomes_a_case_that_holds_at_once(settings: Settings) -> None:
    """The user's data from another thread is there at the beginning of the case; the thread's own results are not."""
    async with open_assistant(settings) as assistant:
        for thread, text in (("t0", "add eggs to my list"), *(("t1", text) for text in SAID[::2])):
            async for _ in assistant.play(Turn(thread=thread, text=text, user="ann")):
                pass
        name = await keep_case(assistant, settings, "t1")
    case = lab_folder().read("cases", name, Case)
    assert "eggs" in case.turns[0].expect.trace
    run = await run_cases(settings, {name: case}, RunOrder())
    assert run.results[0].problems == []


def test_the_commands_keep_a_turn(settings: Settings) -> None:
    """`lab case --turn` makes a case that holds at once; `lab desk play --thread` begins there."""
    for text in SAID[:3]:
        assert command_line.main(["ask", text, "--thread", "t1"]) == 0
    assert command_line.main(["lab", "case", "--thread", "t1", "--turn", "3"]) == 0
    assert command_line.main(["lab", "case", "--thread", "t1", "--turn", "1"]) == 0
    assert command_line.main(["lab", "case", "--thread", "t1", "--turn", "7"]) == 2
    kept = lab_folder().read("cases", "t1-3", Case)
    assert [call.tool for call in kept.turns[0].expect.calls] == ["add_todos"]
    assert kept.begins
    assert (kept.begins.turn, kept.turns[0].expect.holder) == (2, "planner")
    assert command_line.main(["lab", "run"]) == 0
