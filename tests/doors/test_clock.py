"""The clock delivers one notice after the other, so that a crash repeats one of them at most."""

import asyncio
from collections import Counter
from functools import partial
from pathlib import Path

from agents.memory import open_memory
from app.assistant import clocks
from app.assistant.clocks import Clock, Ring
from tests.support.ringing import all_rang, remind
from tests.support.simulated_time import advance
from tests.support.until import until


async def test_of_many_that_are_due_at_once_a_crash_repeats_one(tmp_path: Path) -> None:
    """Twelve people are told in one second; the process ends when the first message is sent and not yet noted."""
    path, sent = tmp_path / "dialogs.db", list[str]()
    for number in range(12):
        await remind(path, f"tea {number}", ago=1, user=f"user{number}", thread=f"telegram-{number}")

    async def send_and_die(ring: Ring) -> None:
        sent.append(ring.text)
        await asyncio.Event().wait()

    async def send(ring: Ring) -> None:
        sent.append(ring.text)

    async with open_memory(f"sqlite:///{path}") as memory:
        async with Clock(memory, [memory.notices], send_and_die):
            await until(lambda: sent)
        assert len(sent) == 1
        async with Clock(memory, [memory.notices], send):
            await until(partial(all_rang, memory))
    assert sorted(Counter(sent).values()) == [1] * 11 + [2]


async def test_a_delivery_that_hangs_holds_up_nobody_for_long(tmp_path: Path) -> None:
    """The others ring while one chat does not answer."""
    path, sent = tmp_path / "dialogs.db", list[str]()
    for number in range(3):
        await remind(path, f"tea {number}", ago=3 - number, user=f"user{number}", thread=f"telegram-{number}")

    async def send(ring: Ring) -> None:
        if ring.text == "⏰ tea 0":
            advance(clocks.TURN_SECONDS)
            await asyncio.Event().wait()
        sent.append(ring.text)

    async with open_memory(f"sqlite:///{path}") as memory, Clock(memory, [memory.notices], send):
        await until(lambda: len(sent) == 2)
    assert sorted(sent) == ["⏰ tea 1", "⏰ tea 2"]
