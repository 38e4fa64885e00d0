"""The clock delivers one notice after the other, so that a crash repeats one of them at most."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from agents.memory import open_memory
from app.assistant import clocks
from app.assistant.clocks import Clock, Ring
from tests.support.ringing import remind


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
            await asyncio.sleep(0.3)
        assert len(sent) == 1
        async with Clock(memory, [memory.notices], send):
            async with asyncio.timeout(10):
                while await memory.notices.due(2**53, None, "*"):  # noqa: ASYNC110  # nothing tells the end of a ring
                    await asyncio.sleep(0.02)
    assert sorted(Counter(sent).values()) == [1] * 11 + [2]


async def test_a_delivery_that_hangs_holds_up_nobody_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others ring while one chat does not answer."""
    monkeypatch.setattr(clocks, "TURN_SECONDS", 0.1)
    path, sent = tmp_path / "dialogs.db", list[str]()
    for number in range(3):
        await remind(path, f"tea {number}", ago=3 - number, user=f"user{number}", thread=f"telegram-{number}")

    async def send(ring: Ring) -> None:
        if ring.text == "⏰ tea 0":
            await asyncio.Event().wait()
        sent.append(ring.text)

    async with open_memory(f"sqlite:///{path}") as memory, Clock(memory, [memory.notices], send):
        async with asyncio.timeout(10):
            while len(sent) < 2:  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.02)
    assert sorted(sent) == ["⏰ tea 1", "⏰ tea 2"]
