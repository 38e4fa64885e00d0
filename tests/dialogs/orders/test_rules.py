"""The stand-in in the shop: it finds the order and the payment method, and offers a choice where others read along."""

from typing import Any

import pytest

from app.testing import Chat
from tests.dialogs.orders.files import writes

AT: dict[str, Any] = {"thread": "me", "device": "terminal"}
BOTH = "selector: Which order? [Order D1001, delivered, €143.50 | Order D1002, delivered, €149.00]"


@pytest.mark.parametrize("text", ["return an order", "I want to return an item"])
async def test_no_order_named_asks_which(shop: Chat, text: str) -> None:
    """Words for whatever was ordered name none of it; a word of a title does."""
    assert (await shop.says(text, **AT)).endswith(BOTH)
    assert "selector: Which payment method?" in await shop.says("the headphones", **AT)


@pytest.mark.parametrize(
    ("text", "lang", "method"),
    [
        ("return the headphones to my gift card", "en", "goes back to gift card (€25.00)?"),
        ("把耳机退到礼品卡", "zh", "退回到礼品卡 (€25.00)"),
        ("return the headphones to my card", "en", "goes back to card visa 4242?"),
        ("верни наушники на visa", "ru", "карта visa 4242?"),
    ],
)
async def test_a_payment_method_is_told_in_the_wish(shop: Chat, text: str, lang: str, method: str) -> None:
    """A method that the wish names is not asked for, and is asked about with the rest."""
    asked = (await shop.says(text, lang=lang, **AT)).splitlines()[-1]
    assert asked.startswith("confirm: ")
    assert method in asked


@pytest.mark.parametrize(
    ("lang", "wish", "method"), [("en", "return the headphones", "by card"), ("ru", "хочу вернуть наушники", "картой")]
)
async def test_a_card_is_no_gift_card(shop: Chat, lang: str, wish: str, method: str) -> None:
    """Of two methods with the same word it is the one whose name begins with it."""
    await shop.says(wish, lang=lang, **AT)
    assert " visa 4242? [" in await shop.says(method, **AT)


async def test_an_undo_names_the_payment_method(shop: Chat) -> None:
    """The answer names an irreversible change in words, without identifiers of the shop."""
    await shop.says("return the headphones to my gift card", "yes", **AT)
    trace = await shop.says("undo", **AT)
    assert "payment method: “gift card (€25.00)”): this cannot be taken back" in trace
    assert writes(shop.path) == ["D1002"]


async def test_a_choice_in_a_group_is_answered_by_its_identifier(shop: Chat) -> None:
    """The orders are shown to their owner alone, who goes on with an identifier; nobody else has any."""
    group: dict[str, Any] = {"thread": "family", "is_group": True}
    await shop.says("hello", user="bob", device="telegram", **group)
    ann: dict[str, Any] = {"user": "ann", "device": "terminal", **group}
    trace = await shop.says("return an order", "D1001", "4100000031", "gift_card_5102", **ann)
    shown = [line for line in trace.splitlines() if "D1002" in line]
    assert "privately to ann: Which order?" in trace
    assert shown == ["D1002. Order D1002, delivered, €149.00"]
    assert "confirm: Return items of an order (order: “D1001”;" in trace
    await shop.says("yes", **ann)
    assert writes(shop.path) == ["D1001"]

    trace = await shop.says("return an order", user="bob", device="telegram", **group)
    assert "This user is not a customer of the shop here." in trace


async def test_the_only_option_is_shown_as_one_where_others_read_along(shop: Chat) -> None:
    """Its owner reads a choice of one in words, with the identifier that goes on, and no object for a model."""
    group: dict[str, Any] = {"thread": "family", "is_group": True}
    await shop.says("hello", user="bob", device="telegram", **group)
    trace = await shop.says("return the headphones", "D1002", user="ann", device="terminal", **group)
    assert "privately to ann: Which order?\nD1002. Order D1002, delivered, €149.00\n" in trace
    assert "privately to ann: Which item?\n" in trace
    assert "{" not in trace


@pytest.mark.parametrize(
    ("text", "lang", "asked"),
    [
        ("exchange the headphones for white ones", "en", "selector: What would you like instead? ["),
        ("обменяй наушники на белые", "ru", "selector: Что вы хотите вместо этого? ["),
        ("change the address of my order D1003", "en", "breaker: Which address? ["),
    ],
)
async def test_a_wish_about_an_order_reaches_the_shop(shop: Chat, text: str, lang: str, asked: str) -> None:
    """A wish with the new item of an exchange brings a choice; the number of an order names no entry of a list."""
    assert (await shop.says(text, lang=lang, **AT)).splitlines()[-1].startswith(asked)
