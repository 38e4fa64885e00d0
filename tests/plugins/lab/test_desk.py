"""The desk: a conversation with the shop in which a person is the model, a step back, and what becomes of it."""

import asyncio
import json
import random
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from agents.errors import UsageError
from app.cli import command_line
from app.plugins.lab.cases import Case, CaseTurn, Expected, ExpectedCall
from app.plugins.lab.desk import PATIENCE, Desk
from app.plugins.lab.desk import sitting as opened
from app.plugins.lab.desk_export import checked, jsonl_of
from app.plugins.lab.desk_session import DeskCall, DeskReply, DeskSession, DeskTurn
from app.plugins.lab.folder import lab_folder
from app.plugins.lab.forms import arguments_of
from app.plugins.lab.runs import RunOrder, run_cases
from app.settings import Settings
from app.testing import Chat
from tests.support.fine_tuning import check_chat, shop_identifiers
from tests.support.simulated_time import advance

pytestmark = pytest.mark.needs("orders")


def sitting(settings: Settings, session: DeskSession | None = None) -> AbstractAsyncContextManager[Desk]:
    """Open a session at the desk."""
    if session:
        lab_folder().write("desk", "bottle", session)
    return opened(settings, "bottle")


async def user(desk: Desk, text: str) -> None:
    """Say something as the user, and wait for the first call of a model."""
    desk.say(text)
    await desk.settle()


async def model(desk: Desk, text: str = "", **calls: object) -> None:
    """Answer for the model, and wait for its next call."""
    await desk.reply(text, [DeskCall(tool=tool, args=args) for tool, args in calls.items()])
    await desk.settle()


def numbers(desk: Desk) -> dict[str, int]:
    """Return the numbers that the result before stands for in the prompt: the order's, its bottle's, its payment's."""
    assert desk.wanted
    order = json.loads(desk.wanted.messages[-1]["content"].splitlines()[0])
    item = next(item["item_id"] for item in order["items"] if item["name"] == "Water Bottle")
    return {"order": order["order_id"], "item": item, "payment": order["payment_history"][0]["payment_method_id"]}


async def play(desk: Desk) -> None:
    """Find an order, look it up by a wrong number first, and send an item of it back."""
    await user(desk, "Which of my orders has the bottle?")
    assert desk.wanted
    assert desk.wanted.role == "supervisor"
    assert desk.wanted.messages[0]["role"] == "system"
    await model(desk, handle_orders={"brief": "find the order with the bottle"})
    await model(desk, list_orders={})
    await model(desk, "The bottle is in the first of them.")
    assert "D1001" in desk.session.turns[0].answer
    await user(desk, "I want to send the bottle of D1001 back, write to ann.berg@example.com")
    await model(desk, get_order_details={"order_id": 555})
    assert desk.wanted
    assert desk.wanted.messages[-1]["role"] == "tool"
    assert "555" in desk.wanted.messages[-1]["content"]
    await model(desk, get_order_details={"order_id": "D1001"})
    shown = numbers(desk)
    args = {"order_id": shown["order"], "item_ids": [shown["item"]], "payment_method_id": shown["payment"]}
    await model(desk, call_tool={"name": "return_delivered_order_items", "args": args})
    assert not desk.is_running
    assert desk.session.turns[1].options == ("yes", "no")
    assert "Water Bottle" in desk.session.turns[1].question
    await user(desk, "yes")
    if desk.wanted:
        await model(desk, "It is on its way back to us.")
    assert "return requested" in desk.session.turns[2].trace + desk.session.turns[2].answer


