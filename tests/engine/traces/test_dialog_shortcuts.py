"""Messages that are plainly for a dialog: it takes over without a call of the supervisor's model."""

import pytest

from agents.conversation.gate import Guess
from agents.events import Observed, TurnEnd
from agents.state import SUPERVISOR
from agents.state.history import dangling
from agents.toolkit.speaker import Speakers
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.shop_tools import ask_address, choose_order

pytestmark = pytest.mark.needs("profile")

BEGIN = Call("get_acquainted", {"brief": "-"})


def model_calls(chat: Chat) -> list[int]:
    """Return the number of model calls of each turn."""
    return [event.model_calls for event in chat.events if isinstance(event, TurnEnd)]


@pytest.mark.parametrize(
    ("text", "lang", "dialog"),
    [
        ("Let's get acquainted!", "en", "profile"),
        ("Start a to-do list", "en", "planner"),
        ("составь список дел", "ru", "planner"),
    ],
)
@pytest.mark.needs("planner")
async def test_a_plain_wish_for_a_dialog_goes_straight_there(chat: Chat, text: str, lang: str, dialog: str) -> None:
    """One model call, the dialog's own; the reason stands in the trace."""
    answers: list[Line] = ["Gladly."]
    chat.expects(**{dialog: answers})

    assert told(f"""
        user: {text}
        shortcut (free): switch -> {dialog}
        supervisor -> {dialog}
        {dialog}: Gladly.
    """) == await chat.says(text, lang=lang)
    assert model_calls(chat) == [1]
    [decided] = [event for event in chat.events if isinstance(event, Observed)]
    assert decided.reason == f"asks for {dialog}"
    assert [m.text for m in await chat.messages(dialog) if m.type == "human"] == [text]


async def test_the_supervisor_knows_of_it(chat: Chat) -> None:
    """Its history reads as if its model had called the dialog's tool, so that its next prompt is sound."""
    chat.expects(profile=["What do you do?", Call("hand_back", {"wish": ""})], supervisor=["Until next time."])
    await chat.says("Let's get acquainted", "I would rather tell you all of that another day, if I may")

    heard, call, result = (await chat.messages(SUPERVISOR))[:3]
    assert heard.text == "Let's get acquainted"
    assert [each["name"] for each in call.tool_calls] == ["get_acquainted"]
    assert result.tool_call_id == call.tool_calls[0]["id"]


@pytest.mark.parametrize(
    "text",
    [
        "Let's not get acquainted",
        "Let's get acquainted and put milk on my list",
        "Did you make a shopping list?",
        "find me a job in Riga",
    ],
)
async def test_what_says_more_is_for_the_supervisor(chat: Chat, text: str) -> None:
    """A word that no example has, a negation, a second wish: a model decides."""
    chat.expects(supervisor=["Well."])
    assert (await chat.says(text)).endswith("supervisor: Well.")


