"""Faults that people met in long conversations with `local:rules`, each said again through the whole graph."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.assistant import Turn
from tests.support.standin_table import TABLES, standin

CASES = tomllib.loads((TABLES / "reported.toml").read_text("utf-8"))["case"]
SAMPLE = ("B1:", "M1:", "m2:")


async def missed(path: Path, cases: Sequence[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Hold the talks, each in a thread of its own; return what an answer lacks, or holds and should not."""
    faults = []
    async with standin(path) as room:
        for place, case in enumerate(cases):
            for text, *parts in case["talk"]:
                turn = Turn(thread=f"talk-{place}", text=text or None, lang=case.get("lang"))
                events = [event.plain() async for event in room.assistant.play(turn)]
                kinds = ("message", "view", "interrupt")
                answer = "\n".join(str(event) for event in events if event["type"] in kinds)
                wrong = [part for part in parts if (part.removeprefix("!") in answer) == part.startswith("!")]
                faults += [(case["fault"], text, part, answer) for part in wrong]
    return faults


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers name times in UTC."""
    monkeypatch.setenv("TZ", "UTC")


async def test_a_sample_of_reported_faults_is_gone(tmp_path: Path) -> None:
    """Three of them; the slow test says all."""
    assert await missed(tmp_path / "said.db", [case for case in CASES if case["fault"].startswith(SAMPLE)]) == []


@pytest.mark.slow
async def test_every_reported_fault_is_gone(tmp_path: Path) -> None:
    """What is answered holds what it has to, and nothing of what was wrong."""
    assert await missed(tmp_path / "said.db", CASES) == []
