"""Tools that write: done once, however often the same is asked for, and honest about what was cut off."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from agents.errors import ContractError
from agents.memory import ledger
from agents.toolkit import tool_node
from agents.toolkit.result import Refused
from agents.toolkit.traits import DAY, Traits
from app.testing import Chat, told
from app.testing.script import Call, Line
from prompts import phrase
from tests.support.simulated_time import advance
from tests.support.write_tools import Desk

pytestmark = pytest.mark.needs("planner")

BEGIN: list[Line] = [Call("plan_things", {"brief": "money"})]
PAY = Call("pay", {"to": "Bob", "amount": 10})
UNKNOWN = phrase("write_unknown", "en", tool="pay")


@pytest.fixture
def desk(chat: Chat) -> Desk:
    """Give the conversation a desk."""
    found = Desk(chat.path)
    chat.speakers = found.with_desk(chat.speakers)
    return found


def raises(failure: BaseException, at: str) -> Callable[[str], Awaitable[None]]:
    """Return a step that fails."""

    async def step(name: str) -> None:
        if name == at:
            raise failure

    return step


async def test_the_same_write_again_is_told_not_done(chat: Chat, desk: Desk) -> None:
    """A write with the same key, asked for in a later turn, is answered as the first was, view included."""
    chat.expects(supervisor=BEGIN, planner=[PAY, "Paid.", Call("pay", {"amount": 10, "to": "Bob"}), "As I said."])
    chat.expects(observer=["stay"])

    assert told("""
        user: Pay Bob 10 euros
        supervisor -> planner
        planner.pay(to='Bob', amount=10) = {"receipt":1}
        view: link Receipt
        planner: Paid.
        user: and the ten euros for that Bob of yours
        planner.pay(amount=10, to='Bob') = {"receipt":1}
        view: link Receipt
        planner: As I said.
    """) == await chat.says("Pay Bob 10 euros", "and the ten euros for that Bob of yours")
    assert desk.paid == ["Bob 10 EUR"]


async def test_a_day_later_the_same_write_is_a_new_one(chat: Chat, desk: Desk) -> None:
    """The same sum tomorrow is another payment; a card may say another time."""
    chat.expects(supervisor=BEGIN, observer=["stay"], planner=[PAY, "Paid.", PAY, "Paid again."])
    await chat.says("Pay Bob 10")
    chat.now = lambda: time.time() + DAY.total_seconds()
    assert '= {"receipt":2}' in await chat.says("and the ten euros for that Bob of yours")


async def test_another_value_or_another_user_is_another_write(chat: Chat, desk: Desk) -> None:
    """The key's arguments and the user tell writes apart; the other arguments do not."""
    dollars = Call("pay", {"to": "Bob", "amount": 10, "currency": "USD"})
    chat.expects(
        supervisor=BEGIN * 2,
        planner=[[PAY, dollars, Call("pay", {"to": "Bob", "amount": 11})], "Paid.", PAY, "Paid."],
    )
    await chat.says("Pay")
    await chat.says("Pay", thread="eve")

    assert desk.paid == ["Bob 10 EUR", "Bob 11 EUR", "Bob 10 EUR"]


@pytest.mark.sqlite
async def test_two_equal_calls_in_one_reply(chat: Chat, desk: Desk) -> None:
    """Of calls side by side with the same arguments, in whatever order, one is done; the other is told so."""
    pay, note = Call("pay", {"amount": 10, "to": "Bob"}), Call("note", {"text": "a"})
    chat.expects(supervisor=BEGIN, planner=[[PAY, pay, note, note], "."])
    trace = await chat.says("Pay twice")

    assert (trace.count('= {"receipt":1}'), trace.count("= Noted: a.")) == (1, 1)
    assert [phrase("tool_repeated", "en", tool=name) in trace for name in ("pay", "note")] == [True, True]
    assert (desk.paid, desk.noted) == (["Bob 10 EUR"], ["a"])


@pytest.mark.sqlite
async def test_without_a_key_each_call_is_its_own(chat: Chat, desk: Desk) -> None:
    """A write that names no key is done once in each turn that calls it; the ledger keeps the last turn's only."""
    mail = Call("mail", {"text": "hi"})
    chat.expects(supervisor=BEGIN, observer=["stay"], planner=[[mail, mail], "Sent.", mail, "Sent."])
    await chat.says("Mail hi twice", "and one more of those mails if you please")

    assert desk.paid == ["hi", "hi"]
    assert desk.ledger == [("ann", True)]


async def test_the_state_is_checked_before_the_first_time_only(chat: Chat, desk: Desk) -> None:
    """A failed check refuses a new write; a write that is done is told again all the same."""
    desk.refused = "There is not enough money."
    chat.expects(supervisor=BEGIN, observer=["stay"], planner=[PAY, "No money.", PAY, "Paid."])
    assert "planner.pay(to='Bob', amount=10) ! There is not enough money." in await chat.says("Pay Bob 10")
    assert (desk.paid, desk.ledger) == ([], [])

    desk.refused = ""
    assert '= {"receipt":1}' in await chat.says("there should be money enough by now")
    desk.refused = "It is paid already."
    chat.expects(planner=[PAY, "Yes."], observer=["stay"])
    assert '= {"receipt":1}' in await chat.says("did you really pay that man his money")
    assert desk.paid == ["Bob 10 EUR"]


async def test_a_check_reads_what_the_tool_will(chat: Chat, desk: Desk) -> None:
    """A check gets the arguments as the tool accepts them: a number that came as text, what was left out."""
    pay = Call("pay", {"to": "Bob", "amount": "10"})
    chat.expects(supervisor=BEGIN, planner=[pay, "Paid."])
    await chat.says("Pay Bob 10")
    assert desk.checked == [{"to": "Bob", "amount": 10, "currency": "EUR"}]


