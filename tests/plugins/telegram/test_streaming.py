"""An answer is seen while it is made: a sign of life at once, frames that rank below messages, and the answer once."""

from functools import partial

import pytest

from agents.events import Error, Event, Message, ModelStart, Token, ToolEnd, ToolStart
from app.assistant import Turn
from app.plugins.telegram.place import TelegramPlace
from app.testing.script import Script
from tests.plugins.telegram.pacing import PacedTelegram, paced_door
from tests.plugins.telegram.people import ANN, GROUP, Open, labels
from tests.support.scripted_assistant import PLAN, Gate
from tests.support.simulated_time import now, simulated
from tests.support.telegram_server import BotApi, refusal

WORDS = 200
FIRST, ANSWER = 3.0, 20.0
"""Seconds to the first piece of an answer, and from there to its end."""


def slow_answer(words: int = WORDS) -> list[tuple[float, Event]]:
    """Return the events of an answer that takes its time, each with the seconds before it."""
    texts = [f"word{number} " for number in range(words)]
    tokens: list[tuple[float, Event]] = [
        (ANSWER / words if place else FIRST, Token(speaker="supervisor", text=text)) for place, text in enumerate(texts)
    ]
    return [*tokens, (0.0, Message(speaker="supervisor", text="".join(texts)))]


def test_a_draft_streams_at_the_pace_that_telegram_takes() -> None:
    """A sign of life comes at once, the first words with the first piece, then a frame a second, then the message."""
    bot = PacedTelegram()

    async def talk() -> tuple[float, float]:
        door, assistant = paced_door(bot, slow_answer())
        begun = now()
        await door.play(TelegramPlace(ANN), Turn(thread=f"telegram-{ANN}", text="hi"))
        return begun, assistant.first_token

    begun, first_token = simulated(talk())
    drafts = [(at, text) for at, kind, _, text in bot.made if kind == "draft"]
    assert drafts[0] == (begun, "")
    assert next(at for at, text in drafts if text) - first_token < 0.5
    assert 0.8 <= len(drafts) / (FIRST + ANSWER) <= 1.2
    assert bot.kinds(ANN).count("message") == 1
    assert bot.kinds(ANN)[-1] == "message"
    assert bot.refused == {}


def test_a_message_grows_slowly_in_a_group() -> None:
    """In a group one message is edited every three seconds; the answer takes its place."""
    bot = PacedTelegram(20, 60.0)

    async def talk() -> None:
        door, _ = paced_door(bot, slow_answer())
        await door.play(
            TelegramPlace(GROUP), Turn(thread=f"telegram-{GROUP}", text="hi", user=f"telegram-{ANN}", is_group=True)
        )

    simulated(talk())
    kinds = bot.kinds(GROUP)
    assert kinds[0] == "typing"
    assert kinds.count("message") == 2
    assert 4 <= kinds.count("edit") <= 8
    assert kinds[-1] == "message"
    assert bot.refused == {}


@pytest.mark.needs("planner")
def test_tools_are_shown_at_work() -> None:
    """While tools run the draft names them, in words for people; after a retry the old words are gone."""
    bot = PacedTelegram()
    events: list[tuple[float, Event]] = [
        (2, ToolStart(speaker="planner", tool="add_todos", id="1")),
        (2, ToolEnd(speaker="planner", tool="add_todos", id="1")),
        (2, ModelStart(speaker="planner", model="m")),
        (2, Token(speaker="planner", text="wrong")),
        (2, Error(code="model_retry", text="")),
        (2, Token(speaker="planner", text="**Noted**")),
        (2, Message(speaker="planner", text="**Noted**")),
    ]

    async def talk() -> None:
        door, _ = paced_door(bot, events)
        await door.play(TelegramPlace(ANN), Turn(thread=f"telegram-{ANN}", text="hi"))

    simulated(talk())
    assert [text for _, kind, _, text in bot.made if kind == "draft"] == [
        "",
        "⏳ Put on your list",
        "✓ Put on your list",
        "✓ Put on your list\n\nwrong",
        "✓ Put on your list",
        "✓ Put on your list\n\nNoted",
    ]


def test_a_silence_is_told() -> None:
    """After twenty silent seconds a message says that it takes longer, with buttons; the answer takes its place."""
    bot = PacedTelegram()

    async def talk() -> None:
        door, _ = paced_door(bot, [(50, Message(speaker="supervisor", text="At last."))])
        await door.play(TelegramPlace(ANN), Turn(thread=f"telegram-{ANN}", text="hi"))

    simulated(talk())
    shown = [(round(at - bot.made[0][0]), kind, text[:27]) for at, kind, _, text in bot.made]
    slow_text = "It takes longer than usual."
    assert shown[:3] == [(0, "draft", ""), (10, "draft", ""), (20, "message", slow_text)]
    assert {kind for _, kind, _ in shown[3:-1]} == {"edit"}
    assert shown[-1] == (50, "message", "At last.")
    assert bot.labels == ["⏹ Stop", "🔁 Try again"]


@pytest.mark.needs("planner")
async def test_a_chat_without_drafts_gets_a_growing_message(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Bot API server that knows no drafts gets edits, with a button that stops; the answer takes their place."""
    monkeypatch.setattr("app.plugins.telegram.delivery.draft.GROWS_AFTER", 0.05)
    monkeypatch.setattr("app.plugins.telegram.delivery.draft.GROWS_EVERY", 0.05)
    world.fail("sendMessageDraft", refusal(404, "Not Found"))
    script.gates["planner"] = gate = Gate(2)
    script.add(supervisor=[PLAN], planner=["What shall I **put** down?"])
    async with door() as telegram:
        world.says(ANN, "something for the week")
        await world.until(partial(texts_are, world, ["What shall I"]))
        assert labels(world.sent[0]) == [["⏹ Stop"]]
        gate.set()
        await world.until(partial(texts_are, world, ["What shall I put down?"]))
        await world.until(lambda: "reply_markup" not in world.sent[0])
        await world.until(lambda: not telegram.chats.is_busy(ANN))
    assert world.texts(ANN) == ["What shall I put down?"]


def texts_are(world: BotApi, texts: list[str]) -> bool:
    """Tell whether the chat shows exactly these texts."""
    return world.texts(ANN) == texts


@pytest.mark.slow
async def test_a_slow_answer_can_be_begun_anew(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The button below the word that it takes longer stops the answer, and asks again; one answer is left."""
    monkeypatch.setattr("app.plugins.telegram.delivery.draft.SLOW_AFTER", 0.1)
    monkeypatch.setattr("app.plugins.telegram.delivery.draft.DRAFT_LASTS", 0.05)
    script.delays["supervisor"] = 60
    script.add(supervisor=["never finished", "Here I am."])
    async with door() as telegram:
        assert (await world.asks(ANN, "hello", sent=1))[0].startswith("It takes longer")
        assert labels(world.sent[0]) == [["⏹ Stop", "🔁 Try again"]]
        script.delays.clear()
        world.taps(world.sent[0], "🔁 Try again")
        await world.until(partial(texts_are, world, ["Here I am."]))
        await world.until(lambda: not telegram.chats.is_busy(ANN))
        lines = await telegram.assistant.history(f"telegram-{ANN}")
    assert [line.text for line in lines if line.text] == ["hello", "hello", "Here I am."]
