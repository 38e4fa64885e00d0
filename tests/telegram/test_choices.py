"""Questions and views in Telegram: buttons that answer once, for the right one, also after a restart."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from langchain_core.tools import tool

from agents.events import Interrupt
from agents.models.script import Call, Line, Script
from agents.speaker import Speakers
from agents.tools.outcome import Answer, Option, choice
from agents.tools.traits import traits
from agents.views import CardList, Entry, Link, Notice, Player, Table
from app import telegram
from app.telegram_choices import IN_A_ROW, MOST_BUTTONS, Tap, keyboard
from app.telegram_receipts import Receipts
from app.telegram_showing import Showing
from tests.bot_api import BotApi, refusal
from tests.bot_api_rules import request_faults
from tests.shop import with_shop
from tests.staging import script_lines
from tests.telegram.people import ANN, BOB, GROUP, Open

BEGIN: list[Line] = [Call("plan_things", {"brief": "send something back"})]
QUESTION = "Which order?\n1. Blue shoes — 60 EUR\n2. Red hat — 15 EUR\n3. Green coat — 140 EUR"
TOO_LATE = "That question is no longer open."


@pytest.fixture
def shop(door: Open) -> Open:
    """Open the door of an assistant with a shop."""
    return partial(door, change=with_shop)


def labels(message: dict[str, Any]) -> list[list[str]]:
    """Return what stands on a message's buttons, row by row."""
    return [[one["text"] for one in row] for row in message["reply_markup"]["inline_keyboard"]]


def toasts(world: BotApi) -> list[str]:
    """Return what was answered to taps in words."""
    return [call["text"] for method, call in world.calls if method == "answerCallbackQuery" and "text" in call]


async def test_a_tap_chooses(shop: Open, world: BotApi, script: Script) -> None:
    """Each option has a button; a tap is acknowledged, takes the buttons away and stands in the transcript in words."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    async with shop() as one:
        world.says(ANN, "I want to return something")
        assert await world.until_sent(ANN, 1) == [QUESTION]
        assert labels(world.sent[0]) == [["1. Blue shoes"], ["2. Red hat"], ["3. Green coat"]]
        world.taps(world.sent[0], "2. Red hat")
        assert await world.until_sent(ANN, 2) == [QUESTION, "Sent back."]
        await world.until(lambda: "editMessageReplyMarkup" in world.methods())
        await world.until(lambda: not one.chats.is_busy(ANN))
        assert (await script_lines(one.assistant, f"telegram-{ANN}"))[2:] == ["user: Red hat", "planner: Sent back."]
    assert "answerCallbackQuery" in world.methods()


async def test_a_tap_chooses_one_of_equals(door: Open, world: BotApi, script: Script) -> None:
    """Two options may have the same label; each has its button."""

    @traits(kind="selector")
    @tool(response_format="content_and_artifact")
    async def pick() -> Answer:
        """Let the user pick a hat."""
        return choice("Which hat?", [Option("Red hat", "the old one"), Option("Red hat", "the new one")])

    def change(speakers: Speakers) -> Speakers:
        planner = replace(speakers.dialogs["planner"], tools=[pick])
        return replace(speakers, dialogs={**speakers.dialogs, "planner": planner})

    script.add(supervisor=BEGIN, planner=[Call("pick"), "That one."])
    async with door(change=change):
        world.says(ANN, "I want a hat")
        await world.until_sent(ANN, 1)
        world.taps(world.sent[0], "2. Red hat")
        assert (await world.until_sent(ANN, 2))[1:] == ["That one."]
    assert script.asked[-1].messages[-2].text == "the new one"


async def test_two_taps_answer_once(shop: Open, world: BotApi, script: Script) -> None:
    """The first of two quick taps counts, also when they are on different buttons."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    async with shop() as one:
        world.says(ANN, "I want to return something")
        await world.until_sent(ANN, 1)
        for label in ("2. Red hat", "2. Red hat", "1. Blue shoes"):
            world.taps(world.sent[0], label)
        await world.until_sent(ANN, 2)
        await world.until(lambda: world.methods().count("answerCallbackQuery") == 3)
        await world.until(lambda: not one.chats.is_busy(ANN))
        assert [line for line in await script_lines(one.assistant, f"telegram-{ANN}") if "user: " in line] == [
            "user: I want to return something",
            "user: Red hat",
        ]
    assert world.texts(ANN) == [QUESTION, "Sent back."]