async def test_a_person_is_the_model(settings: Settings, chat: Chat) -> None:
    """The tools are real, errors are seen and handled; the session becomes data, and a test that passes."""
    async with sitting(settings, DeskSession(lang="en")) as desk:
        await play(desk)
        with pytest.raises(UsageError, match="no call"):
            await desk.reply("Hello", [])
        source = await desk.as_test("en")
        session = desk.folder.read("desk", "bottle", DeskSession)
        assert session == desk.session
        await user(desk, "Thank you!")
        assert (await desk.as_test("en")).startswith("# The test covers 3 of 4 turns.")

    assert not source.startswith("# The test covers")
    made: dict[str, object] = {}
    exec(compile(source, "exported", "exec"), made)  # the source is what is tested
    [test] = [value for name, value in made.items() if name.startswith("test_")]
    await test(chat)  # type: ignore[operator]  # a function of the exported module
    assert chat.script.left() == {}

    lines = jsonl_of(session, random.Random(7)).splitlines()
    assert len(lines) == sum(len(turn.replies) for turn in session.turns)
    for line in lines:
        check_chat(json.loads(line))
        assert [real for real in shop_identifiers() if real in line] == []
    parcels = [match[1] for line in lines if (match := re.search(r"tracking_id\W+(\w+)", line))]
    assert len({*parcels}) == len(parcels) > 0


@pytest.mark.needs("standin")
async def test_a_case_of_somebody_the_tools_know(settings: Settings) -> None:
    """A case may say who talks; each time it is played on a stage of its own."""
    expected = Expected(calls=(ExpectedCall(tool="list_orders"),), says=("D1001",))
    case = Case(user="me", device="terminal", turns=(CaseTurn(user="show me my orders", expect=expected),))
    run = await run_cases(settings, {"own": case}, RunOrder(times=2))
    assert [result.problems for result in run.results] == [[], []]


