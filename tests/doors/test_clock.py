"""The clock delivers one notice after the other, so that a crash repeats one of them at most."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from agents.memory.notices import Due, NoticeSource
from agents.memory.sqlite_file import SqliteBackend
from app.assistant import clocks
from app.assistant.clocks import Clock, Ring
from tests.support.ringing import all_rang, remind
from tests.support.simulated_time import advance
from tests.support.until import until


@pytest.fixture(autouse=True)
def _ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing that hangs here ends in the two seconds that the clock gives it at its own end.
    monkeypatch.setattr(clocks, "ENDING_SECONDS", 0.01)


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

    async with SqliteBackend(f"sqlite:///{path}").open() as memory:
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

    async with SqliteBackend(f"sqlite:///{path}").open() as memory, Clock(memory, [memory.notices], send):
        await until(lambda: len(sent) == 2)
    assert sorted(sent) == ["⏰ tea 1", "⏰ tea 2"]


class Broken(NoticeSource):
    """The notices of a plug-in that fails, at once or when it should tell the text."""

    def __init__(self, failure: BaseException, *, at_once: bool) -> None:
        super().__init__(time.time)
        self.failure, self.at_once, self.count = failure, at_once, 0

    async def due(self, until_ms: int, user: str | None, threads: str) -> Sequence[Due]:
        """Fail, or return a notice."""
        if self.at_once:
            await self.text_of(Due("broken", "key", "me", "me", 0), is_late=False)
        return [Due("broken", "key", "me", "me", 0)]

    async def text_of(self, due: Due, *, is_late: bool) -> str | None:
        """Fail."""
        self.count += 1
        raise self.failure

    async def rang(self, due: Due) -> None:
        """Do nothing."""


@pytest.mark.parametrize("failure", [LookupError("no licence"), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("at_once", [False, True])
async def test_a_source_that_fails_stops_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, failure: BaseException, at_once: bool
) -> None:
    """The developer reads the error, and the notices of all others ring, also those that come later."""
    path, sent = tmp_path / "dialogs.db", list[str]()
    await remind(path, "tea", ago=1)

    async def send(ring: Ring) -> None:
        sent.append(ring.text)

    broken = Broken(failure, at_once=at_once)
    async with SqliteBackend(f"sqlite:///{path}").open() as memory, Clock(memory, [broken, memory.notices], send):
        await until(lambda: sent and broken.count)
        await memory.notices.add("me", "me", "later", text="milk", lang="en")
        await until(lambda: len(sent) == 2)
    assert sent == ["⏰ tea", "⏰ milk"]
    assert [record.exc_info is not None for record in caplog.records if record.levelname == "ERROR"] == [True]
