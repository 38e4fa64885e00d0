"""Stopping an answer in Telegram: the button of a draft, a button in groups; the shown part stays, and goes on."""

import pytest

from app.testing.script import Script
from prompts import phrase
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open, labels
from tests.support.scripted_assistant import Holding
from tests.support.telegram_server import BotApi

THREAD = f"telegram-{ANN}"
STOPPED = ["▶ Continue", "🔁 Try again"]


async def test_the_draft_has_a_button_that_stops(door: Open, world: BotApi, script: Script) -> None:
    """Telegram's own button ends the answer; the chat shows, character for character, what memory has."""
    script.gates["supervisor"] = gate = Holding(2)
    script.add(supervisor=["One  two\n\nthree four", "Five."])
    async with door() as telegram:
        world.says(ANN, "count")
        await world.until(lambda: gate.holds and world.drafts and world.drafts[-1].frames[-1])
        assert world.drafts[-1].keeps
        world.stops(world.drafts[-1])
        assert await world.until_sent(ANN, 2) == ["One  two\n\nthree", "⏹ stopped"]
        assert labels(world.sent[-1]) == [STOPPED]
        await world.until(lambda: not telegram.chats.is_busy(ANN))
        line = (await telegram.assistant.history(THREAD))[-1]
        assert line.text == world.texts(ANN)[0]
        assert line.metadata.keys() >= {"interrupted", "interrupt_timestamp", "original"}
        world.stops(world.drafts[-1])
        del script.gates["supervisor"]
        assert (await world.presses(world.sent[-1], "▶ Continue", sent=3))[2] == "Five."


@pytest.mark.parametrize("typed", ["Stop!", "Хватит."])
async def test_the_word_for_it_stops(door: Open, world: BotApi, script: Script, typed: str) -> None:
    """In any language, with a mark or a capital, and it is confirmed; while nothing is said it is a message."""
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two three", "Fine."])
    async with door() as telegram:
        world.says(ANN, "count")
        await world.until(lambda: gate.holds)
        assert await world.asks(ANN, typed, sent=2) == ["One two", "⏹ stopped"]
        gate.set()
        await world.until(lambda: not telegram.chats.busy)
        assert (await world.asks(ANN, typed, sent=3))[2] == "Fine."


async def test_a_stop_concerns_what_came_before(door: Open, world: BotApi, script: Script) -> None:
    """A message after it is answered whole, also when both arrive at once."""
    script.delays["supervisor"] = 0.2
    script.add(supervisor=["The whole answer."])
    async with door():
        world.says(ANN, "/stop")
        texts = await world.asks(ANN, "hello", sent=2)
    assert sorted(texts) == ["Nothing is being answered at the moment.", "The whole answer."]


async def test_an_answer_in_a_circle_goes_on(door: Open, world: BotApi, script: Script) -> None:
    """The shown part stays, the sentence below it has a button, and the button asks for more."""
    script.add(supervisor=["We can go to the blue house.\n" * 300, "The end."])
    async with door():
        shown, note = await world.asks(ANN, "tell me a story", sent=2)
        assert shown.count("We can go to the blue house.") > 90
        assert note == phrase("cut_loop", "en")
        assert labels(world.sent[1]) == [["▶ Continue"]]
        assert (await world.presses(world.sent[1], "▶ Continue", sent=3))[2] == "The end."


async def test_a_group_has_a_button_that_stops(
    door: Open, world: BotApi, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a group the message that grows has the button, and it obeys only who asked."""
    monkeypatch.setattr("app.plugins.telegram.delivery.draft.GROWS_AFTER", 0.05)
    script.gates["supervisor"] = gate = Holding(1)
    script.add(supervisor=["One two three"])
    async with door():
        world.says(GROUP, "@sue_bot count", user=ANN)
        await world.until(lambda: gate.holds and world.texts(GROUP) == ["One two"])
        world.taps(world.sent[0], "⏹ Stop", user=BOB)
        await world.until(lambda: "answerCallbackQuery" in world.methods())
        assert world.texts(GROUP) == ["One two"]
        assert await world.presses(world.sent[0], "⏹ Stop", user=ANN, sent=2) == ["One two", "⏹ stopped"]


async def test_a_failure_has_a_button_that_tries_again(door: Open, world: BotApi, script: Script) -> None:
    """A failed message is played again under its own id, so that nothing is said or done twice."""
    script.add(supervisor=[ConnectionError("secret"), "Here I am."])
    async with door() as telegram:
        message = world.says(ANN, "hello")
        await world.until_sent(ANN, 1)
        assert labels(world.sent[0]) == [["🔁 Try again"]]
        assert (await world.presses(world.sent[0], "🔁 Try again", sent=2, door=telegram))[1] == "Here I am."
        lines = await telegram.assistant.history(THREAD)
        assert [line.role for line in lines] == ["user", "assistant", "assistant"]
        assert {line.message_id for line in lines} == {f"{THREAD}-{message['message_id']}"}


async def test_there_may_be_nothing_to_try_again(door: Open, world: BotApi) -> None:
    """/retry says so in a new chat."""
    async with door():
        assert await world.asks(ANN, "/retry", sent=1) == ["There is nothing to try again."]
