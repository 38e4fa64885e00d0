"""The person who can act reads of a failure, and the conversation goes on."""

import json
from dataclasses import replace

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from agents.events import Error
from agents.toolkit.context import TurnUsage
from agents.toolkit.speaker import Speakers
from app.process.logs import log_on_stderr
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("profile")

PLAN = Call("plan_things", {"brief": "milk on the list"})


@tool
async def weather(city: str) -> str:
    """Tell the weather."""
    raise ConnectionError(f"the weather station of {city} is on fire")


class Shorter(BaseModel):
    """The profile's form in a later version."""

    experience: str | None = Field(default=None, max_length=50)
    skills: list[str] = []


def with_weather(chat: Chat) -> None:
    """Give the planner a tool that raises."""
    chat.speakers = changed(chat.speakers, "planner", weather)


@pytest.mark.needs("planner")
async def test_a_log_of_objects_names_the_turn(chat: Chat, capsys: pytest.CaptureFixture[str]) -> None:
    """An operator finds the conversation in which something failed, and no text of it."""
    with_weather(chat)
    chat.expects(supervisor=["Hello!", PLAN], planner=[Call("weather", {"city": "Ulm"}), "I could not find out."])
    with log_on_stderr(detailed=False, as_json=True):
        await chat.says("hi", "Will it rain in Ulm?")
    [line] = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    message = "tool weather failed (ConnectionError; --trace tells where)"
    assert line == line | {"level": "ERROR", "thread": "ann", "turn": 2, "message": message}
    assert "Ulm" not in str(line)


@pytest.mark.needs("planner")
async def test_two_calls_of_which_one_raises(chat: Chat) -> None:
    """The other call of the same reply is not disturbed, and both are answered in the history."""
    with_weather(chat)
    chat.expects(
        supervisor=[PLAN],
        planner=[[Call("weather", {"city": "Ulm"}), Call("add_todos", {"items": ["milk"]})], "Milk is noted."],
    )

    assert "planner.add_todos(items=['milk']) = 1. milk\nplanner: Milk is noted." in await chat.says("Milk and rain?")
    answers = [message for message in await chat.messages("planner") if message.type == "tool"]
    assert [answer.status for answer in answers] == ["error", "success"]


@pytest.mark.parametrize(
    ("call", "told_to_the_model"),
    [
        (Call("send_money", {"sum": 5}), "There is no tool send_money. There are: add_reminder, add_todos"),
        (Call("add_todos", {"items": "milk"}), "Wrong arguments for add_todos: items: Input should be a valid list"),
        (Call("add_todos", {"items": []}), "Wrong arguments for add_todos: items: List should have at least 1 item"),
        (Call("delete_todos", {"numbers": [7]}), "Not on the list: 7."),
    ],
)
@pytest.mark.needs("planner")
async def test_a_wrong_call_is_explained_to_the_model(chat: Chat, call: Call, told_to_the_model: str) -> None:
    """Unknown tools, wrong arguments and unknown entries come back as words the model can act on."""
    chat.expects(supervisor=[PLAN], planner=[call, "Once more: what shall I do?"])

    assert told_to_the_model in await chat.says("Do it")


async def test_a_form_takes_only_what_fits(chat: Chat) -> None:
    """A value the form does not admit is refused with the reason, and nothing is written."""
    chat.expects(
        supervisor=[Call("get_acquainted", {"brief": "-"})],
        profile=[Call("fill_form", {"skills": {"python": 5}}), "Which skills?"],
    )

    assert "! skills: a list is needed: entries with commas between them" in await chat.says("Hi")
    assert (await chat.state())["forms"] == {}


@pytest.mark.needs("planner")
async def test_a_dialog_that_vanished_gives_way(chat: Chat) -> None:
    """A stored thread whose dialog was removed goes on with the supervisor, and the user is told."""
    chat.expects(supervisor=[PLAN, "Gladly."], planner=["What shall I note?"])
    await chat.says("Something for the week")
    dialogs = {name: dialog for name, dialog in chat.speakers.dialogs.items() if name != "planner"}
    chat.speakers = Speakers(chat.speakers.supervisor, dialogs)

    assert told("""
        user: Milk
        supervisor: “planner” is no longer available here, so I will go on myself.
        supervisor: Gladly.
    """) == await chat.says("Milk")
    state = await chat.state()
    assert (state["is_active"], state["dialog"]) == (True, None)


async def test_a_dialog_that_was_renamed_goes_on(chat: Chat) -> None:
    """A stored thread follows a dialog to its new name, history and form included."""
    chat.expects(
        supervisor=[Call("get_acquainted", {"brief": "-"})],
        profile=["What do you do?", Call("fill_form", {"experience": "nurse"}), "And your skills?"],
        person=["Noted."],
    )
    await chat.says("Hi", "A nurse")
    dialogs = dict(chat.speakers.dialogs)
    person = replace(dialogs.pop("profile"), name="person", formerly=["profile"])
    chat.speakers = Speakers(chat.speakers.supervisor, {**dialogs, "person": person})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agents.conversation.prompt.prompt", lambda name, lang, **_: f"[{name}]")
        assert await chat.says("First aid") == "user: First aid\nperson: Noted."
    state = await chat.state()
    assert (state["dialog"], state["forms"]["person"]) == ("person", {"experience": "nurse"})


async def test_a_dialog_that_changed_keeps_what_still_fits(chat: Chat) -> None:
    """A new version of a dialog revises the stored form: values it no longer admits are dropped."""
    chat.expects(
        supervisor=[Call("get_acquainted", {"brief": "-"})],
        profile=[
            "What do you do?",
            Call("fill_form", {"experience": "x" * 200, "skills": ["first aid"]}),
            "More?",
            "Noted.",
        ],
    )
    await chat.says("Hi", "A nurse")
    chat.speakers = changed(chat.speakers, "profile", version=2, form=Shorter)

    await chat.says("No")

    assert (await chat.state())["forms"]["profile"] == {"skills": ["first aid"]}


def searches(number: int) -> list[Line]:
    """Return calls that differ, so that none of them is a repetition."""
    return [Call("assistant_help", {"query": f"question {place}"}) for place in range(number)]


async def test_the_graph_has_a_bound_of_its_own(chat: Chat) -> None:
    """Whatever counts no calls ends at the number of steps, in an apology; the thread stays usable."""
    chat.expects(supervisor=searches(30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TurnUsage, "note", lambda self, event: None)
        await chat.says("Hi")
    assert [event.code for event in chat.events if isinstance(event, Error)] == ["loop"]
    chat.script.queues["supervisor"].clear()

    chat.expects(supervisor=["Hello again."])
    assert await chat.says("Hello?") == "user: Hello?\nsupervisor: Hello again."


@pytest.mark.parametrize("lang", ["en", "ru"])
async def test_a_model_is_told_when_it_has_to_come_to_an_end(chat: Chat, lang: str) -> None:
    """Many tools in a row are carried out; before there is no step left the model is asked for what it has."""
    rounds = 17
    chat.expects(supervisor=[*searches(rounds), "All I found."])
    assert "supervisor: All I found." in await chat.says("Hi", lang=lang)

    urged = [phrase("last_reply", lang) in asked.messages[-1].text for asked in chat.script.asked]
    assert urged == [False] * rounds + [True]


async def test_a_dialog_that_is_gone_has_no_prompt(chat: Chat) -> None:
    """A stored thread may still name it."""
    async with chat.assistant() as assistant:
        assert assistant.prompt("gone", "en") == ""
        assert assistant.prompt(None, "en") != ""
