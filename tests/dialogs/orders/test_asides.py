"""An aside while a tool of the shop asks: with `local:rules` the question is put again, and "yes" answers it."""

import pytest

from app.testing import Chat
from tests.dialogs.orders.files import writes

ASKED = "confirm: Return from order D1001: Hiking Boots, brown, 40; €129.00 goes back to gift card (€25.00)? [yes | no]"


async def test_a_question_outlives_an_aside(shop: Chat) -> None:
    """The return is asked about once more, and done once."""
    at = {"thread": "me", "device": "terminal"}
    assert (await shop.says("I want to return the boots", "2", **at)).endswith(ASKED)
    trace = await shop.says("how much do i get back?", **at)
    assert trace.endswith(ASKED)
    assert "No help was found" in trace
    assert writes(shop.path) == []
    assert "return requested" in await shop.says("yes", **at)
    assert writes(shop.path) == ["D1001"]
    assert "There is nothing waiting for a yes" in await shop.says("yes", **at)
    assert writes(shop.path) == ["D1001"]


@pytest.mark.parametrize("aside", ["yes", "how are you?", "what's the weather"])
async def test_a_yes_to_a_choice_is_asked_again(shop: Chat, aside: str) -> None:
    """A yes to a list, or an aside, brings the list again; then a number answers it."""
    at = {"thread": "me", "device": "terminal"}
    await shop.says("return the headphones", **at)
    trace = await shop.says(aside, **at)
    assert "There is nothing waiting" not in trace
    assert trace.endswith("selector: Which payment method? [card visa 4242 | gift card (€25.00)]")
    assert "confirm: Return from order D1002" in await shop.says("2", **at)


@pytest.mark.parametrize("aside", ["yes", "why do you ask?"])
async def test_the_dialogs_own_question_outlives_an_aside(shop: Chat, aside: str) -> None:
    """The dialog repeats its own question after an aside, and the next message answers it."""
    at = {"thread": "me", "device": "terminal"}
    await shop.says("cancel the chess set order", **at)
    assert (await shop.says(aside, **at)).endswith("Why: is it no longer needed, or was it ordered by mistake?")
    assert "confirm: Cancel order D1003" in await shop.says("no longer needed", **at)


@pytest.mark.needs("planner")
@pytest.mark.parametrize(
    ("lang", "texts", "answer", "asked"),
    [
        ("en", ("cancel order D1003", "add tea to my list", "never mind", "yes"), "no longer needed", "Cancel order"),
        ("zh", ("取消订单D1003", "把茶加到我的清单", "回到订单"), "不需要了", "取消订单"),
    ],
)
async def test_a_question_that_was_left_is_put_again(
    shop: Chat, lang: str, texts: tuple[str, ...], answer: str, asked: str
) -> None:
    """The user is back, by a name or a yes, and the answer completes the wish."""
    at = {"thread": "me", "device": "terminal", "lang": lang}
    assert (await shop.says(*texts, **at)).endswith(("?", "？"))
    assert f"confirm: {asked} D1003" in await shop.says(answer, **at)


async def test_a_no_behind_an_aside_declines(shop: Chat) -> None:
    """The help for the aside is not repeated."""
    at = {"thread": "me", "device": "terminal"}
    await shop.says("I want to return the boots", "2", "how much do i get back?", **at)
    trace = await shop.says("no", **at)
    assert "never mind" in trace
    assert "No help was found" not in trace
    assert writes(shop.path) == []


async def test_a_dialog_lets_go_of_what_it_does_not_understand(shop: Chat) -> None:
    """A second message in a row that says nothing to the shop goes back to the supervisor, and no other dialog acts."""
    at = {"thread": "me", "device": "terminal"}
    await shop.says("change my address", "blub di bla, blub di blub", **at)
    assert (await shop.state("me"))["dialog"] == "orders"
    await shop.says("and so it goes with the wind", **at)
    assert (await shop.state("me"))["dialog"] is None
    assert writes(shop.path) == []


@pytest.mark.parametrize(
    ("lang", "watch", "stop", "told"),
    [
        ("en", "watch the price of the lamp", "stop it", "Desk Lamp is not watched any more."),
        ("ru", "следи за ценой лампы", "останови это", "больше не слежу за ценой."),
        ("zh", "关注台灯的价格", "不用关注了", "不再关注台灯。"),
    ],
)
async def test_what_was_just_begun_is_stopped(shop: Chat, lang: str, watch: str, stop: str, told: str) -> None:
    """The words name no product, and the dialog is not left; behind a correction the first product is let go."""
    at = {"thread": "me", "device": "terminal", "lang": lang}
    await shop.says(watch, **at)
    assert (await shop.says(stop, **at)).endswith(told)
    if lang == "en":
        trace = await shop.says(watch, "no, the kettle", "yes", "yes", **at)
        assert "I watch it: Electric Kettle" in trace
        assert trace.endswith(told)
        assert "I watch it: Headphones" in await shop.says(watch, "also the headphones", "yes", **at)


@pytest.mark.parametrize(
    ("lang", "text", "told"),
    [
        ("en", "cancel all my orders", "One at a time: the others stay as they are."),
        ("ru", "отмени все мои заказы", "По одному: остальные пока остаются как есть."),
        ("zh", "取消我所有的订单", "一次只处理一个：其余的保持不变。"),
    ],
)
async def test_all_of_what_is_done_one_by_one(shop: Chat, lang: str, text: str, told: str) -> None:
    """The first is begun, and the user reads that the others are left."""
    assert told in await shop.says(text, thread="me", device="terminal", lang=lang)


@pytest.mark.needs("research")
@pytest.mark.parametrize(
    ("lang", "look", "text", "found"),
    [
        ("en", "search the documents for the hut", "how much is the kettle", "Electric Kettle"),
        ("ru", "найди в документах хижину", "сколько стоит чайник", "Электрический чайник"),
    ],
)
async def test_what_no_document_tells_the_shop_is_asked(
    shop: Chat, lang: str, look: str, text: str, found: str
) -> None:
    """A question is for the dialog that searches as long as its own search finds something."""
    trace = await shop.says(look, text, thread="me", device="terminal", lang=lang)
    assert trace.endswith(f"view: cards {found}")
