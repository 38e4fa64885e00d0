"""A way out: whatever a dialog's model does, the user leaves with a word, and a turn costs what it may."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from agents.conversation.gate import trained_gate
from agents.events import Error, Message, ModelEnd, ModelStart
from agents.models import Models
from agents.state import SUPERVISOR
from agents.state.limits import Limits
from agents.toolkit import traits
from agents.toolkit.context import TurnUsage
from app.testing import Chat, told
from app.testing.script import Call, Line, Script
from prompts import phrase
from tests.support.changed_speakers import changed

pytestmark = pytest.mark.needs("profile", "planner", "player")

BEGIN = Call("plan_things", {"brief": "-"})
ACQUAINT = Call("get_acquainted", {"brief": "-"})
NONSENSE = "Sure! The the the capital of of 7 is <ok> yes. What do you want?"
LISTED = Call("list_reminders")


class Weak(Script):
    """Models of which one speaker always does the same, and the observer never says anything of use."""

    def __init__(self, weak: str, habit: Line) -> None:
        super().__init__()
        self.weak, self.habit = weak, habit

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the weak model's habit; the supervisor begins the dialog once, and then answers."""
        if role == self.weak:
            return self.habit
        if role == SUPERVISOR:
            is_first = not any(isinstance(message, AIMessage) for message in messages)
            return BEGIN if is_first else "I am here."
        return "banana" if role == "observer" else "What now?"


HABITS: dict[str, Line] = {
    "nonsense": NONSENSE,
    "one call": LISTED,
    "nothing": "",
}


@pytest.fixture
def weak(request: pytest.FixtureRequest, chat: Chat) -> Chat:
    """A conversation whose planner has one bad habit."""
    chat.script = Weak("planner", HABITS[request.param])
    return chat


def said(chat: Chat) -> list[str]:
    """Return the texts for the user in the last turns."""
    return [event.text for event in chat.events if isinstance(event, Message)]


async def holder(chat: Chat) -> str | None:
    """Return the dialog that holds the conversation."""
    dialog: str | None = (await chat.state())["dialog"]
    return dialog


@pytest.mark.parametrize(
    ("weak", "lang", "stop"),
    [
        ("nothing", "en", "stop"),
        ("nonsense", "en", "stpo"),
        ("one call", "ru", "хватит"),
    ],
    indirect=["weak"],
)
async def test_stop_leaves_any_dialog(weak: Chat, lang: str, stop: str) -> None:
    """No model decides on it: it costs no call, and the user reads a sentence."""
    await weak.says("Plan my week, would you", lang=lang)
    before = len(weak.script.asked)
    trace = await weak.says(stop, lang=lang)
    assert await holder(weak) is None
    assert trace.endswith(f"supervisor: {phrase('left_dialog', lang)}")
    assert len(weak.script.asked) == before


@pytest.mark.parametrize(
    ("weak", "lang", "wish", "target"),
    [
        ("nothing", "en", "Let's go back to my profile", "profile"),
        ("nonsense", "en", "lets go back to my profle", "profile"),
        ("one call", "ru", "включи комедию", "player"),
    ],
    indirect=["weak"],
)
async def test_a_plain_wish_leads_to_another_dialog(weak: Chat, lang: str, wish: str, target: str) -> None:
    """It is obeyed in the same turn, before any model is asked whose it is."""
    weak.gate = trained_gate()
    await weak.says("Plan my week, would you", lang=lang)
    before = len(weak.script.asked)
    await weak.says(wish, lang=lang)
    assert await holder(weak) == target
    assert [call.role for call in weak.script.asked[before:]] == [target]


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "thanks, that's all"),
        ("en", "Thnks, that's all"),
        ("en", "ok, stop please"),
        ("ru", "давай закончим"),
    ],
)
async def test_leave_taking_ends_the_dialog(chat: Chat, lang: str, text: str) -> None:
    """It also ends a dialog with an open question."""
    chat.expects(supervisor=[ACQUAINT], profile=["What do you do?"])
    await chat.says("Hi", lang=lang)
    assert told(f"""
        user: {text}
        leave (free): finished
        profile -> supervisor
        supervisor: {phrase("left_dialog", lang)}
    """) == await chat.says(text, lang=lang)


@pytest.mark.parametrize("text", ["bye", "No, that's all, goodbye"])
async def test_a_goodbye_is_asked_nothing_more(chat: Chat, text: str) -> None:
    """The dialog ends, and what waits behind it is not offered now."""
    chat.expects(supervisor=[ACQUAINT], profile=["What do you do?"], observer=["planner"], planner=["Milk it is."])
    await chat.says("Hi", "Forget that, milk belongs on the list", text)
    assert said(chat)[-1] == phrase("left_for_good", "en")
    assert await holder(chat) is None


