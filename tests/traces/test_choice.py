"""Tools that wait for the user: what answers them, what does not, and that nothing runs twice."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from langgraph.types import Command

from agents.events import Event, Interrupt, Message, ToolEnd, TurnEnd
from agents.history import dangling
from agents.models import Model, Models
from agents.models.rules import RulesModel
from agents.models.script import Call, Line
from agents.questions import CHOICE, mark
from agents.speaker import Speakers
from agents.state import Context
from agents.tools.traits import traits
from agents.tracing import trace
from app.assistant import Turn
from app.running import config_of
from prompts import phrase, prompt
from tests.conftest import Chat, told
from tests.shop import ORDERS, ask_address, with_shop
from tests.staging import stage

SHOES, HAT, COAT = ORDERS
ASKED = "selector: Which order? [Blue shoes | Red hat | Green coat]"
BEGIN: list[Line] = [Call("plan_things", {"brief": "send something back"})]
CHOSEN = {
    "2": '{"id":1,"name":"Red hat","price":15.0}',
    "red hat": '{"id":1,"name":"Red hat","price":15.0}',
    "the second one": '{"id":1,"name":"Red hat","price":15.0}',
    "I'll take the cheapest one, please": '{"id":1,"name":"Red hat","price":15.0}',
    "the expensive one": '{"id":1,"name":"Green coat","price":140.0}',
    "the last one": '{"id":1,"name":"Green coat","price":140.0}',
    "the blue one": '{"id":1,"name":"Blue shoes","price":60.0}',
    HAT: '{"id":1,"name":"Red hat","price":15.0}',
}


@pytest.fixture(autouse=True)
def shop(chat: Chat) -> None:
    """Give the conversation a shop."""
    chat.speakers = with_shop(chat.speakers)


@pytest.mark.parametrize("answer", CHOSEN)
async def test_a_choice_is_answered(chat: Chat, answer: str) -> None:
    """A number, a label, words or a tap choose; the tool is not run again, in whatever process the answer comes."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])

    assert (
        told(f"""
        user: I want to return something
        supervisor -> planner
        {ASKED}
        user: {answer}
        planner.choose_order() = {CHOSEN[answer]}
        planner: Sent back.
    """)
        == f"{await chat.says('I want to return something')}\n{await chat.says(answer)}"
    )
    assert (await chat.state())["pending"] == []


async def test_while_a_choice_is_open_the_thread_says_so(chat: Chat) -> None:
    """The state names what is waited for, and the turn ends waiting."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])
    await chat.says("I want to return something")

    [pending] = (await chat.state())["pending"]
    assert (pending["kind"], pending["prompt"], pending["options"][1]["label"]) == (
        "selector",
        "Which order?",
        "Red hat",
    )
    assert [event.waiting for event in chat.events if isinstance(event, TurnEnd)] == [True]
    assert [event.options[1]["id"] for event in chat.events if isinstance(event, Interrupt)] == [HAT]


async def test_a_switch_abandons_a_choice(chat: Chat) -> None:
    """A change of subject leaves the choice; its call is answered, and the supervisor hears the message."""
    chat.expects(supervisor=[*BEGIN, "It is sunny."], planner=[Call("choose_order"), "…"], observer=["own"])

    assert told(f"""
        user: I want to return something
        supervisor -> planner
        {ASKED}
        user: What's the weather like tomorrow in Rome?
        planner.choose_order() ! {phrase("not_chosen", "en")}
        supervisor (observer): supervisor
        planner -> supervisor
        supervisor: It is sunny.
        supervisor: Shall we go on with your to-dos?
    """) == await chat.says("I want to return something", "What's the weather like tomorrow in Rome?")
    state = await chat.state()
    assert (state["pending"], state["paused"], dangling(await chat.messages("planner"))) == ([], ["planner"], [])


async def test_a_question_about_the_options_goes_to_the_dialog(chat: Chat) -> None:
    """What is no answer and no change of subject is for the dialog, which sees what is on the screen."""
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


async def test_two_questions_are_asked_one_after_the_other(chat: Chat) -> None:
    """Of parallel calls those that need nobody run at once; the others wait for their turn with the user."""
    calls = [Call("choose_order"), Call("find_orders", {"name": "hat"}), Call("ask_address")]
    chat.expects(supervisor=BEGIN, planner=[calls, "All done."])

    assert told("""
        user: I want to return something
        supervisor -> planner
        planner.find_orders(name='hat') = [{"id":1,"name":"Red hat","price":15.0}]
        selector: Which order? [Blue shoes | Red hat | Green coat]
        user: 1
        planner.choose_order() = {"id":2,"name":"Blue shoes","price":60.0}
        breaker: Where shall we fetch it? [street | zip]
        user: street: Elm Street 5
        breaker: Thank you. What is still missing: [zip]
        user: 8001
        planner.ask_address() = {"street":"Elm Street 5","zip":8001}
        planner: All done.
    """) == await chat.says("I want to return something", "1", "street: Elm Street 5", "8001")


async def test_a_form_says_what_does_not_fit(chat: Chat) -> None:
    """A value that the form refuses is asked for again, with the reason; what fits is kept."""
    chat.expects(supervisor=BEGIN, planner=[Call("ask_address"), "Fetched there."])
    trace = await chat.says("Fetch it", '{"street": "Elm Street 5", "zip": "near"}', '{"street": "Elm St", "zip": 7}')

    assert "breaker: That does not fit (zip: Input should be a valid integer" in trace
    assert trace.endswith('planner.ask_address() = {"street":"Elm St","zip":7}\nplanner: Fetched there.')


async def test_a_page_to_open_waits_until_the_user_is_back(chat: Chat) -> None:
    """A breaker gives an address; "done" goes on."""
    chat.expects(supervisor=BEGIN, planner=[Call("sign_in"), "Welcome."])

    assert told("""
        user: Sign me in
        supervisor -> planner
        breaker: Please sign in. [https://shop.example/sign-in]
        user: done
        planner.sign_in() = {"done":true,"answer":"done"}
        planner: Welcome.
    """) == await chat.says("Sign me in", "done")


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
    assert (await taps(chat, "Red hat", f"4#{mark(pending['id'])}")).endswith("planner: Sent back.")


async def test_a_choice_is_no_language(chat: Chat) -> None:
    """A label that was tapped does not tell what the user speaks."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Готово."])
    await chat.says("Хочу вернуть заказ")
    await taps(chat, "Red hat", "1")

    assert (await chat.state())["lang"] == "ru"