async def test_a_tap_after_a_restart_chooses(shop: Open, world: BotApi, script: Script) -> None:
    """Between the question and the tap the process may end; nothing is sent or run twice."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    async with shop():
        world.says(ANN, "I want to return something")
        await world.until_sent(ANN, 1)
    async with shop():
        world.taps(world.sent[0], "3. Green coat")
        assert await world.until_sent(ANN, 2) == [QUESTION, "Sent back."]
    assert [asked.role for asked in script.asked] == ["supervisor", "planner", "planner"]


async def test_a_question_that_was_not_stored_is_sent_once(
    shop: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends between sending a question and storing its turn leaves no second copy of it."""
    monkeypatch.setattr(telegram, "PATIENCE", 0.05)
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    async with shop() as one:
        monkeypatch.setattr(one.assistant.memory.transcript, "close", never)
        world.says(ANN, "I want to return something")
        await world.until_sent(ANN, 1)
    async with shop():
        world.taps(world.sent[0], "1. Blue shoes")
        assert await world.until_sent(ANN, 2) == [QUESTION, "Sent back."]


async def test_a_stale_tap_gets_a_remark(shop: Open, world: BotApi, script: Script) -> None:
    """A button of a question that was answered in words, or left, changes nothing, and goes."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back.", Call("choose_order"), "Sent, too."])
    script.add(observer=["stay"])
    async with shop() as one:
        world.says(ANN, "I want to return something")
        await world.until_sent(ANN, 1)
        world.says(ANN, "the second one")
        await world.until_sent(ANN, 2)
        world.says(ANN, "and now one more of all those orders")
        await world.until_sent(ANN, 3)
        world.taps(world.sent[0], "1. Blue shoes")
        await world.until(lambda: toasts(world) == [TOO_LATE])
        await world.until(lambda: "editMessageReplyMarkup" in world.methods())
        assert (await one.assistant.state(f"telegram-{ANN}"))["pending"]
        world.taps(world.sent[2], "1. Blue shoes")
        assert (await world.until_sent(ANN, 4))[3] == "Sent, too."


async def test_a_tap_that_crosses_an_answer_counts_for_nothing(shop: Open, world: BotApi, script: Script) -> None:
    """What was typed first answers; the tap that came meanwhile does not answer the question that followed."""
    script.add(supervisor=BEGIN, planner=[[Call("choose_order"), Call("choose_order")], "Both sent back."])
    script.delays["planner"] = 0.05
    async with shop() as one:
        world.says(ANN, "I want to return something")
        await world.until_sent(ANN, 1)
        world.says(ANN, "2")
        world.taps(world.sent[0], "1. Blue shoes")
        await world.until_sent(ANN, 2)
        await world.until(lambda: not one.chats.is_busy(ANN))
        assert len((await one.assistant.state(f"telegram-{ANN}"))["pending"]) == 1
        world.taps(world.sent[1], "3. Green coat")
        await world.until(lambda: "Both sent back." in world.texts(ANN))


async def test_a_stranger_cannot_tap(shop: Open, world: BotApi, script: Script) -> None:
    """Who is not on the list, or was not asked in a group, changes nothing by a tap."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    async with shop(allowed=[ANN, BOB]) as one:
        world.says(GROUP, "@sue_bot I want to return something", user=ANN)
        await world.until_sent(GROUP, 1)
        world.taps(world.sent[0], "1. Blue shoes", user=BOB)
        await world.until(lambda: toasts(world) == ["This question was put to somebody else."])
        world.taps(world.sent[0], "1. Blue shoes", user=33)
        await world.until(lambda: len(world.texts(GROUP)) == 2)
        assert "33" in world.texts(GROUP)[1]
        assert (await one.assistant.state(f"telegram-{GROUP}"))["pending"]
        assert "editMessageReplyMarkup" not in world.methods()
        world.taps(world.sent[0], "2. Red hat", user=ANN)
        await world.until(lambda: "Sent back." in world.texts(GROUP))