async def test_what_was_interrupted_is_offered_again(chat: Chat) -> None:
    """A user who leaves a dialog comes back to the one before it; "stop" declines that as well."""
    chat.expects(
        supervisor=[ACQUAINT, "All right."], profile=["What do you do?"], observer=["planner"], planner=["Milk it is."]
    )
    await chat.says("Hi", "Forget that, milk belongs on the list")
    assert told("""
        user: that will be all
        leave (free): finished
        planner -> supervisor
        supervisor: Good, we leave that here. What can I do for you?
        supervisor: I had asked: “What do you do?” Shall we go on with your profile?
        user: stop
        offer (free): supervisor
        supervisor: All right.
    """) == await chat.says("that will be all", "stop")
    assert (await chat.state())["paused"] == []


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("Shall I stop the reminder?", "stop"),
        ("Which of them?", "all"),
        ("Is that all?", "that's all"),
        ("Tell me when you have paid.", "done"),
        ("What shall I do?", "stop making such lists"),
        ("Верно?", "всё верно"),
    ],
)
async def test_an_answer_takes_no_leave(chat: Chat, asked: str, text: str) -> None:
    """An answer to the dialog's question, or a longer message, goes to the dialog."""
    chat.expects(supervisor=[BEGIN], planner=[asked, "Good."], observer=["no", "stay"])
    trace = await chat.says("Plan my week, would you", text)
    assert trace.endswith("planner: Good.")
    assert await holder(chat) == "planner"
    chat.script.queues.clear()


async def test_it_may_be_what_was_just_written(chat: Chat) -> None:
    """ "Stop it" after a timer was set goes to the dialog; said again, it leaves."""
    timer = Call("add_reminder", {"when": "in 10 minutes", "kind": "timer"})
    chat.expects(supervisor=[BEGIN], planner=[timer, "It runs.", "Nothing to stop."], observer=["no", "stay"])
    trace = await chat.says("Plan my week, would you", "stop it")
    assert trace.endswith("planner: Nothing to stop.")
    chat.script.queues.clear()
    await chat.says("stop it")
    assert await holder(chat) is None


async def test_it_may_be_what_was_shown_without_the_dialog(chat: Chat) -> None:
    """ "Stop it" behind a list that the dialog did not show does not end its form; said again, it leaves."""
    chat.expects(supervisor=[ACQUAINT], profile=["What do you do?", "Stop what?"], observer=["no", "stay"])
    trace = await chat.says("Hi", "show my reminders", "stop it")
    assert trace.endswith("profile: Stop what?")
    chat.script.queues.clear()
    await chat.says("stop it")
    assert await holder(chat) is None


async def test_it_may_be_a_film_beside_the_dialog(chat: Chat) -> None:
    """ "Stop" after a switch away from the player goes to the dialog, which may pass it on; a form is left by it."""
    film = Call("watch_things", {"brief": "-"})
    chat.expects(supervisor=[film], player=["It plays."], planner=["Milk it is.", "Stop what?"])
    chat.expects(observer=["planner", "stay", "stay", "stay"])
    trace = await chat.says("Hi", "Milk belongs on the list", "stop")
    assert trace.endswith("planner: Stop what?")
    chat.script.queues.clear()


async def test_said_twice_it_leaves_whatever_was_asked(chat: Chat) -> None:
    """A model that asks so that "stop" is an answer keeps nobody either."""
    chat.script = Weak("planner", "Do you want to stop?")
    await chat.says("Plan my week, would you", "stop")
    assert await holder(chat) == "planner"
    await chat.says("stop")
    assert await holder(chat) is None


async def test_an_open_question_stays_unanswered_and_nothing_is_written(chat: Chat) -> None:
    """The second "stop" leaves a model that asks for a yes again and again; its write is not done."""
    done: list[int] = []

    @traits(effect="write", confirm="always")
    @tool
    def wipe(number: int) -> str:
        """Wipe."""
        done.append(number)
        return "wiped"

    chat.speakers = changed(chat.speakers, "planner", wipe)
    chat.expects(supervisor=[BEGIN], planner=[Call("wipe", {"number": 1}), Call("wipe", {"number": 2})])
    await chat.says("Plan my week, would you", "stop", "stop")
    state = await chat.state()
    assert (done, state["dialog"], state["pending"]) == ([], None, [])


@pytest.mark.usefixtures("shop")
async def test_done_answers_two_questions_in_a_row(chat: Chat) -> None:
    """A page that is put again is answered in the same words; nobody takes leave by them."""
    both: Line = [Call("sign_in"), Call("sign_in", {"purpose": "again"})]
    chat.expects(supervisor=[BEGIN], planner=[both, "Welcome."])
    assert (await chat.says("Plan my week, would you", "done", "done")).endswith("planner: Welcome.")


@pytest.mark.usefixtures("shop")
async def test_never_mind_leaves_the_question_first(chat: Chat) -> None:
    """The question leaves the screen, and the dialog stays; said again, the dialog ends."""
    chat.expects(supervisor=[BEGIN], planner=[Call("choose_order"), "As you like."], observer=["stay", "no"])
    await chat.says("Plan my week, would you", "never mind")
    state = await chat.state()
    assert (state["dialog"], state["pending"]) == ("planner", [])
    await chat.says("never mind")
    assert await holder(chat) is None
    chat.script.queues.clear()


