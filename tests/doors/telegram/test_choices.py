"""Questions in Telegram: buttons that answer once, for the right one, also after a restart."""

import asyncio
from dataclasses import replace

import pytest
from langchain_core.tools import tool

from agents.models.script import Call, Script
from agents.speaker import Speakers
from agents.toolkit.result import Answer, Option, choice
from agents.toolkit.traits import traits
from app.telegram import service
from tests.support.scripted_assistant import script_lines
from tests.support.shop_tools import BEGIN
from tests.support.telegram_people import ANN, BOB, GROUP, Open, labels
from tests.support.telegram_server import BotApi

QUESTION = "Which order?\n1. Blue shoes — 60 EUR\n2. Red hat — 15 EUR\n3. Green coat — 140 EUR"
TOO_LATE = "That question is no longer open."


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
    assert "the new one" in [message.text for message in script.asked[-1].messages]


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
    monkeypatch.setattr(service, "PATIENCE", 0.05)
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
