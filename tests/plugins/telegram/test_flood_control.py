"""Telegram's limits in simulated time: frames leave room for messages, and a pause holds for its own chat."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.plugins.telegram.delivery.pages import MessagePage
from app.plugins.telegram.delivery.sender import Sender
from app.plugins.telegram.flood_control import BOT, BOT_RESERVE
from app.plugins.telegram.place import TelegramPlace
from tests.plugins.telegram.pacing import PacedTelegram, paced_sender
from tests.support.simulated_time import now, simulated
from tests.support.telegram_flood import Flood

CHATS = range(1, 41)
FRAME = MessagePage("so far")


async def frames(sender: Sender, chat: int, seconds: float) -> None:
    """Try to show a frame in a chat again and again; one for which there is no room is left out at once."""
    until = now() + seconds
    while (begun := now()) < until:
        await sender.draft(TelegramPlace(chat), 1, FRAME)
        assert now() == begun
        await asyncio.sleep(0.05)


def run(bot: PacedTelegram, talk: Callable[[Sender], Awaitable[None]]) -> list[tuple[float, str, int]]:
    """Let something be sent; return when what was sent to which chat, from the beginning."""

    async def begin() -> float:
        begun = now()
        await talk(paced_sender(bot))
        return begun

    begun = simulated(begin())
    return [(round(at - begun, 1), kind, chat) for at, kind, chat, _ in bot.made]


def test_frames_leave_room_for_messages() -> None:
    """However many chats want frames, the first messages wait for nothing."""

    async def talk(sender: Sender) -> None:
        pressure = [asyncio.create_task(frames(sender, chat, 10)) for chat in CHATS]
        await asyncio.sleep(9)
        await asyncio.gather(*(sender.say(TelegramPlace(100 + number), "done") for number in range(int(BOT_RESERVE))))
        await asyncio.gather(*pressure)

    made = run(PacedTelegram(), talk)
    assert {at for at, kind, _ in made if kind == "message"} == {9.0}
    # Nothing that there is room for is left unused.
    assert sum(kind == "draft" for _, kind, _ in made) == pytest.approx(10 * BOT[1], rel=0.1)


def test_frames_leave_room_in_their_chat() -> None:
    """With frames at every chance a chat still takes its messages: Telegram's limits for a chat refuse nothing."""
    bot = PacedTelegram()

    async def talk(sender: Sender) -> None:
        bot.flood = Flood(clock=now)
        pressure = asyncio.create_task(frames(sender, 1, 60))
        for _ in range(6):
            await asyncio.sleep(10)
            await asyncio.gather(sender.say(TelegramPlace(1), "one"), sender.say(TelegramPlace(1), "two"))
        await pressure

    made = run(bot, talk)
    assert bot.refused == {}
    assert [at for at, kind, _ in made if kind == "message"] == [at for n in range(1, 7) for at in (10 * n, 10 * n)]
    assert sum(kind == "draft" for _, kind, _ in made) > 30


def test_a_pause_is_of_one_chat_unless_two_are_refused() -> None:
    """Two chats that are refused one after the other, with others accepted in between, are two pauses."""
    bot = PacedTelegram()

    async def talk(sender: Sender) -> None:
        paused = []
        for chat in (1, 3):
            bot.refuse_next("message", 30)
            paused.append(asyncio.create_task(sender.say(TelegramPlace(chat), "waits")))
            await asyncio.sleep(0.5)
            await sender.say(TelegramPlace(2), "goes on")
            assert not await sender.draft(TelegramPlace(chat), 1, FRAME)
            assert await sender.draft(TelegramPlace(4), 1, FRAME)
        await asyncio.gather(*paused)

    made = run(bot, talk)
    assert [(at, chat) for at, kind, chat in made if kind == "message"] == [(0.5, 2), (1, 2), (30, 1), (30.5, 3)]


def test_messages_to_a_chat_keep_its_pace() -> None:
    """Many messages at once go out at the pace that Telegram takes, in their order, and none is refused."""
    bot = PacedTelegram()

    async def talk(sender: Sender) -> None:
        bot.flood = Flood(clock=now)
        chats = (TelegramPlace(1), TelegramPlace(-1))
        await asyncio.gather(*(sender.say(chat, f"{number:02}") for number in range(25) for chat in chats))

    made = run(bot, talk)
    assert bot.refused == {}
    assert [text for _, _, chat, text in bot.made if chat == 1] == [f"{number:02}" for number in range(25)]
    assert [max(at for at, _, chat in made if chat == to) for to in (1, -1)] == [21, 80]


def test_a_refused_frame_is_left_out_and_the_message_waits() -> None:
    """After the refusal of a frame none is tried until the pause is over; the message is sent then, and first."""
    bot = PacedTelegram()

    async def talk(sender: Sender) -> None:
        bot.refuse_next("draft", 20)
        pressure = asyncio.create_task(frames(sender, 1, 40))
        await asyncio.sleep(3)
        await sender.say(TelegramPlace(1), "the answer")
        await pressure

    made = run(bot, talk)
    assert bot.refused == {"draft": 1}
    assert made[0] == (20, "message", 1)
    assert made[1][0] >= 20


def test_a_refused_message_is_sent_once_and_before_frames() -> None:
    """The chat's other output waits for the refused message: later messages in order, and no frame in between."""
    bot = PacedTelegram()

    async def talk(sender: Sender) -> None:
        bot.refuse_next("message", 20)
        sends = asyncio.gather(sender.say(TelegramPlace(1), "one"), sender.say(TelegramPlace(1), "two"))
        await asyncio.gather(sends, frames(sender, 1, 30))

    made = run(bot, talk)
    assert bot.refused == {"message": 1}
    assert made[:2] == [(20, "message", 1), (20, "message", 1)]
    assert [text for _, kind, _, text in bot.made if kind == "message"] == ["one", "two"]


def test_frames_are_left_out_while_a_message_is_sent() -> None:
    """No frame waits for the message before it, to be shown when it is old."""
    bot = PacedTelegram()
    bot.takes = 5.0

    async def talk(sender: Sender) -> None:
        await asyncio.gather(sender.say(TelegramPlace(1), "the answer"), frames(sender, 1, 8))

    made = run(bot, talk)
    assert made[0] == (5, "message", 1)
    assert {kind for _, kind, _ in made[1:]} == {"draft"}


def test_refused_messages_of_two_chats_pause_the_bot() -> None:
    """Telegram does not say that it means the bot; a third chat is not tried until the pause is over."""
    bot = PacedTelegram()
    bot.refuse_next("message", 20, 20)

    async def talk(sender: Sender) -> None:
        first = asyncio.gather(sender.say(TelegramPlace(1), "one"), sender.say(TelegramPlace(2), "two"))
        await asyncio.sleep(1)
        await asyncio.gather(first, sender.say(TelegramPlace(3), "three"))

    assert sorted(run(bot, talk)) == [(20, "message", 1), (20, "message", 2), (20, "message", 3)]
    assert bot.refused == {"message": 2}
