"""Every speaker knows the time and where the user writes, and is told again only when one of them has changed."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from agents.memory.preferences import Preferences
from app.testing import Chat
from app.testing.script import Call

THURSDAY = datetime(2026, 11, 26, 23, 49, 59, tzinfo=UTC).timestamp()
MINUTE = 60.0
STARTS = ("Now:", "The user writes", "Сейчас:", "Пользователь пишет", "现在", "用户")


def told(chat: Chat) -> list[str]:
    """Return the lines of the last prompt that tell the time or the door."""
    lines = [line for message in chat.script.asked[-1].messages[1:] for line in message.text.splitlines()]
    return [line for line in lines if line.startswith(STARTS)]


async def at(chat: Chat, minutes: float, text: str, **more: Any) -> list[str]:
    """Say something so many minutes after a Thursday's 23:49; return what the prompt tells of time and door."""
    chat.now = lambda: THURSDAY + minutes * MINUTE
    chat.expects(supervisor=["I see."])
    await chat.says(text, **more)
    return told(chat)


@pytest.mark.needs("telegram")
async def test_the_time_is_told_again_when_ten_minutes_the_day_or_the_door_have_changed(chat: Chat) -> None:
    """An unchanged fact is not told again, and the prompt before stays the beginning of the next one."""
    first = ["Now: Thursday 2026-11-26, about 23:40 (UTC)", "The user writes in a terminal."]
    assert await at(chat, 0, "one", device="terminal") == first
    assert await at(chat, -1, "two", device="terminal") == first
    later = ["Now: Thursday 2026-11-26, about 23:50 (UTC)", "The user writes in a terminal."]
    assert await at(chat, 1, "three", device="terminal") == [*first, *later]
    next_day = ["Now: Friday 2026-11-27, about 00:00 (UTC)", "The user writes in a terminal."]
    assert await at(chat, 15, "four", device="terminal") == [*first, *later, *next_day]
    elsewhere = ["Now: Friday 2026-11-27, about 00:00 (UTC)", "The user writes in Telegram."]
    assert await at(chat, 16, "five", device="telegram") == [*first, *later, *next_day, *elsewhere]
    prefixes = [call.prefix for call in chat.script.asked]
    assert all(after.startswith(before) for before, after in pairwise(prefixes))


@pytest.mark.parametrize(
    ("lang", "lines"),
    [
        ("en", ["Now: Thursday 2026-11-26, about 23:40 (UTC)", "The user writes on a web page."]),
        ("ru", ["Сейчас: четверг 2026-11-26, около 23:40 (UTC)", "Пользователь пишет на веб-странице."]),
        ("zh", ["现在：2026-11-26 星期四，大约 23:40（UTC）", "用户写消息的地方：网页。"]),
    ],
)
async def test_words_are_of_the_language_of_the_prompt(chat: Chat, lang: str, lines: list[str]) -> None:
    """So are the weekday and the door."""
    assert await at(chat, 0, "Hi", lang=lang, device="page") == lines


async def test_the_time_is_that_of_the_user(chat: Chat) -> None:
    """A door that says nothing of itself is not named."""
    async with chat.assistant() as assistant:
        await Preferences(zone=ZoneInfo("Asia/Tokyo")).save(assistant.memory.store, "ann")
    assert await at(chat, 0, "Hi") == ["Now: Friday 2026-11-27, about 08:40 (JST)"]


@pytest.mark.needs("profile")
async def test_every_speaker_is_told(chat: Chat) -> None:
    """A specialist as well."""
    chat.now = lambda: THURSDAY
    chat.expects(supervisor=[Call("get_acquainted", {"brief": "-"})], profile=["What do you do?"])
    await chat.says("Hi", device="http")
    assert told(chat)[1:] == ["The user writes through another program (HTTP)."]