async def test_a_page_has_a_button_and_one_for_done(shop: Open, world: BotApi, script: Script) -> None:
    """A page opens by a button; "done" goes on. What Telegram will not link to still can be answered."""
    script.add(supervisor=BEGIN, planner=[[Call("sign_in"), Call("sign_in")], "Welcome."])
    async with shop():
        world.says(ANN, "Sign me in")
        await world.until_sent(ANN, 1)
        assert labels(world.sent[0]) == [["Open"], ["Done"]]
        assert world.sent[0]["reply_markup"]["inline_keyboard"][0][0]["url"] == "https://shop.example/sign-in"
        world.fail("sendMessage", refusal(400, "Bad Request: inline keyboard button URL is invalid"))
        world.taps(world.sent[0], "Done")
        await world.until_sent(ANN, 2)
        assert labels(world.sent[1]) == [["Done"]]
        assert "https://shop.example/sign-in" in world.sent[1]["text"]
        world.taps(world.sent[1], "Done")
        assert (await world.until_sent(ANN, 3))[2] == "Welcome."


async def test_a_form_is_filled_in_words(shop: Open, world: BotApi, script: Script) -> None:
    """A form has no buttons: its fields are named, and a line for each fills them."""
    script.add(supervisor=BEGIN, planner=[Call("ask_address"), "Thanks."])
    async with shop():
        world.says(ANN, "Fetch it")
        assert (await world.until_sent(ANN, 1))[0].endswith("street:\nzip:")
        assert "reply_markup" not in world.sent[0]
        world.says(ANN, "street: Elm Street 5\nzip: 8001")
        assert (await world.until_sent(ANN, 2))[1] == "Thanks."


async def test_cards_stand_for_the_answer(shop: Open, world: BotApi, script: Script) -> None:
    """A view is sent once and its words are not sent after it."""
    script.add(supervisor=BEGIN, planner=[Call("find_orders", {"name": "hat"}), "You have one."])
    async with shop() as one:
        world.says(ANN, "What did I order?")
        await world.until_sent(ANN, 1)
        await world.until(lambda: not one.chats.is_busy(ANN))
    assert world.texts(ANN) == ["Orders\n1. Red hat — 15 EUR"]


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
    async with shop() as one:
        receipts = Receipts(one.assistant.memory.store, f"telegram-{ANN}")

        async def lang() -> str:
            return "en"

        showing = Showing(one.sender, receipts, ANN, "ann", lang)
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
    assert labels(world.sent[3]) == [["Open"]]


@pytest.mark.parametrize(("number", "length"), [(3, 4), (3, 400), (11, 4), (500, 4)])
def test_buttons_are_within_telegrams_limits(number: int, length: int) -> None:
    """Few short options have buttons of their own, others numbers; never too many, and no data too long."""
    options = [{"id": str(n), "label": "ф" * length} for n in range(number)]
    question = Interrupt(id="call_" + "x" * 500, kind="selector", prompt="?", options=options)
    found = keyboard(question, f"telegram-{2**52}", "en")
    assert found is not None

    sent: dict[str, Any] = {"chat_id": 1, "text": "?", "reply_markup": found.to_dict()}
    rows = [[one["text"] for one in row] for row in sent["reply_markup"]["inline_keyboard"]]
    assert request_faults("sendMessage", sent) == []
    assert sum(map(len, rows)) == min(number, MOST_BUTTONS)
    assert max(map(len, rows)) <= IN_A_ROW
    assert (rows[0][0] == "1") is (number > 10 or length > 40)


@pytest.mark.parametrize("data", ["", "-", "/forget yes", "=", "=a:b:c", "=a:1", "=a:²:c", "=a:1:b:c"])
def test_other_data_is_no_tap(data: str) -> None:
    """What a strange client sends back is not taken for an answer."""
    assert Tap.read(data) is None