def test_the_command_exports(settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A session is exported as fine-tuning data and as a trace test."""
    asyncio.run(_played(settings))
    capsys.readouterr()
    data = tmp_path / "data.jsonl"
    assert command_line.main(["lab", "desk", "export", "bottle", "--output", str(data)]) == 0
    assert [json.loads(line)["messages"][0]["role"] for line in data.read_text("utf-8").splitlines()] == ["system"] * 3
    assert command_line.main(["lab", "desk", "export", "bottle", "--form", "test"]) == 0
    assert "async def test_conversation" in capsys.readouterr().out
    assert command_line.main(["lab", "desk", "export", "nothing"]) == 2


async def _played(settings: Settings) -> None:
    async with sitting(settings, DeskSession(lang="en")) as desk:
        await user(desk, "Which of my orders has the bottle?")
        await model(desk, handle_orders={"brief": "the bottle"})
        await model(desk, list_orders={})
        await model(desk, "The first one.")


async def test_a_step_back_and_a_restart(settings: Settings) -> None:
    """The steps before a step back are played again on a fresh stage, also by another process; the rest is gone."""
    async with sitting(settings, DeskSession(lang="en")) as desk:
        await user(desk, "Which of my orders has the bottle?")
        await model(desk, handle_orders={"brief": "the bottle"})
        await model(desk, list_orders={})
        asked = desk.wanted
        await model(desk, "In the last one.")
        await desk.back(settings, 3)
        assert desk.wanted
        assert asked
        assert (desk.wanted.role, desk.has_changed_course) == ("orders", False)
        assert [m["role"] for m in desk.wanted.messages] == [m["role"] for m in asked.messages]
        assert desk.wanted.messages[-1]["content"] == asked.messages[-1]["content"]
        seen = desk.session
    async with sitting(settings) as again:
        assert again.session == seen
        assert again.wanted
        await model(again, "In the first one.")
        assert not again.is_running
        [turn] = again.session.turns
        assert [reply.text for reply in turn.replies] == ["", "", "In the first one."]
        await again.back(settings, 0)
        assert again.session.turns == ()


async def test_replies_that_lead_elsewhere(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies that are no longer asked for are not played; the file stays as it is until one goes on."""
    wait = Desk._until

    async def impatient(desk: Desk, is_reached: Callable[[], bool], seconds: float) -> None:
        if seconds < PATIENCE:
            # Nobody says what is waited for here.
            asyncio.get_running_loop().call_soon(advance, seconds)
        await wait(desk, is_reached, seconds)

    monkeypatch.setattr(Desk, "_until", impatient)
    replies = (DeskReply(role="planner", prompt=(), text="Noted."), DeskReply(role="planner", prompt=(), text="Done."))
    turns = (DeskTurn(user="Hello there", replies=replies, is_over=True), DeskTurn(user="And?", is_over=True))
    stored = DeskSession(lang="en", turns=turns)
    async with sitting(settings, stored) as desk:
        assert desk.has_changed_course
        assert desk.wanted
        assert [turn.user for turn in desk.session.turns] == ["Hello there"]
        assert desk.folder.read("desk", "bottle", DeskSession) == stored
        await model(desk, "Hello! What can I do for you?")
        assert len(desk.folder.read("desk", "bottle", DeskSession).turns) == 1


async def test_what_is_refused(settings: Settings) -> None:
    """A reply is needed, its tools are offered ones, the user waits for the model; no session, no desk."""
    async with sitting(settings, DeskSession(lang="en")) as desk:
        with pytest.raises(UsageError, match="what the user says"):
            desk.say(" ")
        await user(desk, "Hello there")
        with pytest.raises(UsageError, match="no call"):
            jsonl_of(desk.session)
        for text, calls in (("", ()), ("", (DeskCall(tool="no_such_tool"),)), ("<think>hm</think>", ())):
            with pytest.raises(UsageError):
                await desk.reply(text, calls)
        with pytest.raises(UsageError, match="not over"):
            desk.say("and?")
        await model(desk, "Hello! What can I do for you?")
        assert desk.session.turns[0].answer == "Hello! What can I do for you?"
    with pytest.raises(UsageError, match="there is no"):
        Desk(lab_folder(), "nothing")


def test_a_form_becomes_a_call() -> None:
    """Numbers, lists and objects are read as JSON, a list also as people write one; an empty field is left out."""
    rules = {
        "id": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "text": {"type": "string"},
        "more": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        "count": {"type": "integer"},
    }
    schema = {"properties": rules}
    given = {"id": "2", "ids": "3, 4", "text": "5", "more": '{"a": 1}', "count": " "}
    assert arguments_of(schema, given, "x") == {"id": 2, "ids": [3, 4], "text": "5", "more": {"a": 1}}
    assert arguments_of(schema, {"id": "D1001", "ids": '["a"]'}, "x") == {"id": "D1001", "ids": ["a"]}
    with pytest.raises(UsageError, match=r"x\.count"):
        arguments_of(schema, {"count": "many"}, "x")


def test_no_identifier_is_left() -> None:
    """Within a line an identifier has one stand-in, in another line another; one that cannot be told apart refuses."""
    prompt = {"role": "user", "content": "Where are D1001 and 7f9c-11? D1001!"}
    reply = DeskReply(role="orders", prompt=(0,), text="D1001 is here.")
    turns = (DeskTurn(user="x", is_over=True, replies=(reply, reply.model_copy(update={"role": "supervisor"}))),)
    session = DeskSession(turns=turns, pool=(prompt,), identifiers=("D1001", "7f9c-11"))
    first, second = (json.loads(line)["messages"] for line in jsonl_of(session, random.Random(1)).splitlines())
    stand_in = first[1]["content"].split()[0]
    assert first[0]["content"].count(stand_in) == 2
    assert stand_in not in ("D1001", second[1]["content"].split()[0])
    hidden = {"role": "user", "content": "see shop/xD1001x"}
    with pytest.raises(UsageError, match="D1001"):
        jsonl_of(session.model_copy(update={"pool": (hidden,)}))
    with pytest.raises(UsageError, match="not exported"):
        checked('{"content": "d1001"}', ["D1001"])
    with pytest.raises(UsageError, match="no call"):
        jsonl_of(DeskSession())