async def test_a_refusal_leaves_the_write_free(chat: Chat, desk: Desk) -> None:
    """A tool that refuses has written nothing: the same call again is done."""
    desk.step = raises(Refused("The bank is closed."), at="before pay")
    chat.expects(supervisor=BEGIN, planner=[PAY, PAY])
    assert (await chat.says("Pay Bob 10")).count("! The bank is closed.") == 2
    assert desk.ledger == []


@pytest.mark.sqlite
async def test_a_write_that_raises_is_in_doubt(chat: Chat, desk: Desk) -> None:
    """Nobody knows whether a write that raised took effect: the model is told so, and may then ask for it again."""
    desk.step = raises(ConnectionError("cut"), at="after pay")
    chat.expects(supervisor=BEGIN, planner=[[PAY, PAY], "I do not know."])
    trace = await chat.says("Pay Bob 10")
    assert (trace.count(f"! {UNKNOWN}"), trace.count(phrase("tool_repeated", "en", tool="pay"))) == (1, 1)
    assert (desk.paid, desk.ledger) == (["Bob 10 EUR"], [("ann", False)])

    desk.step = raises(ConnectionError("cut"), at="nowhere")
    chat.expects(planner=[PAY, "Paid."], observer=["stay"])
    assert '= {"receipt":2}' in await chat.says("it has not arrived, so once more please")


async def test_a_doubt_is_told_in_each_thread(chat: Chat, desk: Desk) -> None:
    """A write that was cut off in one thread of a user is not simply repeated in another."""
    desk.step = raises(ConnectionError("cut"), at="after pay")
    chat.expects(supervisor=BEGIN * 2, planner=[PAY, "I do not know.", PAY, "Nor do I.", PAY, "Paid."])
    await chat.says("Pay Bob 10", thread="one", user="ann")
    desk.step = raises(ConnectionError("cut"), at="nowhere")
    assert f"! {UNKNOWN}" in await chat.says("Pay Bob 10", thread="two", user="ann")
    chat.expects(observer=["stay"])
    assert '= {"receipt":2}' in await chat.says("it has not arrived, so again", thread="two", user="ann")


async def test_a_write_that_takes_too_long_is_in_doubt(chat: Chat, desk: Desk) -> None:
    """A write that was cancelled is not done again before the model was told that nobody knows."""
    steps: list[str] = []

    async def slow(name: str) -> None:
        steps.append(name)
        if steps == ["before pay", "after pay"]:
            advance(tool_node.TIMEOUT)
            await asyncio.Event().wait()

    desk.step = slow
    chat.expects(supervisor=BEGIN, planner=[PAY, PAY, PAY, "Paid."])
    trace = (await chat.says("Pay Bob 10")).splitlines()
    assert [line.split(") ")[1] for line in trace if "pay(" in line] == [f"! {UNKNOWN}"] * 2 + ['= {"receipt":2}']


async def test_who_is_at_the_same_write_for_long_is_not_waited_for(
    chat: Chat, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another one is at the same write, a call waits for its outcome, but not for ever."""
    monkeypatch.setattr(ledger, "LONGEST_WAIT", 0.2)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(name: str) -> None:
        begun.set()
        await go_on.wait()

    desk.step = slow
    chat.expects(supervisor=BEGIN * 2, planner=[PAY, PAY, "Well.", "Well."])
    first = asyncio.create_task(chat.says("Pay Bob 10", thread="one", user="ann"))
    await begun.wait()
    assert f"! {phrase('write_busy', 'en', tool='pay')}" in await chat.says("Pay Bob 10", thread="two", user="ann")
    go_on.set()
    await first
    assert desk.paid == ["Bob 10 EUR"]


@pytest.mark.sqlite
async def test_a_transaction_that_raises_has_written_nothing(chat: Chat, desk: Desk) -> None:
    """Whatever a transaction wrote is undone with it, within its block and after it; then it may be done."""
    note, failed = Call("note", {"text": "a"}), phrase("tool_failed", "en", tool="note")
    for at in ("before note", "in note", "after note"):
        desk.step = raises(ValueError("no"), at=at)
        chat.expects(supervisor=BEGIN, planner=[note, "It failed."])
        assert f"! {failed}" in await chat.says("Note a", thread=at, user="ann")
        assert (desk.noted, desk.ledger) == ([], [])
    desk.step = raises(ValueError("no"), at="nowhere")
    chat.expects(supervisor=BEGIN, planner=[note, "Noted."])
    assert "= Noted: a." in await chat.says("Note a", thread="last", user="ann")
    assert desk.noted == ["a"]


def test_only_a_write_has_traits_of_a_write() -> None:
    """A tool that reads has nothing to repeat."""
    with pytest.raises(ContractError, match="only a write"):
        Traits(repeatable=True)
    with pytest.raises(ContractError, match="only a write"):
        Traits(transaction=True)
    for wrong in ({"again_after": 2 * DAY}, {"again_after": 0 * DAY, "key": ("a",)}, {"again_after": 400 * DAY}):
        with pytest.raises(ContractError, match="again_after"):
            Traits(effect="write", **wrong)


async def test_a_nul_in_an_argument_is_left_out(chat: Chat) -> None:
    """A model wrote U+0000, which no database keeps in a text; a backslash before "u0000" is what it says."""
    chat.expects(
        supervisor=[Call("plan_things", {"brief": "-"})],
        planner=[Call("add_todos", {"items": ["mi\0lk", "a\\u0000b"]}), "Noted."],
    )
    await chat.says("milk, please")
    async with chat.assistant() as assistant:
        items = await assistant.memory.store.asearch(("users", "ann", "todos"))
    assert {item.value["text"] for item in items} == {"milk", "a\\u0000b"}
