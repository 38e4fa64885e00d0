"""Views, pages and forms in Telegram: what is sent for them, within the limits of its buttons."""

from typing import Any

import pytest

from agents.events import Interrupt
from agents.events.views import CardList, Entry, Link, Notice, Player, Table
from app.plugins.telegram.delivery.buttons import IN_A_PAGE, LONGEST_LABEL, MOST_LABELS, Tap, keyboard
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.delivery.screen import ChatScreen
from app.plugins.telegram.place import ANONYMOUS, TelegramPlace
from app.testing.script import Call, Script
from tests.plugins.telegram.people import ANN, Open, labels
from tests.support.shop_tools import BEGIN
from tests.support.telegram_limits import request_faults
from tests.support.telegram_server import BotApi, refusal

pytestmark = pytest.mark.needs("planner")


async def test_a_page_has_a_button_and_one_for_done(shop: Open, world: BotApi, script: Script) -> None:
    """A page opens by a button; "done" goes on. A page that Telegram does not link to can still be answered."""
    script.add(supervisor=BEGIN, planner=[[Call("sign_in"), Call("sign_in", {"purpose": "again"})], "Welcome."])
    async with shop():
        await world.asks(ANN, "Sign me in", sent=1)
        assert labels(world.sent[0]) == [["Open: shop.example"], ["Done", "✖ Cancel"]]
        assert world.sent[0]["reply_markup"]["inline_keyboard"][0][0]["url"] == "https://shop.example/sign-in"
        world.fail("sendMessage", refusal(400, "Bad Request: inline keyboard button URL is invalid"))
        await world.presses(world.sent[0], "Done", sent=2)
        assert labels(world.sent[1]) == [["Done", "✖ Cancel"]]
        assert "https://shop.example/sign-in" in world.sent[1]["text"]
        assert (await world.presses(world.sent[1], "Done", sent=3))[2] == "Welcome."


async def test_a_form_is_filled_in_words(shop: Open, world: BotApi, script: Script) -> None:
    """A form has no buttons: its fields are named, and a line for each fills them."""
    script.add(supervisor=BEGIN, planner=[Call("ask_address"), "Thanks."])
    async with shop():
        assert (await world.asks(ANN, "Fetch it", sent=1))[0].endswith("street:\nzip:")
        assert "reply_markup" not in world.sent[0]
        assert (await world.asks(ANN, "street: Elm Street 5\nzip: 8001", sent=2))[1] == "Thanks."


async def test_words_are_sent_below_the_cards(shop: Open, world: BotApi, script: Script) -> None:
    """A view is sent once and its words are not sent after it."""
    script.add(supervisor=BEGIN, planner=[Call("find_orders", {"name": "hat"}), "You have one."])
    async with shop() as telegram:
        await world.asks(ANN, "What did I order?", sent=2, door=telegram)
    assert world.texts(ANN) == ["Orders\n1. Red hat — 15 EUR", "You have one."]


async def test_every_view_is_shown(shop: Open, world: BotApi) -> None:
    """A small table is in letters of one width, a wide one in numbered lines; links have buttons, notices a sign."""
    small = Table(title="Stations", columns=["Name", "Land"], rows=[["Джаз 😀", "RU"], ["Paradise", "US"]])
    wide = Table(columns=["Name"], rows=[["x" * 50]])
    cards = CardList(entries=[Entry("Hat", url="https://shop.example/hat")])
    views = [
        small,
        wide,
        cards,
        Link(title="Sign in", url="https://shop.example/"),
        Notice(message="No.", level="error"),
    ]
    async with shop() as telegram:
        receipts = Receipts(telegram.assistant.memory.store, f"telegram-{ANN}", "turn-1")

        async def lang() -> str:
            return "en"

        showing = ChatScreen(telegram.sender, receipts, TelegramPlace(ANN), TelegramPlace(ANN).turn("show"), lang)
        for view in [*views, Player(title="Song", state="playing", position=5)]:
            await showing.show(view)
    assert world.texts(ANN) == [
        "Stations\n#  Name      Land\n1  Джаз 😀   RU\n2  Paradise  US",
        f"1. Name: {'x' * 50}",
        "1. Hat — https://shop.example/hat",
        "Sign in: https://shop.example/",
        "❗ No.",
        "▶ Song 0:05",
    ]
    assert world.sent[0]["entities"] == [{"type": "pre", "offset": 9, "length": 49}]
    assert labels(world.sent[3]) == [["Open: shop.example"]]


@pytest.mark.parametrize(("number", "length"), [(3, 4), (3, 400), (11, 4), (100, 400)])
def test_buttons_are_within_telegrams_limits(number: int, length: int) -> None:
    """Every option is on one page; labels are cut, and no data is too long, whoever is asked."""
    options = [{"id": str(n), "label": "ф" * length} for n in range(number)]
    question = Interrupt(id="0123456789ab", kind="selector", prompt="?", options=options)
    seen: list[str] = []
    for page in range(-(-number // IN_A_PAGE) if number > MOST_LABELS else 1):
        found = keyboard(question, f"{ANONYMOUS}-100{2**40}", "en", page)
        assert found is not None
        sent: dict[str, Any] = {"chat_id": 1, "text": "?", "reply_markup": found.to_dict()}
        assert request_faults("sendMessage", sent) == []
        *rows, last = [[button["text"] for button in row] for row in sent["reply_markup"]["inline_keyboard"]]
        assert last == ["✍️ Something else", "✖ Cancel"]
        assert max(len(text) for row in rows for text in row) <= LONGEST_LABEL
        seen += [row[0] for row in rows if row[0].endswith(("ф", "…"))]
    assert [text.partition(".")[0] for text in seen] == [str(n + 1) for n in range(number)]


@pytest.mark.parametrize(
    "data", ["", "-", "/forget yes", "=", "=a:b:c", "=a:1", "=a:²:c", "=a:1:b:c", "=a:p:c", "=a:1234:c"]
)
def test_other_data_is_no_tap(data: str) -> None:
    """A strange client's data does not count as an answer."""
    assert Tap.read(data) is None
