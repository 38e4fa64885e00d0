"""Questions in Telegram: buttons that answer once, for the right one, also after a restart."""

from collections.abc import Callable

import pytest
from langchain_core.tools import tool

from agents.toolkit.result import Answer, Option, choice
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits
from app.testing.script import Call, Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open, labels, never, until_noted
from tests.support.changed_speakers import changed
from tests.support.scripted_assistant import script_lines
from tests.support.shop_tools import BEGIN
from tests.support.telegram_server import BotApi

pytestmark = pytest.mark.needs("planner")

QUESTION = "Which order?\n1. Blue shoes — 60 EUR\n2. Red hat — 15 EUR\n3. Green coat — 140 EUR"
WAYS_OUT = ["✍️ Something else", "✖ Cancel"]
TOO_LATE = "That question is no longer open."


def with_hats(*options: Option) -> Callable[[Speakers], Speakers]:
    """Return the change that gives the planner a tool with these options."""

    @traits(kind="selector")
    @tool(response_format="content_and_artifact")
    async def pick() -> Answer:
        """Let the user pick a hat."""
        return choice("Which hat?", options)

    def change(speakers: Speakers) -> Speakers:
        return changed(speakers, "planner", tools=[pick])

    return change


async def test_a_tap_chooses(shop: Open, world: BotApi, script: Script) -> None:
    """Each option has a button; the first of quick taps counts, takes the buttons away and stands in the transcript."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    async with shop() as telegram:
        assert await world.asks(ANN, "I want to return something", sent=1) == [QUESTION]
        assert labels(world.sent[0]) == [["1. Blue shoes"], ["2. Red hat"], ["3. Green coat"], WAYS_OUT]
        for label in ("2. Red hat", "2. Red hat", "1. Blue shoes"):
            world.taps(world.sent[0], label)
        assert await world.until_sent(ANN, 2) == [QUESTION, "Sent back."]
        await world.until(lambda: "editMessageReplyMarkup" in world.methods())
        await world.until(lambda: world.methods().count("answerCallbackQuery") == 3)
        await world.until(lambda: not telegram.chats.is_busy(ANN))
        assert (await script_lines(telegram.assistant, f"telegram-{ANN}"))[2:] == [
            "user: Red hat",
            "planner: Sent back.",
        ]
    assert world.texts(ANN) == [QUESTION, "Sent back."]


async def test_a_tap_chooses_one_of_equals(door: Open, world: BotApi, script: Script) -> None:
    """Two options may have the same label; each has its button."""

    hats = with_hats(Option("Red hat", "the old one"), Option("Red hat", "the new one"))
    script.add(supervisor=BEGIN, planner=[Call("pick"), "That one."])
    async with door(change=hats):
        await world.asks(ANN, "I want a hat", sent=1)
        assert (await world.presses(world.sent[0], "2. Red hat", sent=2))[1:] == ["That one."]
    assert "the new one" in [message.text.partition("\n")[0] for message in script.asked[-1].messages]


async def test_a_question_that_was_not_stored_is_sent_once(
    shop: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends between sending a question and storing its turn leaves no second copy of it."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])

    async with shop(is_killed=True) as telegram:
        monkeypatch.setattr(telegram.assistant.memory.transcript, "close", never)
        await world.asks(ANN, "I want to return something", sent=1)
        await until_noted(telegram, f"telegram-{ANN}")
    async with shop():
        assert await world.presses(world.sent[0], "1. Blue shoes", sent=2) == [QUESTION, "Sent back."]


async def test_a_stale_tap_gets_a_remark(shop: Open, world: BotApi, script: Script) -> None:
    """A button of a question that was answered in words, or left, changes nothing, and goes."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back.", Call("choose_order"), "Sent, too."])
    script.add(observer=["stay"])
    async with shop() as telegram:
        await world.asks(ANN, "I want to return something", sent=1)
        await world.asks(ANN, "the second one", sent=2)
        await world.asks(ANN, "and now one more of all those orders", sent=3)
        world.taps(world.sent[0], "1. Blue shoes")
        await world.until(lambda: world.toasts() == [TOO_LATE])
        await world.until(lambda: "editMessageReplyMarkup" in world.methods())
        assert (await telegram.assistant.state(f"telegram-{ANN}"))["pending"]
        assert (await world.presses(world.sent[2], "1. Blue shoes", sent=4))[3] == "Sent, too."


