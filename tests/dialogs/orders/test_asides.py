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
