"""The shop's dialog on its own catalogue: choices, consent, what is refused, price watches, whose orders these are."""

import asyncio
from typing import Any

import pytest

from agents.events import ToolEnd
from agents.memory.sqlite_file import SqliteBackend
from app.assistant.clocks import Ring
from app.composition import plugins_found, tables_of
from app.testing import Chat
from app.testing.script import Call, Line
from dialogs.orders.store import SERVE, Shop
from dialogs.orders.tools.price_watches import tell_watchers
from dialogs.orders.wording import is_called
from tests.dialogs.orders.files import digest, fill_with_catalogue, writes

BEGIN: list[Line] = [Call("handle_orders", {"brief": "orders"})]
BOOTS, BLACK_BOOTS, BOTTLE = "4100000012", "4100000013", "4100000031"
HOME = {"address1": "4 Elm Road", "address2": "", "city": "Oslo", "state": "", "country": "Norway", "zip": "0150"}
AWAY = {**HOME, "address1": "9 Oak Lane"}


class Ann:
    """The customer of a fresh terminal, before the shop of the catalogue."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        fill_with_catalogue(chat.path)
        chat.expects(supervisor=BEGIN)

    async def says(self, *texts: str, **more: Any) -> str:
        """Say something at the terminal; return the trace."""
        return await self.chat.says(*texts, **{"thread": "me", "device": "terminal", **more})

    @property
    def changed(self) -> list[str]:
        """The orders and customers that were changed."""
        return writes(self.chat.path)

    @property
    def digest(self) -> str:
        """A digest of the shop's data."""
        return digest(self.chat.path, {})


@pytest.fixture
def ann(chat: Chat) -> Ann:
    """Ann at her terminal."""
    return Ann(chat)


async def test_a_return_with_both_selectors(chat: Chat, ann: Ann) -> None:
    """The order and the item are chosen, the return is asked with its real item and money, and is done once."""
    chat.expects(
        orders=[
            Call("choose_order", {"status": "delivered"}),
            Call("choose_item", {"order_id": "D1001"}),
            Call("choose_payment_method", {"order_id": "D1001", "purpose": "return"}),
            Call("return_delivered_order_items", {"order_id": "D1001", "item_ids": [1], "payment_method_id": 3}),
            "It is on its way.",
        ]
    )
    trace = await ann.says("Something I bought is no good", "the first one", "the bottle", "gift card")
    assert "selector: Which order? [Order D1001, delivered, €143.50 | Order D1002, delivered, €149.00]" in trace
    assert "selector: Which item? [Hiking Boots, brown, 40 | Water Bottle, 0.5 l, blue]" in trace
    asked = "Return from order D1001: Water Bottle, 0.5 l, blue; €14.50 goes back to gift card (€25.00)?"
    assert trace.endswith(f"confirm: {asked} [yes | no]")
    assert ann.changed == []

    assert (await ann.says("yes")).endswith(
        "view: cards Order D1001, return requested, €143.50\norders: It is on its way."
    )
    assert ann.changed == ["D1001"]


async def test_a_name_that_fits_nothing_is_answered_with_what_there_is(chat: Chat, ann: Ann) -> None:
    """The model gets the names to choose from, of payments as of items and orders."""
    chat.expects(
        orders=[
            Call("choose_payment_method", {"order_id": "D1001", "words": "the card I paid with"}),
            Call("choose_item", {"order_id": "D1001", "words": "kettle"}),
            "Which of them?",
        ]
    )
    await ann.says("Something in D1001 is no good")
    payment, item = [event.object for event in chat.events if isinstance(event, ToolEnd)][-2:]
    assert payment.startswith("Nothing here is called “the card I paid with”. There is: ")
    assert "gift card" in payment
    assert "Water Bottle, 0.5 l, blue" in item


@pytest.mark.parametrize(
    ("words", "label", "lang"), [("靴子", "登山靴, 棕色", "zh"), ("the boots", "Hiking Boots, brown", "en")]
)
def test_a_thing_is_called_by_a_part_of_its_name(words: str, label: str, lang: str) -> None:
    """The ending of a noun tells nothing apart."""
    assert is_called(words, (label,), lang)