async def test_a_stranger_cannot_tap(shop: Open, world: BotApi, script: Script) -> None:
    """A tap of a user outside the list, or of one who was not asked in a group, changes nothing."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    async with shop(allowed=[ANN, BOB]) as telegram:
        await world.asks(GROUP, "@sue_bot I want to return something", user=ANN, sent=1, door=telegram)
        world.taps(world.sent[0], "1. Blue shoes", user=BOB)
        await world.until(lambda: world.toasts() == ["This question was put to somebody else."])
        world.taps(world.sent[0], "1. Blue shoes", user=33)
        await world.until(lambda: len(world.texts(GROUP)) == 2)
        assert "33" in world.texts(GROUP)[1]
        assert (await telegram.assistant.state(f"telegram-{GROUP}"))["pending"]
        assert "editMessageReplyMarkup" not in world.methods()
        world.taps(world.sent[0], "2. Red hat", user=ANN)
        await world.until(lambda: "Sent back." in world.texts(GROUP))


@pytest.mark.parametrize("chat", [pytest.param(ANN, marks=pytest.mark.slow), GROUP])
async def test_many_options_are_shown_in_pages(door: Open, world: BotApi, script: Script, chat: int) -> None:
    """Only who was asked turns them, also after a restart; an option of any page answers, and labels are cut."""
    hats = with_hats(*(Option(f"Hat {number} " + "x" * 60, f"hat-{number}") for number in range(1, 20)))
    script.add(supervisor=BEGIN, planner=[Call("pick"), "That one."])
    async with door(change=hats) as telegram:
        await world.asks(chat, "@sue_bot I want a hat", user=ANN, sent=1, door=telegram)
        assert "19. Hat 19 " + "x" * 60 in world.texts(chat)[0]
        *options, turning, ways_out = labels(world.sent[0])
        assert (len(options), turning, ways_out) == (8, ["9–16 ›"], WAYS_OUT)
        assert options[0] == ["1. Hat 1 " + "x" * 30 + "…"]
        world.taps(world.sent[0], "9–16 ›", user=BOB)
        await world.until(lambda: world.toasts() or chat == ANN)
        world.taps(world.sent[0], "9–16 ›", user=ANN)
        await world.until(lambda: ["‹ 1–8", "17–19 ›"] in labels(world.sent[0]))
    async with door(change=hats):
        world.taps(world.sent[0], "17–19 ›", user=ANN)
        await world.until(lambda: ["‹ 9–16"] in labels(world.sent[0]))
        world.taps(world.sent[0], labels(world.sent[0])[1][0], user=ANN)
        assert (await world.until_sent(chat, 2))[1].endswith("That one.")
    assert "hat-18" in [message.text.partition("\n")[0] for message in script.asked[-1].messages]


@pytest.mark.parametrize("chat", [pytest.param(ANN, marks=pytest.mark.slow), GROUP])
async def test_something_else_is_said_in_words(shop: Open, world: BotApi, script: Script, chat: int) -> None:
    """The button says how, and the question stays open; in a group an answer to the message is heard."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "Sent back."])
    async with shop() as telegram:
        await world.asks(chat, "@sue_bot I want to return something", user=ANN, sent=1, door=telegram)
        world.taps(world.sent[0], "✍️ Something else", user=ANN)
        await world.until(lambda: world.toasts())
        assert "what you want instead" in world.toasts()[0]
        assert labels(world.sent[0])[-1] == WAYS_OUT
        assert (await world.asks(chat, "the red one", user=ANN, answers=world.sent[0], sent=2))[1] == "Sent back."


@pytest.mark.parametrize("chat", [pytest.param(ANN, marks=pytest.mark.slow), GROUP])
async def test_a_choice_is_left_by_a_button(shop: Open, world: BotApi, script: Script, chat: int) -> None:
    """Only by who was asked and once; the tool is told that nothing was chosen, the model what the user says."""
    script.add(supervisor=BEGIN, planner=[Call("choose_order"), "As you like."], observer=["stay"])
    async with shop() as telegram:
        await world.asks(chat, "@sue_bot I want to return something", user=ANN, sent=1, door=telegram)
        if chat == GROUP:
            world.taps(world.sent[0], "✖ Cancel", user=BOB)
            await world.until(lambda: world.toasts() == ["This question was put to somebody else."])
        for _ in range(2):
            world.taps(world.sent[0], "✖ Cancel", user=ANN)
        assert (await world.until_sent(chat, 2, door=telegram))[1].endswith("As you like.")
        thread = f"telegram-{chat}"
        assert [line.text for line in await telegram.assistant.history(thread)][-2:] == ["Never mind", "As you like."]
        assert not (await telegram.assistant.state(thread, f"telegram-{ANN}"))["pending"]
    assert "reply_markup" not in world.sent[0]
