"""A turn's queries cost the same with any number of people in the database."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.memory.connection import Driver, Values
from agents.memory.feedback import ShownTurn
from agents.memory.notices import Due
from agents.memory.sqlite_file import SqliteBackend
from app.assistant import Assistant, Turn
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
FEW = (
    *("forgettings", "newest", "own", "seats", "seat_notes", "seat_words", "seat_watches"),
    *("CONSTANT", "update_doors", "worker_turns", "shop_customers", "shop_records", "media_viewers"),
)
"""Tables with few rows for any number of people: a row of constants, wishes for deletion, a short result, calls for a
person and the words that wait for a door, the doors, running turns, and an operator's entries: the shop, and the users'
profiles."""
READ = re.compile(r"\s*(SELECT|DELETE|UPDATE|WITH)\b", re.IGNORECASE)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Gather every statement with its values, as SQLite runs it."""
    seen = set[str]()

    def watched(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(*args, **options)
        connection.set_trace_callback(seen.add)
        return connection

    for kind in (SqliteBackend, *SqliteBackend.__subclasses__()):
        monkeypatch.setattr(kind, "driver", Driver(connect=watched))
    return seen


async def _act(assistant: Assistant) -> None:
    """Do once what a door or a command may ask for: read, tell, rate, and forget in each way."""
    memory, forgetting = assistant.memory, assistant.forgetting
    await assistant.history("t")
    await memory.transcript.latest(1)
    await assistant.threads("ann")
    await assistant.threads(prefix="shop:")
    await assistant.state("t")
    for export in [part.export for part in assistant.parts.values() if part.export]:
        await export(assistant.services, "ann", "en")
    await assistant.branches.kept_turns("t")
    turn = ShownTurn("t", "1", "ann")
    await memory.feedback.show("telegram 1", 11, 5, turn)
    await memory.feedback.turn("telegram 1", 11, 5)
    await memory.feedback.rate(turn, "ann", "👍")
    await memory.notices.rang(Due("1", "1", "ann", "t", 0))
    await memory.updates.enter("telegram 1")
    stored = await memory.updates.take("telegram 1", "message 1", "{}", "t")
    await memory.updates.answer(stored.id, "{}")
    await memory.updates.settle("t", "1")
    await memory.updates.open("telegram 1")
    for source in assistant.sources:
        await source.due(10**15, None, "telegram-*")
        await source.due(10**15, "ann", "*")
    for what in ("zone", "profile.experience"):
        await forgetting.forget("ann", what)
    await forgetting.learnt("ann")
    await forgetting.part("g", "bob")
    await forgetting.thread("g")
    await forgetting.person("ann")


async def talk(url: str, seen: set[str] | dict[str, Values]) -> None:
    """Talk alone and in a group, and act, in a database whose tables are made; forget what was `seen` before."""
    settings = without_file(Settings).model_copy(update={"database_url": url})
    async with open_assistant(settings):
        pass
    seen.clear()
    async with open_assistant(settings) as assistant:
        for place, text in enumerate(TALK):
            async for _ in assistant.play(Turn(thread="t", text=text, user="ann", id=str(place))):
                pass
        for text in ("add tea", "get acquainted", "undo"):
            for user in ("bob", "cid"):
                async for _ in assistant.play(Turn(thread="g", text=text, user=user, is_group=True)):
                    pass
        await _act(assistant)


@pytest.mark.needs("standin")
async def test_every_statement_of_a_talk_uses_an_index(tmp_path: Path, statements: set[str]) -> None:
    """Turns with writes, an undo, memory and a deletion read no table whole."""
    path = tmp_path / "talk.db"
    await talk(f"sqlite:///{path}", statements)
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