@pytest.mark.parametrize(("text", "lang"), [("never mind", "en"), ("забудь", "ru"), ("算了", "zh")])
async def test_never_mind_leaves_a_question_in_words_first(chat: Chat, text: str, lang: str) -> None:
    """The dialog hears it, and can name what it does not do; said again, the dialog ends."""
    chat.expects(
        supervisor=[BEGIN], planner=["When shall I remind you?", "No reminder, then."], observer=["no", "stay"]
    )
    trace = await chat.says("Plan my week, would you", text, lang=lang)
    assert trace.endswith("planner: No reminder, then.")
    chat.script.queues.clear()
    await chat.says(text, lang=lang)
    assert await holder(chat) is None


async def test_an_empty_model_gives_the_message_to_the_supervisor(chat: Chat) -> None:
    """The first time the user reads why; the second time the supervisor hears what they want."""
    chat.expects(supervisor=[BEGIN, "Milk costs a euro."], planner=[""] * 6)
    await chat.says("Plan my week, would you")
    assert [event.code for event in chat.events if isinstance(event, Error) and event.text] == ["busy"]
    trace = await chat.says("what does milk cost nowadays")
    assert said(chat) == [
        phrase("dialog_failed", "en", title="your to-dos"),
        "Milk costs a euro.",
    ]
    assert "planner -> supervisor" in trace
    assert (await chat.messages(SUPERVISOR))[-2].text == "what does milk cost nowadays"


async def test_the_same_message_tried_again_counts(chat: Chat) -> None:
    """The button "try again" does not keep the user in the dialog either."""
    chat.expects(supervisor=[BEGIN, "I do it."], planner=[""] * 6)
    await chat.says("Plan my week, would you", id="m")
    assert await holder(chat) == "planner"
    await chat.says("Plan my week, would you", id="m")
    assert said(chat)[-1] == "I do it."
    assert await holder(chat) is None


@pytest.mark.parametrize(("is_shared", "keeps"), [(True, "planner"), (False, None)])
async def test_an_outage_of_all_keeps_the_dialog(chat: Chat, is_shared: bool, keeps: str | None) -> None:
    """With one model for all speakers nobody else would do better; a speaker's own model may fail alone."""
    down: list[Line] = [ConnectionError("down")] * 2
    if is_shared:
        chat.expects(everybody=[BEGIN, *down])
        chat.models = Models(chat.script.models(["everybody"]).chain("everybody")[0])
    else:
        chat.expects(supervisor=[BEGIN, "I am here."], planner=down)
    await chat.says("Plan my week, would you", "milk")
    assert await holder(chat) == keeps


async def test_refused_calls_end_the_round_and_then_the_dialog(chat: Chat) -> None:
    """Two refusals of a kind cost no third call; twice in a row the dialog gives the conversation back."""
    chat.script = Weak("planner", Call("no_such_tool", {"x": 1}))
    await chat.says("Plan my week, would you")
    assert said(chat)[-1] == phrase("in_circles", "en")
    assert [call.role for call in chat.script.asked].count("planner") == 2
    await chat.says("and now the milk, please, if you can")
    assert said(chat)[-1] == "I am here."
    assert await holder(chat) is None


async def test_an_answer_between_ends_the_count(chat: Chat) -> None:
    """Only turns in a row count."""
    wrong = [Call("no_such_tool", {"x": 1})] * 2
    chat.expects(supervisor=[BEGIN], planner=[*wrong, "Milk it is.", *wrong], observer=["stay", "stay"])
    await chat.says("Plan my week, would you", "milk, I said, and nothing but milk", "and some bread for the weekend")
    assert await holder(chat) == "planner"


async def test_a_turn_costs_so_many_calls(chat: Chat) -> None:
    """A model that never calls the same twice stops at the bound; the user is told, and can go on."""
    chat.limits = replace(chat.limits, turn_calls=5)
    chat.expects(supervisor=[Call("assistant_help", {"query": f"{place}"}) for place in range(9)])
    trace = await chat.says("Hi")
    assert len(chat.script.asked) == 5
    assert trace.endswith(f"supervisor: {phrase('turn_spent', 'en', most=5)}")
    chat.script.queues.clear()
    chat.expects(supervisor=["That is all that I found."])
    assert (await chat.says("go on")).endswith("That is all that I found.")


@pytest.mark.parametrize(("most", "left"), [(100, 0), (101, 17), (0, 17)])
def test_a_turn_costs_so_many_tokens(most: int, left: int) -> None:
    """Input and output tokens count; without a limit only the calls do."""
    spent = TurnUsage()
    spent.note(ModelStart(speaker="planner", model="m"))
    spent.note(
        ModelEnd(speaker="planner", model="m", input_tokens=60, output_tokens=40, cached_tokens=50, ms=1, ok=True)
    )
    assert spent.leaves(Limits(turn_tokens=most)) == left
