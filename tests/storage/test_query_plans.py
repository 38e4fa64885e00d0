"""What a turn asks of the database costs the same however many people are in it."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.memory.connection import Driver
from app.assistant import Turn
from app.composition import open_assistant
from app.settings import Settings
from tests.support.settings_cache import without_file

TALK = [
    "add milk and bread to my list",
    "undo",
    "remind me tomorrow at 9 to call mom",
    "note: the boiler code is 4711",
    "what do you remember about me?",
    "get acquainted",
    "I am a nurse",
    "show my orders",
    "delete milk",
    "yes",
]
FEW = ("forgettings", "newest", "seat_notes", "shop_customers", "shop_records")
"""What has few rows however many people talk: wishes to be forgotten, calls for a person, the shop, a short result."""
READ = re.compile(r"\s*(SELECT|DELETE|UPDATE|WITH)\b", re.IGNORECASE)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Gather every statement with its values, as SQLite runs it."""
    seen = set[str]()

    def watched(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(*args, **options)
        connection.set_trace_callback(seen.add)
        return connection

    monkeypatch.setattr("app.composition.databases.driver_of", lambda *_: Driver(connect=watched))
    return seen


async def test_every_statement_of_a_talk_uses_an_index(tmp_path: Path, statements: set[str]) -> None:
    """Turns with writes, an undo, memory and a deletion read no table whole."""
    path = tmp_path / "talk.db"
    settings = without_file(Settings).model_copy(update={"database_url": f"sqlite:///{path}"})
    async with open_assistant(settings) as assistant:
        for place, text in enumerate(TALK):
            async for _ in assistant.play(Turn(thread="t", text=text, user="ann", id=str(place))):
                pass
        await assistant.history("t")
    with closing(sqlite3.connect(path)) as database:
        plans = {
            statement: [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}")]
            for statement in statements
            if READ.match(statement)
        }
    scans = {
        f"{step}: {' '.join(statement.split())[:150]}"
        for statement, steps in plans.items()
        for step in steps
        if step.startswith("SCAN") and step.split()[1] not in FEW
    }
    assert len(plans) > 30
    assert not scans, "\n".join(sorted(scans))
