"""Plain requests that a tool serves without any model, and those that are not plain enough."""

from dataclasses import replace

import pytest
from langchain_core.tools import tool

from agents.events import Message, Observed, TurnEnd
from agents.events.views import CardList, Entry
from agents.toolkit.result import result
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits
from app.assistant.recorded_tools import Answer
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support import shop_tools
from tests.support.shop_tools import ORDERS, Order, order, submit_return
from tests.support.user_words import user_words

pytestmark = pytest.mark.needs("profile")

BEGIN = Call("get_acquainted", {"brief": "-"})


@pytest.mark.parametrize(
    ("text", "lang", "tool"),
    [
        ("What time is it?", "en", "current_time"),
        ("show my list please", "en", "list_todos"),
        ("Который час?", "ru", "current_time"),
        ("покажи мои напоминания", "ru", "list_reminders"),
    ],
)
@pytest.mark.needs("planner")
async def test_a_plain_request_costs_no_model_call(chat: Chat, text: str, lang: str, tool: str) -> None:
    """The tool answers itself, in the language of the conversation."""
    answers: list[Answer] = ["Here it is."]
    chat.finds(**{tool: answers})

    assert told(f"""
        user: {text}
        supervisor.{tool}() = Here it is.
        supervisor: Here it is.
    """) == await chat.says(text, lang=lang)
    [end] = [event for event in chat.events if isinstance(event, TurnEnd)]
    assert end.model_calls == 0


async def test_a_dialog_keeps_the_conversation_meanwhile(chat: Chat) -> None:
    """A shortcut inside a dialog interrupts nothing: the dialog hears the next message and knows what was said."""
    chat.finds(current_time=["It is nine."])
    chat.expects(supervisor=[BEGIN], profile=["What do you do?", "I see."])

    assert told("""
        user: Hi, I have just joined
        supervisor -> profile
        profile: What do you do?
        user: what time is it?
        supervisor.current_time() = It is nine.
        profile: It is nine.
        user: 12
        profile: I see.
    """) == await chat.says("Hi, I have just joined", "what time is it?", "12")
    *_, before, answer, heard = chat.script.asked[-1].messages
    assert (user_words([before, heard]), answer.text) == (["what time is it?", "12"], "It is nine.")


@pytest.mark.parametrize("text", ["what time is it in Tokyo?", "don't show my list", "what time is my train?"])
async def test_what_says_more_is_for_a_model(chat: Chat, text: str) -> None:
    """A request with a word that no example has is not plain, however near it is."""
    chat.expects(supervisor=["Well."])
    await chat.says(text)

    assert "shortcut" not in [event.observer for event in chat.events if isinstance(event, Observed)]


@pytest.mark.parametrize(("text", "lang", "answer"), [("home", "en", "Here I am."), ("Домой", "ru", "Я здесь.")])
async def test_home_interrupts_whoever_speaks(chat: Chat, text: str, lang: str, answer: str) -> None:
    """Called home the supervisor leads, without a model call; the dialog can be gone back to."""
    chat.expects(supervisor=[BEGIN], profile=["What do you do?"])
    trace = await chat.says("Hi, I have just joined", text, lang=lang)

    assert f"profile -> supervisor\nsupervisor: {answer}" in trace
    state = await chat.state()
    assert (state["is_active"], state["paused"]) == (True, ["profile"])


async def set_two_timers(chat: Chat) -> None:
    """Let two timers run."""
    chat.expects(
        supervisor=[Call("plan_things", {"brief": "timers"})],
        planner=[
            [Call("add_reminder", {"when": "in 20 minutes"}), Call("add_reminder", {"when": "in 30 minutes"})],
            "Set.",
        ],
    )
    await chat.says("Two timers please, twenty and thirty minutes")


@pytest.mark.needs("planner")
async def test_stop_the_timer(chat: Chat) -> None:
    """The one timer that runs is stopped; of two the user chooses; without one they are told so."""
    await set_two_timers(chat)

    chat.expects(planner=[Call("stop_timer"), "Gone."])
    assert "interrupt: Which one do you mean? [timer: on " in await chat.says("stop the timer")
    assert "planner.stop_timer() = Stopped: 1. timer: in " in await chat.says("the first one")
    assert "Остановлено: 2. таймер: через " in await chat.says("останови таймер", lang="ru")
    assert "Ни один таймер не запущен; ничего не остановлено." in await chat.says("останови таймер", lang="ru")


@pytest.mark.needs("planner")
async def test_a_shortcut_that_only_asks_has_written_nothing(chat: Chat) -> None:
    """An undo of its question keeps the write before."""
    await set_two_timers(chat)

    chat.expects(planner=[Call("stop_timer"), "They run on."])
    await chat.says("stop the timer")
    assert "planner: They run on." in await chat.says("cancel that")


@pytest.mark.parametrize("begin", [False, True])
async def test_what_a_shortcut_cannot_answer_a_model_tells(chat: Chat, begin: bool) -> None:
    """A tool that fails leaves the word to whoever holds the conversation, who knows what went wrong."""
    chat.finds(current_time=[])
    if begin:
        chat.expects(supervisor=[BEGIN], profile=["What do you do?"])
        await chat.says("Hi, I have just joined")
    with_dialog_lines: dict[str, list[Line]] = {"profile" if begin else "supervisor": ["My clock has stopped."]}
    chat.expects(**with_dialog_lines)
    trace = await chat.says("what time is it?")

    assert trace.endswith(f"{'profile' if begin else 'supervisor'}: My clock has stopped.")
    failed = phrase("tool_failed", "en", tool="current_time")
    assert any(failed in message.text for message in chat.script.asked[-1].messages)
    assert failed not in "".join(event.text for event in chat.events if isinstance(event, Message))


async def test_numbers_that_a_shortcut_gave_can_be_used(chat: Chat) -> None:
    """A shortcut's results have small numbers for identifiers, which stand for the same ones afterwards."""

    @traits(shortcut=True, result={"type": "array", "items": Order.model_json_schema()}, view="cards")
    @tool(response_format="content_and_artifact")
    async def current_time() -> object:
        """Show the orders."""
        view = CardList(title="Orders", entries=[Entry("Red hat")])
        return result([order(list(ORDERS)[1])], view=view)

    lead = replace(chat.speakers.supervisor, tools=[current_time, submit_return])
    chat.speakers = Speakers(lead, {})
    shop_tools.RETURNS.clear()
    chat.expects(supervisor=[Call("submit_return", {"order": 1}), "On its way."])
    await chat.says("what time is it?", "Send that hat back to where it came from")

    assert [("ann", list(ORDERS)[1])] == shop_tools.RETURNS


@pytest.mark.needs("planner")
async def test_an_answer_says_whose_it_is(chat: Chat) -> None:
    """The history notes which tool answered, for a model of rules that has to know of what list a number is."""
    chat.finds(list_todos=["1. milk"])
    await chat.says("show my list please")
    assert (await chat.messages("supervisor"))[-1].additional_kwargs == {"served": "list_todos"}