async def test_a_no_leaves_the_order(chat: Chat, ann: Ann) -> None:
    """Without a yes nothing is cancelled."""
    before = ann.digest
    cancel = Call("cancel_pending_order", {"order_id": "D1003", "reason": "ordered by mistake"})
    chat.expects(orders=[cancel, "Then I leave it."])
    trace = await ann.says("D1003 was a mistake of mine", "no")
    assert "Cancel order D1003 (Rain Jacket, blue, M; Chess Set, wood; ordered by mistake)" in trace
    assert (ann.digest, ann.changed) == (before, [])


async def test_an_exchange_that_fails_leaves_nothing(chat: Chat, ann: Ann) -> None:
    """A gift card with too little money is refused after the order was changed, and nothing of it is left."""
    async with SqliteBackend(f"sqlite:///{chat.path}").open() as memory:
        await Shop(memory.database, memory.ledger).set_price(BLACK_BOOTS, 160.0)
    before = ann.digest
    swap = {
        "order_id": "D1001",
        "item_ids": [BOOTS],
        "new_item_ids": [BLACK_BOOTS],
        "payment_method_id": "gift_card_5102",
    }
    chat.expects(orders=[Call("exchange_delivered_order_items", swap), "There is too little on it."])
    trace = await ann.says(f"Exchange {BOOTS} of D1001 for {BLACK_BOOTS}, paid by gift_card_5102")
    assert "! There is not enough on this gift card (25.00 of 31.00)." in trace
    assert (ann.digest, ann.changed) == (before, ["3100000001"])


async def test_of_two_writes_that_exclude_each_other_one_is_done(chat: Chat, ann: Ann) -> None:
    """Both ask before either is done; the second one finds the change of the first one."""
    text = f"D1001, {BOOTS}, {BLACK_BOOTS} and credit_card_5101: exchange and return"
    same = {"order_id": "D1001", "item_ids": [BOOTS], "payment_method_id": "credit_card_5101"}
    both = [
        Call("exchange_delivered_order_items", {**same, "new_item_ids": [BLACK_BOOTS]}),
        Call("return_delivered_order_items", same),
    ]
    chat.expects(orders=[both, "One of them."])
    trace = await ann.says(text, "yes", "yes")
    assert trace.count("it must be delivered. Nothing was changed.") == 1
    assert ann.changed == ["D1001"]


async def test_an_address_may_be_set_back(chat: Chat, ann: Ann) -> None:
    """The user may set a changed value back; each change asks."""
    sent = [Call("modify_pending_order_address", {"order_id": "D1003", **where}) for where in (AWAY, HOME, AWAY)]
    chat.expects(orders=[*sent, "Sent to Oak Lane."])
    trace = await ann.says("Send D1003 to Oak Lane, no, home, no, to Oak Lane", "yes", "yes", "yes")
    assert trace.count("confirm: Send order D1003 to: ") == 3
    assert ann.changed == ["D1003"] * 3


async def test_a_correction_changes_what_was_just_made(chat: Chat, ann: Ann) -> None:
    """Of an address that was just set only the corrected part is another; nothing is asked for again."""
    first, second = {**AWAY, "zip": "0510"}, {**AWAY, "zip": "0150"}
    chat.expects(orders=[Call("modify_user_address", first), "Set."], observer=["stay"])
    await ann.says("I have moved to 9 Oak Lane, 0510 Oslo", "yes")
    chat.expects(orders=[Call("modify_user_address", second), "Corrected."])
    trace = await ann.says("the zip is 0150, I meant", "yes")
    assert "Set the address of Ann Berg to: 9 Oak Lane, 0150, Oslo, Norway" in trace
    assert ann.changed == ["ann_berg_1001"] * 2


async def test_a_form_begins_with_what_was_said(chat: Chat, ann: Ann) -> None:
    """The part of the address that the call gives is kept, and the user fills in the rest."""
    said, rest = {"address1": "9 Oak Lane"}, "city: Oslo\ncountry: Norway\nzip: 0510"
    chat.expects(orders=[Call("ask_address", said), Call("modify_user_address", AWAY), "Set."])
    trace = await ann.says("change my address to 9 Oak Lane", rest, "skip", "yes")
    assert "Which address? Kept: street and number – 9 Oak Lane. What is still missing: [address2 | city" in trace
    assert '"address1":"9 Oak Lane","address2":"","city":"Oslo"' in trace