@pytest.mark.needs("planner")
async def test_a_dialog_is_left_without_an_observer(chat: Chat) -> None:
    """Within a dialog the gate has to agree; then neither an observer nor a draft is asked for."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")
    chat.expects(supervisor=[BEGIN], profile=["What do you do?"], planner=["What shall I put on it?"])
    await chat.says("Hi, I have just joined")

    assert told("""
        user: Make a shopping list
        shortcut (free): switch -> planner
        profile -> supervisor
        supervisor -> planner
        planner: What shall I put on it?
    """) == await chat.says("Make a shopping list")
    assert model_calls(chat) == [1]
    assert (await chat.state())["paused"] == ["profile"]


async def test_what_the_gate_takes_for_an_answer_stays(chat: Chat) -> None:
    """A dialog that asked "what are you good at" hears the answer, though it sounds like a wish."""
    chat.gate = lambda scene: Guess(0.1, "an answer")
    chat.expects(supervisor=[BEGIN], profile=["What is your day like?", "I see."])

    assert (await chat.says("Hi, I have just joined", "make a to-do list")).endswith("profile: I see.")


async def test_the_dialog_itself_keeps_its_own_wishes(chat: Chat) -> None:
    """A wish for the dialog that leads changes nothing."""
    chat.gate = lambda scene: Guess(0.5, "perhaps another subject")
    chat.expects(profile=["What do you do?", "Here we are."], observer=["stay"])

    trace = await chat.says("Let's get acquainted", "fill in my profile")

    assert trace.endswith("user: fill in my profile\nprofile: Here we are.")


@pytest.mark.parametrize(
    ("wish", "no", "lang"),
    [
        ("Start a to-do list", "No, go on", "en"),
        ("Start a to-do list", "not that", "en"),
        ("Составь список дел", "Не то", "ru"),
    ],
)
@pytest.mark.needs("planner")
async def test_no_gives_the_message_back_to_the_supervisor(chat: Chat, wish: str, no: str, lang: str) -> None:
    """Without an active dialog before, the supervisor's model decides on the message after all."""
    chat.expects(planner=["What shall I put on it?"], supervisor=["A list of what, then?"])

    assert (
        told(f"""
        user: {no}
        undo (free): supervisor
        planner -> supervisor
        supervisor: A list of what, then?
    """)
        == (await chat.says(wish, no, lang=lang)).partition("What shall I put on it?\n")[2]
    )
    assert [m.text for m in await chat.messages(SUPERVISOR) if m.type == "human"] == [wish, wish]


@pytest.mark.needs("planner")
async def test_go_on_alone_is_for_the_new_dialog(chat: Chat) -> None:
    """Nothing was left, so "go on" is no complaint."""
    chat.expects(planner=["Shall I put milk on it?", "Milk it is."])

    assert (await chat.says("Start a to-do list", "Go on")).endswith("planner: Milk it is.")


async def test_the_setting_lets_the_supervisor_decide(chat: Chat) -> None:
    """With DIRECT_SWITCH off every handoff is a decision of the supervisor's model."""
    chat.settings = chat.settings.model_copy(update={"direct_switch": False})
    chat.expects(supervisor=["First tell me your name."])

    assert (
        await chat.says("Let's get acquainted")
    ) == "user: Let's get acquainted\nsupervisor: First tell me your name."


@pytest.mark.parametrize("question", ["choose_order", "ask_address"])
async def test_a_question_of_the_supervisor_is_left_for_it(chat: Chat, question: str) -> None:
    """A plain wish for a dialog is neither a choice nor a street: the call is answered, and the dialog takes over."""
    chat.speakers = asking(chat.speakers)
    chat.gate = lambda scene: Guess(0.5, f"perhaps no answer to {scene.reply!r}")
    chat.expects(supervisor=[Call(question)], profile=["What do you do?"])
    await chat.says("Can my last order still be changed?")

    assert told(f"""
        user: Let's get acquainted
        supervisor.{question}() ! {phrase("not_chosen", "en")}
        shortcut (free): switch -> profile
        supervisor -> profile
        profile: What do you do?
    """) == await chat.says("Let's get acquainted")
    assert (await chat.state())["pending"] == []
    assert dangling(await chat.messages(SUPERVISOR)) == []


async def test_what_the_gate_takes_for_an_answer_is_filled_in(chat: Chat) -> None:
    """Any words but an order may be the text that a form asks for; an order is left to the models."""
    chat.speakers = asking(chat.speakers)
    chat.gate = lambda scene: Guess(0.1, "an answer")
    chat.expects(supervisor=[Call("ask_address"), "Noted."])
    await chat.says("Can my last order still be fetched?", "zip: 12345")

    assert (await chat.says("The old mill")).endswith("supervisor: Noted.")


def asking(speakers: Speakers) -> Speakers:
    """Return the speakers, the supervisor with tools that ask the user."""
    return changed(speakers, SUPERVISOR, choose_order, ask_address)
