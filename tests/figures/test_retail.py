"""What a tool layer owes a shop: refusals that leave nothing, writes side by side, addresses that are set back."""

import json
from pathlib import Path

import pytest

from agents.models.script import Call, Line
from benchmarks.replay import replay
from prompts import phrase
from tests.conftest import Chat
from tests.support.shop.desk import ENTRY, desk
from tests.support.shop.replay_outcomes import row
from tests.support.shop.store import FILE, Kind, Record, digest, fill, writes

HOME = {"address1": "1 Elm Road", "address2": "", "city": "Oslo", "state": "", "country": "Norway", "zip": "0150"}
AWAY = {**HOME, "address1": "9 Oak Lane"}
SMALL, LARGE = {"options": {"size": "S"}, "price": 10.0}, {"options": {"size": "L"}, "price": 30.0}
VARIANTS = {
    "701": {"item_id": "701", "available": True, **SMALL},
    "702": {"item_id": "702", "available": True, **LARGE},
}
PAID = {"transaction_type": "payment", "amount": 20.0, "payment_method_id": "card"}
METHODS = {
    "card": {"id": "card", "source": "credit_card"},
    "gift": {"id": "gift", "source": "gift_card", "balance": 5.0},
}


def order(id: str, status: str) -> Record:
    """Return an order of two small things."""
    items = [{"name": "Hat", "product_id": "70", "item_id": "701", **SMALL}] * 2
    owner = {"order_id": id, "user_id": "ada", "address": HOME, "status": status, "fulfillments": []}
    return {**owner, "items": items, "payment_history": [PAID]}


USER = {"user_id": "ada", "name": {"first_name": "Ada", "last_name": "Berg"}, "email": "ada@example.com"}
SHOP: dict[Kind, dict[str, Record]] = {
    "products": {"70": {"product_id": "70", "name": "Hat", "variants": VARIANTS}},
    "users": {"ada": {**USER, "address": HOME, "payment_methods": METHODS, "orders": ["#A", "#B"]}},
    "orders": {"#A": order("#A", "delivered"), "#B": order("#B", "pending")},
}
# The clerk is given 1 for the user, 2 and 3 for payment methods, 4 and 5 for orders, 6 for the product, 7 and 8 for
# items.
WHO = Call("find_user_id_by_email", {"email": "Ada@example.com"})
LOOK = [Call("get_user_details", {"user_id": 1}), Call("get_product_details", {"product_id": 6})]
READ = [Call("get_order_details", {"order_id": number}) for number in (4, 5)]
EXCHANGE = {"order_id": 4, "item_ids": [7, 7], "new_item_ids": [8, 8]}
BEGIN: list[Line] = [Call(ENTRY, {"brief": "orders"})]


@pytest.fixture
def chat(chat: Chat) -> Chat:
    """A conversation at the shop's desk, whose model has looked at the user, both orders and the product."""
    fill(chat.path, SHOP)
    chat.speakers = desk(marked=True)
    chat.expects(supervisor=BEGIN, planner=[WHO, LOOK[0], READ, LOOK[1]])
    return chat


async def test_an_exchange_that_fails_leaves_nothing(chat: Chat) -> None:
    """What a tool has written when it refuses is undone; the model is told what it can do."""
    FILE.set(chat.path)
    before = digest(chat.path, {})
    chat.expects(planner=[Call("exchange_delivered_order_items", {**EXCHANGE, "payment_method_id": 3}), "No."])
    trace = await chat.says("I want both hats of my first order larger, paid by gift card")

    assert "! There is not enough on this gift card: ask the user for another payment method." in trace
    assert (digest(chat.path, {}), writes(chat.path)) == (before, [])


async def test_of_two_writes_that_exclude_each_other_one_is_done(chat: Chat) -> None:
    """A check that takes part in the write's transaction holds for calls that run side by side, too."""
    FILE.set(chat.path)
    both = [
        Call("exchange_delivered_order_items", {**EXCHANGE, "payment_method_id": 2}),
        Call("return_delivered_order_items", {"order_id": 4, "item_ids": [7], "payment_method_id": 2}),
    ]
    chat.expects(planner=[both, "One of them."])
    trace = await chat.says("Exchange the hats of my first order, and send one of them back")

    assert trace.count("it would have to be delivered. Nothing was changed.") == 1
    assert writes(chat.path) == ["#A"]


async def test_an_address_may_be_set_back(chat: Chat) -> None:
    """What a write set may be set back; the same call twice in a row is refused with a word to the model."""
    FILE.set(chat.path)
    sent = [Call("modify_pending_order_address", {"order_id": 5, **where}) for where in (AWAY, HOME, AWAY)]
    cancel = Call("cancel_pending_order", {"order_id": 5, "reason": "no longer needed"})
    chat.expects(planner=[*sent, [cancel, cancel], "Cancelled."])
    trace = await chat.says("Send the second one to Oak Lane, no, home, no, to Oak Lane; no, cancel it")

    assert writes(chat.path) == ["#B"] * 4
    assert trace.count('"status":"cancelled"') == 1
    assert phrase("tool_repeated", "en", tool="cancel_pending_order") in trace


async def test_no_answer_shows_an_identifier(chat: Chat) -> None:
    """In what comes back, nested and in lists, the model reads numbers only."""
    FILE.set(chat.path)
    chat.expects(planner=["Two orders."])
    trace = await chat.says("What did I order?")

    assert trace.count('"order_id":') == 2
    assert not [id for id in ("#A", "#B", '"701"', '"70"', '"card"', '"gift"', '"ada"') if id in trace]


async def test_a_replay_tells_what_differs(tmp_path: Path) -> None:
    """Of two recorded tasks one is as recorded; the other has an outcome, and a shop, that our tools do not give."""
    moved = {**SHOP["orders"]["#B"], "address": AWAY}
    fill(after := tmp_path / "after.db", {**SHOP, "orders": {**SHOP["orders"], "#B": moved}})
    read = {"name": "get_order_details", "arguments": {"order_id": "#A"}, "output": SHOP["orders"]["#A"]}
    write = {"name": "modify_pending_order_address", "arguments": {"order_id": "#B", **AWAY}, "output": moved}
    no_such = {"name": "find_user_id_by_email", "arguments": {"email": "x@example.com"}, "error": "none"}
    wrong = {**read, "output": SHOP["orders"]["#B"]}
    scenario = {"reason_for_call": "It is about #B.", "known_info": ""}
    tasks = [
        {"id": "1", "scenario": scenario, "actions": [read, no_such, write], "db_sha256": digest(after, {})},
        {"id": "2", "scenario": scenario, "actions": [wrong], "db_sha256": "another"},
    ]
    (tmp_path / "db.json").write_text(json.dumps(SHOP), "utf-8")
    (tmp_path / "replay_train.jsonl").write_text("\n".join(map(json.dumps, tasks)), "utf-8")

    figures = row("numbers", await replay(tmp_path))
    expected = {"calls": 4, "errors": 1, "outcomes equal": 3, "shops equal": 1, "writes": 1, "leaks": 0}
    assert figures.items() >= expected.items()