async def test_a_price_watch_through_a_breaker_later_fires(chat: Chat, ann: Ann) -> None:
    """The missing product is filled in; when its price drops the user is told once, as of a reminder."""
    chat.expects(orders=[Call("ask_product"), Call("watch_price", {"product": "headphones"}), "I watch it."])
    trace = await ann.says("Could you keep an eye on a price?", "headphones")
    assert "breaker: Which product shall I watch?" in trace
    assert "I watch it: Headphones, under €79.00. It costs €79.00 now" in trace

    rings: asyncio.Queue[Ring] = asyncio.Queue()
    async with chat.assistant() as assistant:
        memory = assistant.memory
        shop = Shop(memory.database, memory.ledger)
        for price, count in ((79.0, 0), (65.5, 1), (60.0, 0)):
            await shop.set_price("4100000063", price)
            assert await tell_watchers(shop, memory) == count
        async with assistant.ringing(rings.put, user="me"):
            ring = await rings.get()
    assert (ring.user, ring.thread, ring.text) == ("me", "me", "⏰ Headphones costs €65.50 now")


async def test_a_stranger_sees_products_alone(chat: Chat, ann: Ann) -> None:
    """A stranger, or a user of another door, has no orders; the catalogue is for everybody."""
    looks = [Call("list_orders"), Call("get_order_details", {"order_id": "D1001"}), Call("list_all_product_types")]
    chat.expects(orders=[*looks, "Only products."])
    trace = await ann.says("What about D1001 and the rest?", device="telegram")
    assert "! This user is not a customer of the shop here." in trace
    assert "! There is no such order here;" in trace
    assert trace.endswith("view: cards Products\norders: Only products.")


async def test_everybody_at_a_terminal_is_the_shops_customer(chat: Chat, ann: Ann) -> None:
    """Another user of the terminal has the orders, too, unless they are matched with a customer of their own."""
    look: list[Line] = [Call("get_order_details", {"order_id": "D1001"}), "That is all."]
    chat.expects(orders=look)
    assert "view: cards Order D1001" in await ann.says("What about D1001 and the rest?", thread="other")

    async with SqliteBackend(f"sqlite:///{chat.path}").open(tables=tables_of(plugins_found())) as memory:
        await Shop(memory.database, memory.ledger).match("boris", "boris_orlov_1002")
    chat.expects(supervisor=BEGIN, orders=look)
    trace = await ann.says("What about D1001 and the rest?", thread="boris")
    assert "! There is no such order here;" in trace


async def test_an_operator_acts_for_every_customer(chat: Chat, ann: Ann) -> None:
    """With the permission a customer is found by their email, and their order is cancelled."""
    chat.permissions = {"me": frozenset({SERVE})}
    lookup = Call("find_user_id_by_email", {"email": "boris.orlov@example.com"})
    cancel = Call("cancel_pending_order", {"order_id": "D1006", "reason": "no longer needed"})
    chat.expects(orders=[lookup, cancel, "Done."])
    await ann.says("Boris, boris.orlov@example.com, does not need D1006 any more", "yes")
    assert ann.changed == ["D1006"]


async def test_a_person_gets_what_no_tool_can_do(chat: Chat, ann: Ann) -> None:
    """A note with the thread is left for the operator."""
    chat.expects(
        orders=[Call("transfer_to_human_agents", {"summary": "A parcel is lost."}), "A person will see to it."]
    )
    await ann.says("My parcel with D1004 is lost, and I want to speak to a human")
    assert await chat.notes() == [("me", "A parcel is lost.")]


async def test_no_answer_shows_an_identifier_that_nobody_reads(chat: Chat, ann: Ann) -> None:
    """In what comes back, nested and in lists, the model reads numbers, but the order's number as the user sees it."""
    chat.expects(orders=[Call("list_orders"), Call("get_order_details", {"order_id": "D1001"}), "Two things."])
    trace = await ann.says("What was it that I got from you first?")
    objects = "".join(line.partition(" = ")[2] for line in trace.splitlines() if "orders." in line)
    assert "D1001" in objects
    assert not [id for id in (BOOTS, BOTTLE, "credit_card_5101", "ann_berg") if id in objects]
