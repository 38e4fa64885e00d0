"""A question stays open until a message answers it or changes the subject, whatever else happens."""

from dataclasses import replace
from unittest.mock import patch

import pytest
from langgraph.types import Command

from agents.events import trace
from agents.state.history import dangling
from agents.toolkit.context import Context
from agents.toolkit.questions import CHOICE
from agents.toolkit.speaker import Speakers
from app.assistant import Turn
from app.assistant.run import config_of
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase, prompt
from tests.support.changed_speakers import changed
from tests.support.shop_tools import ASKED, BEGIN, sign_in

pytestmark = [pytest.mark.usefixtures("shop"), pytest.mark.needs("planner")]


async def taps(chat: Chat, text: str, id: str) -> str:
    """Let the user tap a button; return the trace."""
    async with chat.assistant() as assistant:
        return trace([event async for event in assistant.play(Turn(thread="ann", text=text, id=id, source=CHOICE))])


async def test_a_switch_abandons_a_choice(chat: Chat) -> None:
    """A change of subject leaves the choice; its call is answered, and the supervisor hears the message."""
    chat.expects(supervisor=[*BEGIN, "It is sunny."], planner=[Call("choose_order"), "…"], observer=["other"])

    assert told(f"""
        user: I want to return something
        supervisor -> planner
        {ASKED}
        user: What's the weather like tomorrow in Rome?
        planner.choose_order() ! {phrase("not_chosen", "en")}
        supervisor (observer): supervisor
        planner -> supervisor
        supervisor: It is sunny.
        supervisor: I had asked: “Which order?” Shall we go on with your to-dos?
    """) == await chat.says("I want to return something", "What's the weather like tomorrow in Rome?")
    state = await chat.state()
    assert (state["pending"], state["paused"], dangling(await chat.messages("planner"))) == ([], ["planner"], [])


@pytest.mark.parametrize(
    ("asked", "told_undone"),
    [(Call("choose_order"), "Which order?"), ("When shall it be?", "When shall it be?"), ("Anything else?", None)],
)
async def test_a_question_to_which_nothing_leads_back_is_said(chat: Chat, asked: Line, told_undone: str | None) -> None:
    """A dialog that is never resumed may leave a wish undone: the user reads so, but of no offer of help."""
    chat.speakers = changed(chat.speakers, "planner", resume="never")
    chat.expects(supervisor=[*BEGIN, "It is sunny."], planner=[asked, "…"], observer=["other"])
    trace = await chat.says("I want to return something", "What's the weather like tomorrow in Rome?")
    said = [line for line in trace.splitlines() if line.startswith("supervisor: ")]
    undone = [f"supervisor: {phrase('question_lost', 'en', question=told_undone)}"] if told_undone else []
    assert said == [*undone, "supervisor: It is sunny."]


async def test_a_question_about_the_options_goes_to_the_dialog(chat: Chat) -> None:
    """A message that is no answer and no change of subject goes to the dialog, which knows the screen."""
    chat.expects(
        supervisor=BEGIN,
        planner=[Call("choose_order"), "The coat is of wool.", Call("choose_order"), "Sent back."],
        observer=["stay"],
    )
    await chat.says("I want to return something", "Is the coat of wool or of cotton?")

    [*_, asked] = [asked for asked in chat.script.asked if asked.role == "planner"]
    assert "1. Blue shoes\n2. Red hat\n3. Green coat" in asked.messages[-1].text
    chat.expects(observer=["stay"])
    assert (await chat.says("Then let me see them again", "3")).endswith("planner: Sent back.")


async def test_a_form_keeps_what_was_filled_in(chat: Chat) -> None:
    """After a message in between the user fills in the rest; the form names its kept values."""
    planner: list[Line] = [Call("ask_address"), "It is of wool.", Call("ask_address"), "Sent there."]
    chat.expects(supervisor=BEGIN, planner=planner, observer=["stay"] * 2)
    await chat.says("I want to return something", "street: Elm Street 5", "Is the coat of wool or of cotton?")
    kept = phrase("form_kept", "en", values=phrase("form_value", "en", label="street", value="Elm Street 5"))
    trace = await chat.says("Then let me go on with the form")
    assert trace.endswith(f"breaker: Where shall we fetch it? {kept} [zip]")
    assert (await chat.says("100")).endswith("planner: Sent there.")
    [*_, result] = [message for message in await chat.messages("planner") if message.name == "ask_address"]
    assert "Elm Street 5" in result.text


