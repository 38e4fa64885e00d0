"""`python -m app calibrate`: what it refuses, what it changes, and that the next start uses it."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agents.conversation.gate import Thresholds, weights
from agents.memory.sqlite_file import SqliteBackend
from app.cli import command_line
from app.composition.thresholds import THRESHOLDS_ITEM, load_thresholds
from app.plugins.calibration.thresholds import LEAST_STAYS, LEAST_SWITCHES
from tests.doors.cli.conftest import Captured


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A database of its own."""
    path = tmp_path / "dialogs.db"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    monkeypatch.setenv("APP_LANG", "en")
    return path


def run(capsys: Captured, *arguments: str) -> dict[str, float]:
    """Run a command with --json, and return what it prints."""
    assert command_line.main([*arguments, "--json"]) == 0
    result: dict[str, float] = json.loads(capsys.readouterr().out)
    return result


async def fill(path: Path) -> None:
    """Write a log that is long enough: messages that stayed, and changes of subject with high scores."""
    async with SqliteBackend(f"sqlite:///{path}").open():
        pass
    low, name = weights().thresholds.low, weights().name
    rows = [(name, low + 0.1, 1, 0)] * LEAST_STAYS + [(name, low + 2, 1, 1)] * LEAST_SWITCHES
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO gate_log (model, score, watched, leaves) VALUES (?, ?, ?, ?)", rows)


async def loaded(path: Path, **changed: str) -> Thresholds | None:
    """Return the thresholds that a start would use, once what is stored has been changed."""
    async with SqliteBackend(f"sqlite:///{path}").open() as memory:
        if changed:
            item = await memory.store.aget(*THRESHOLDS_ITEM)
            assert item is not None
            await memory.store.aput(*THRESHOLDS_ITEM, {**item.value, **changed})
        return await load_thresholds(memory.store)


def test_a_short_log_is_refused(database: Path, capsys: Captured) -> None:
    """Exit code 2 and one line that says what is missing."""
    assert command_line.main(["calibrate"]) == 2
    assert "0 changes of subject" in capsys.readouterr().err


def test_calibrated_thresholds_are_used_until_they_are_dropped(database: Path, capsys: Captured) -> None:
    """The next start loads them; --reset goes back to those of the application."""
    asyncio.run(fill(database))
    assert asyncio.run(loaded(database)) is None
    low = weights().thresholds.low + 2
    assert run(capsys, "calibrate")["low"] == pytest.approx(low, abs=0.01)
    limits = asyncio.run(loaded(database))
    assert limits is not None
    assert limits.low == pytest.approx(low)
    run(capsys, "calibrate", "--reset")
    assert asyncio.run(loaded(database)) is None


def test_thresholds_of_other_weights_are_void(database: Path, capsys: Captured) -> None:
    """A new version of the weights has other scores."""
    asyncio.run(fill(database))
    run(capsys, "calibrate")
    assert asyncio.run(loaded(database, model="other")) is None


def test_it_says_what_it_used_and_what_changes(database: Path, capsys: Captured) -> None:
    """Turns, changes of subject, thresholds and the share of messages that ask no observer, before and after."""
    asyncio.run(fill(database))
    facts = run(capsys, "calibrate")
    assert (facts["turns"], facts["switches"]) == (LEAST_STAYS + LEAST_SWITCHES, LEAST_SWITCHES)
    assert facts["spared_before"] == 0
    assert facts["spared"] == pytest.approx(LEAST_STAYS / (LEAST_STAYS + LEAST_SWITCHES), abs=0.001)
    assert command_line.main(["calibrate"]) == 0
    assert "150 turns, 50 of them changes of subject" in capsys.readouterr().out
