"""Messages that their writers change: one that waits is replaced, one that was answered can be answered anew."""

import time

import pytest

from app.testing.script import Script
from tests.plugins.telegram.people import ANN, BOB, GROUP, Open, until_stored
from tests.support.scripted_assistant import ROLES, Echo, Gate
from tests.support.telegram_server import BotApi


async def test_a_waiting_message_is_replaced(door: Open, world: BotApi, script: Script) -> None:
    """The model hears the message as it is when its turn begins; nothing is said of the change."""
    script.gates["supervisor"] = gate = Gate(0)
    script.add(supervisor=["First.", "Second."])
    async with door() as telegram:
        world.says(ANN, "one")
        await world.until(lambda: script.asked)
        message = world.says(ANN, "twoo")
        await until_stored(telegram, f"telegram-{ANN}", 2)
        world.edits(message, "two")
        await until_stored(telegram, f"telegram-{ANN}", 2, "two")
        gate.set()
        assert await world.until_sent(ANN, 2, door=telegram) == ["First.", "Second."]
        lines = await telegram.assistant.history(f"telegram-{ANN}")
    assert [line.text for line in lines if line.role == "user"] == ["one", "two"]


@pytest.mark.parametrize("chat", [ANN, GROUP])
async def test_an_answered_message_can_be_answered_anew(door: Open, world: BotApi, chat: int) -> None:
    """The offer refers to the message; a tap has it answered as it is then, once. A change of nothing is no change."""
    async with door(Echo().models(ROLES)) as telegram:
        message = world.says(chat, "@sue_bot twoo", user=ANN)
        await world.until_sent(chat, 1, door=telegram)
        world.edits(message, "@sue_bot twoo")
        world.edits(message, "@sue_bot two")
        assert "You changed your message" in (await world.until_sent(chat, 2))[1]
        offer = world.sent[1]
        assert offer["reply_to_message"]["message_id"] == message["message_id"]
        if chat == GROUP:
            world.taps(offer, "🔄 Answer it anew", user=BOB)
            await world.until(lambda: "answerCallbackQuery" in world.methods())
        world.taps(offer, "🔄 Answer it anew", user=ANN)
        assert (await world.presses(offer, "🔄 Answer it anew", user=ANN, sent=3))[2].endswith("two")
        await world.until(lambda: world.methods().count("answerCallbackQuery") == 2 + (chat == GROUP))
        await world.until(lambda: not telegram.chats.busy)
    assert len(world.texts(chat)) == 3


async def test_a_changed_command_is_offered(door: Open, world: BotApi) -> None:
    """A command that was changed is run again, once, if its writer taps the offer."""
    async with door(Echo().models(ROLES)) as telegram:
        command = world.says(ANN, "/lang en")
        await world.until_sent(ANN, 1)
        world.edits(command, "/lang en")
        world.edits(command, "/lang ru")
        assert "You changed your message" in (await world.until_sent(ANN, 2))[1]
        assert (await world.presses(world.sent[1], "🔄 Answer it anew", sent=3))[2].startswith("Язык: Русский.")
        text = world.says(ANN, "/help")
        await world.until_sent(ANN, 4)
        world.edits(text, "/new")
        await world.until_sent(ANN, 5)
        for _ in range(2):
            world.taps(world.sent[4], "🔄 Ответить заново")
        assert len(await world.until_sent(ANN, 6)) == 6
        await world.until(lambda: world.methods().count("answerCallbackQuery") == 3 and not telegram.chats.busy)
        assert telegram.names.thread(ANN) == f"telegram-{ANN}~2"


@pytest.mark.parametrize(("seconds_ago", "answered"), [(0, ["hello @sue_bot"]), (2 * 24 * 3600, [])])
async def test_a_change_can_address_the_bot(door: Open, world: BotApi, seconds_ago: int, answered: list[str]) -> None:
    """Talk among people is a message to the bot once it names it, unless it is long ago; it is answered once."""
    async with door(Echo().models(ROLES)) as telegram:
        talk = world.says(GROUP, "hello all", user=BOB, date=int(time.time()) - seconds_ago)
        world.edits(talk, "hello @sue_bot")
        world.edits(talk, "hello @sue_bot")
        assert await world.asks(BOB, "hello", sent=1, door=telegram) == ["hello"]
    assert world.texts(GROUP) == answered