async def test_a_client_of_the_graph_may_resume_it(chat: Chat) -> None:
    """The question is a LangGraph interrupt; a resume value is an answer, and no node before it runs again."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    await chat.says("I want to return something")
    async with chat.assistant() as assistant:
        config = config_of("ann")
        [waiting] = (await assistant.graph.aget_state(config)).interrupts
        models = chat.script.models(["supervisor", "observer", *chat.speakers.dialogs])
        context = Context("ann", "ann", models)
        values = await assistant.graph.ainvoke(Command(resume="the red one"), config, context=context)

    assert waiting.value["prompt"] == "Which order?"
    assert values["said"][-1]["text"] == "Sent back."
    assert sum(asked.role == "supervisor" for asked in chat.script.asked) == 1


async def test_an_answer_to_what_is_not_asked_answers_nothing(chat: Chat) -> None:
    """A tap that comes too late, or for another question, is told so; the question that is open stays open."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    gone = f"planner: {phrase('choice_gone', 'en')}"

    assert (await taps(chat, "Red hat", "1")).endswith(f"supervisor: {phrase('choice_gone', 'en')}")
    await chat.says("I want to return something")
    [pending] = (await chat.state())["pending"]
    assert (await taps(chat, "Red hat", "2#another")).endswith(gone)
    assert (await taps(chat, "Blue hat", "3")).endswith(gone)
    assert (await taps(chat, "Red hat", f"4#{pending['id']}")).endswith("planner: Sent back.")


async def test_a_choice_is_no_language(chat: Chat) -> None:
    """A label that was tapped does not tell what the user speaks."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Готово."])
    await chat.says("Хочу вернуть заказ")
    await taps(chat, "Red hat", "1")

    assert (await chat.state())["lang"] == "ru"


async def test_a_question_outlives_a_new_name_of_its_dialog(chat: Chat) -> None:
    """The user can answer a renamed dialog's question; its state is carried over."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])
    await chat.says("I want to return something")
    planner = replace(chat.speakers.dialogs["planner"], name="organiser", formerly=["planner"])
    dialogs = {name: each for name, each in chat.speakers.dialogs.items() if name != "planner"}
    chat.speakers = Speakers(chat.speakers.supervisor, {**dialogs, "organiser": planner})
    with patch(
        "agents.conversation.prompt.prompt",
        lambda name, lang, **more: prompt(name.replace("organiser", "planner"), lang, **more),
    ):
        chat.expects(organiser=["Sent back."])
        assert (await chat.says("2")).endswith("organiser: Sent back.")


@pytest.mark.parametrize("gone", ["dialog", "tool", "form"])
async def test_a_question_that_nobody_asks_any_more_is_let_go(chat: Chat, gone: str) -> None:
    """A dialog, a tool or a form that is no longer there leaves no question that would stop the conversation."""
    chat.expects(supervisor=BEGIN, planner=[Call("ask_address")])
    await chat.says("I want to return something")
    planner = chat.speakers.dialogs["planner"]
    tools = [each for each in planner.tools if each.name != "ask_address"]
    if gone == "form":
        tools = [*tools, sign_in.model_copy(update={"name": "ask_address"})]
    others = {name: each for name, each in chat.speakers.dialogs.items() if name != "planner"}
    kept = {} if gone == "dialog" else {"planner": replace(planner, tools=tools)}
    chat.speakers = Speakers(chat.speakers.supervisor, {**others, **kept})
    if gone == "dialog":
        chat.expects(supervisor=["Here I am."])
    else:
        chat.expects(planner=["Here I am."], observer=["stay"])

    assert (await chat.says("street: Elm Street 5")).endswith(": Here I am.")
    assert (await chat.state())["pending"] == []


async def test_unasked_the_question_is_put_again(chat: Chat) -> None:
    """A user who only comes back has not left the question: it is on the screen again and can be answered."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    await chat.says("I want to return something")

    assert (await chat.says(None)).endswith(ASKED)
    assert (await chat.says("2")).endswith("planner: Sent back.")


async def test_a_choice_is_put_again_with_its_dialog(chat: Chat) -> None:
    """After a yes to the offer the options are on the screen once more, and the answer is the result of the call."""
    away = "What's the weather like tomorrow in Rome?"
    chat.expects(supervisor=[*BEGIN, "It is sunny."], planner=[Call("choose_order"), "…"], observer=["other"])
    assert (await chat.says("I want to return something", away, "yes")).endswith(ASKED)
    chat.expects(planner=["The coat goes back."])
    assert (await chat.says("3")).endswith("planner: The coat goes back.")
    assert dangling(await chat.messages("planner")) == []
