"""One slow answer in real time; `python -m pytest -s tests/doors/telegram/test_real_time.py` prints its figures."""

import asyncio
import sys
import time
from typing import Any, Literal

import pytest

from agents.models.script import Script
from app.doors.telegram.updates import incoming
from tests.support.scripted_assistant import ROLES, Gate
from tests.support.telegram_flood import Flood
from tests.support.telegram_people import ANN, Open
from tests.support.telegram_server import BotApi

WORDS, FIRST, ANSWER = 200, 3.0, 20.0


class Paced(Gate):
    """A gate that lets a piece through now and then."""

    def __init__(self) -> None:
        super().__init__(0)
        self.first: float | None = None

    async def wait(self) -> Literal[True]:
        """Wait for the next piece's time."""
        self.first = self.first or time.monotonic()
        await asyncio.sleep(ANSWER / WORDS)
        return True


class Stamped(list[tuple[str, dict[str, Any]]]):
    """Calls, and when they came."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def append(self, call: tuple[str, dict[str, Any]]) -> None:
        """Note a call and its time."""
        self.times.append(time.monotonic())
        super().append(call)


@pytest.mark.slow
async def test_a_slow_answer_is_seen_at_once_and_grows(
    door: Open, world: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 3 s to the first word and 20 s of answer the chat shows a sign of life, words as they come, and the answer.

    Telegram's limits are on, and refuse nothing.
    """
    monkeypatch.setattr(incoming, "WINDOW", 0.4)
    gate, world.flood, world.calls = Paced(), Flood(), (calls := Stamped())
    script = Script(delays={"supervisor": FIRST}, gates={"supervisor": gate})
    answer = " ".join(f"word{number}" for number in range(WORDS))
    script.add(supervisor=[answer])
    async with door(script.models(ROLES)):
        said_at = time.monotonic()
        world.says(ANN, "tell me everything")
        await world.until(lambda: world.texts(ANN) == [answer])
    frames = [
        (at, sent.get("text", "")) for at, (name, sent) in zip(calls.times, calls, strict=True) if "Draft" in name
    ]
    worded = [at for at, text in frames if text]
    assert frames[0][1] == ""
    assert gate.first is not None
    assert worded[0] < worded[-1]
    assert all(answer.startswith(text) for _, text in frames)
    assert [method for method, _, reply in world.refusals if reply[0] == 429] == []
    seen = [
        f"sign of life after {frames[0][0] - said_at:.2f} s",
        f"first text {worded[0] - gate.first:.2f} s after the model's first piece",
        f"frames per second {len(worded) / (worded[-1] - worded[0]):.2f}",
        f"calls {len(calls)}, refused (429) 0",
    ]
    sys.stdout.write("\n".join(["", *seen, ""]))
