"""Tools that wait for the user: what answers them, and that nothing runs twice."""

from pathlib import Path

import pytest

from agents.events import Event, Message, ToolEnd
from agents.models import Model, Models
from app.assistant import Turn
from app.testing import Chat, told
from app.testing.script import Call
from tests.support.rules import RulesModel
from tests.support.scripted_assistant import stage
from tests.support.shop_tools import ASKED, BEGIN, HAT, ORDERS

pytestmark = [pytest.mark.usefixtures("shop"), pytest.mark.needs("planner")]

CHOSEN = {
    "2": '{"id":1,"name":"Red hat","price":15.0}',
    "the expensive one": '{"id":1,"name":"Green coat","price":140.0}',
    HAT: '{"id":1,"name":"Red hat","price":15.0}',
}


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


@pytest.mark.parametrize("words", ["Elm Street 5", "Elm Street"])
async def test_a_few_bare_words_are_the_first_value(chat: Chat, words: str) -> None:
    """They are said back, so that a slip is seen; a question, a wish and a longer sentence are for the speaker."""
    chat.expects(supervisor=BEGIN, planner=[Call("ask_address"), "Fetched there."])
    trace = await chat.says("Fetch it", words)
    assert f"breaker: Noted: street – {words}. What is still missing: [zip]" in trace
    assert f'{{"street":"{words}","zip":8001}}' in await chat.says("8001")


@pytest.mark.parametrize("words", ["why do you ask", "my sister lives there with her dog"])
async def test_what_is_no_value_is_for_the_speaker(chat: Chat, words: str) -> None:
    """A form with several fields takes nothing of it."""
    chat.expects(supervisor=BEGIN, planner=[Call("ask_address"), "As you say."], observer=["stay"] * 2)
    assert (await chat.says("Fetch it", words)).endswith("planner: As you say.")
    chat.script.queues.clear()


@pytest.mark.parametrize("words", ["undo", "no", "never mind"])
async def test_who_backs_out_of_the_last_field_fills_in_nothing(chat: Chat, words: str) -> None:
    """The form is declined."""
    chat.expects(supervisor=BEGIN, planner=[Call("ask_address"), "All right."])
    trace = await chat.says("Fetch it", "zip: 8001", words)
    assert trace.endswith("planner: All right.")
    assert "ask_address() = {" not in trace


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


async def test_of_one_candidate_there_is_no_choice(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A selector with one candidate takes it; with none it has an empty result."""
    monkeypatch.setattr("tests.support.shop_tools.ORDERS", {HAT: ORDERS[HAT]})
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back.", Call("choose_order"), "No orders."])
    trace = await chat.says("I want to return something")
    assert 'planner.choose_order() = {"id":1,"name":"Red hat","price":15.0}' in trace

    monkeypatch.setattr("tests.support.shop_tools.ORDERS", {})
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
    monkeypatch.setattr("tests.support.shop_tools.ORDERS", ids)
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])

    assert '"name":"Red hat"' in await chat.says("I want to return something", "2")


@pytest.mark.parametrize(("lang", "asked"), [("en", "There are 3; which one?"), ("ru", "Здесь их 3. Какой из них?")])
async def test_a_number_that_is_not_there_is_asked_again(chat: Chat, lang: str, asked: str) -> None:
    """A number beyond the last option is a slip: the question stays open, and no model is called."""
    chat.expects(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    trace = await chat.says("I want to return something", "31", "2", lang=lang)

    assert f"user: 31\nselector: {asked} [Blue shoes | Red hat | Green coat]\nuser: 2\n" in trace
    assert trace.endswith("planner: Sent back.")