async def taps(chat: Chat, text: str, id: str) -> str:
    """Let the user tap a button; return the trace."""
    async with chat.assistant() as assistant:
        return trace([event async for event in assistant.play(Turn(thread="ann", text=text, id=id, source=CHOICE))])


async def test_of_one_candidate_there_is_no_choice(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A selector with one candidate takes it; with none it has an empty result."""
    monkeypatch.setattr("tests.shop.ORDERS", {HAT: ORDERS[HAT]})
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back.", Call("choose_order"), "No orders."])
    trace = await chat.says("I want to return something")
    assert 'planner.choose_order() = {"id":1,"name":"Red hat","price":15.0}' in trace

    monkeypatch.setattr("tests.shop.ORDERS", {})
    chat.expects(observer=["stay"])
    assert "planner.choose_order() = []" in await chat.says("And now the next one of my orders")


@pytest.mark.parametrize(
    ("lang", "texts", "deleted"),
    [
        ("en", ["add buy milk, drink milk and bread to my list", "delete the milk", "the second one"], 2),
        ("ru", ["добавь купить молоко, выпить молоко и хлеб в список", "удали молоко", "первое"], 1),
    ],
)
async def test_without_a_key_an_unclear_name_is_chosen(
    tmp_path: Path, lang: str, texts: list[str], deleted: int
) -> None:
    """The built-in rules let the user choose which of two to-dos is meant, and do what was asked with that one."""
    models = Models(default=Model("local:rules", RulesModel()))
    events: list[Event] = []
    async with stage(tmp_path / "dialogs.db", models) as assistant:
        for text in texts:
            events = [event async for event in assistant.play(Turn(thread="ann", text=text, lang=lang))]

    tools = [(event.tool, event.args) for event in events if isinstance(event, ToolEnd)]
    assert tools[-1] == ("delete_todos", {"numbers": [deleted]})
    [answer] = [event.text for event in events if isinstance(event, Message)]
    assert "{" not in answer


async def test_a_typed_number_is_that_of_the_screen(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """An identifier that looks like the number of another option is not what the user typed."""
    ids = dict(zip(("3", "1", "2"), ORDERS.values(), strict=True))
    monkeypatch.setattr("tests.shop.ORDERS", ids)
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])

    assert '"name":"Red hat"' in await chat.says("I want to return something", "2")


async def test_a_question_outlives_a_new_name_of_its_dialog(chat: Chat) -> None:
    """A renamed dialog's question can be answered; what belongs to it is carried over."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order")])
    await chat.says("I want to return something")
    planner = replace(chat.speakers.dialogs["planner"], name="organiser", formerly=["planner"])
    dialogs = {name: one for name, one in chat.speakers.dialogs.items() if name != "planner"}
    chat.speakers = Speakers(chat.speakers.supervisor, {**dialogs, "organiser": planner})
    with patch(
        "agents.prompting.prompt", lambda name, lang, **more: prompt(name.replace("organiser", "planner"), lang, **more)
    ):
        chat.expects(organiser=["Sent back."])
        assert (await chat.says("2")).endswith("organiser: Sent back.")


@pytest.mark.parametrize("gone", ["dialog", "tool", "form"])
async def test_a_question_that_nobody_asks_any_more_is_let_go(chat: Chat, gone: str) -> None:
    """A dialog, a tool or a form that is no longer there leaves no question that would stop the conversation."""
    chat.expects(supervisor=BEGIN, planner=[Call("ask_address")])
    await chat.says("I want to return something")
    planner = chat.speakers.dialogs["planner"]
    tools = [one for one in planner.tools if one.name != "ask_address"]
    if gone == "form":
        tools = [*tools, traits(kind="breaker")(ask_address.model_copy())]
    others = {name: one for name, one in chat.speakers.dialogs.items() if name != "planner"}
    kept = {} if gone == "dialog" else {"planner": replace(planner, tools=tools)}
    chat.speakers = Speakers(chat.speakers.supervisor, {**others, **kept})
    if gone == "dialog":
        chat.expects(supervisor=["Here I am."])
    else:
        chat.expects(planner=["Here I am."], observer=["stay"])

    assert (await chat.says("street: Elm Street 5")).endswith(": Here I am.")
    assert (await chat.state())["pending"] == []


async def test_unasked_the_question_is_put_again(chat: Chat) -> None:
    """Who only comes back has not left the question: it is on the screen again and can be answered."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    await chat.says("I want to return something")

    assert (await chat.says(None)).endswith(ASKED)
    assert (await chat.says("2")).endswith("planner: Sent back.")
