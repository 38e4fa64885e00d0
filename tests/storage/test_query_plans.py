"""What a turn asks of the database costs the same however many people are in it."""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.memory.connection import Driver, Values
from agents.memory.feedback import ShownTurn
from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.postgres.session import PostgresSession, Rows, conninfo_of
from app.settings import Settings
from tests.support.postgres_server import PostgresServer
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
    *("worker_turns", "shop_customers", "shop_records", "media_viewers"),
)
"""What has few rows however many people talk: wishes to be forgotten, a short result, calls for a person and the words
that wait for a door, turns that run, and what an operator enters: the shop, and who has which profile."""
READ = re.compile(r"\s*(SELECT|DELETE|UPDATE|WITH)\b", re.IGNORECASE)

SCANS = ("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan")
MANY_ROWS = """
UPDATE pg_class SET reltuples = 1000000, relpages = 1
WHERE relnamespace = current_schema()::regnamespace AND pg_relation_size(oid) > 0
"""
FIRST_COLUMNS = """
SELECT indexrelid::regclass::text, attname FROM pg_index JOIN pg_attribute ON attrelid = indexrelid AND attnum = 1
JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = current_schema()::regnamespace
"""


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


async def _act(assistant: Assistant) -> None:
    """Do once what a door or a command may ask for: read, go back, tell, rate, and forget in each way."""
    memory, forgetting = assistant.memory, assistant.forgetting
    await assistant.history("t")
    await assistant.threads("ann")
    await assistant.threads(prefix="shop:")
    await assistant.state("t")
    for export in [dialog.export for dialog in assistant.specialists if dialog.export]:
        await export(assistant.services, "ann", "en")
    for number in sorted(await assistant.kept_turns("t"))[:1]:
        await assistant.go_back("t", number, "back")
    turn = ShownTurn("t", "1", "ann")
    await memory.feedback.show("telegram 1", 11, 5, turn)
    await memory.feedback.turn("telegram 1", 11, 5)
    await memory.feedback.rate(turn, "ann", "👍")
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


async def _talk(url: str, seen: set[str] | dict[str, Values]) -> None:
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


async def test_every_statement_of_a_talk_uses_an_index(tmp_path: Path, statements: set[str]) -> None:
    """Turns with writes, an undo, memory and a deletion read no table whole."""
    path = tmp_path / "talk.db"
    await _talk(f"sqlite:///{path}", statements)
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


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, Values]:
    """Gather every statement with some of its values, as a session with PostgreSQL gets it."""
    seen, execute, executemany = dict[str, Values](), PostgresSession.execute, PostgresSession.executemany

    def one(self: PostgresSession, sql: str, values: Values = (), /) -> Rows:
        seen[sql] = values
        return execute(self, sql, values)

    def many(self: PostgresSession, sql: str, rows: Iterable[Values], /) -> Rows:
        listed = list(rows)
        if listed:
            seen[sql] = listed[0]
        return executemany(self, sql, listed)

    monkeypatch.setattr(PostgresSession, "execute", one)
    monkeypatch.setattr(PostgresSession, "executemany", many)
    return seen


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from _nodes(part)


@pytest.mark.slow
async def test_every_statement_uses_an_index_of_postgres(
    postgres_server: PostgresServer, sent: dict[str, Values]
) -> None:
    """The server, told of a million rows in each table, begins each search with the first column of an index."""
    url = postgres_server.fresh()
    await _talk(url, sent)
    plans, reads = dict[str, dict[str, Any]](), [(sql, values) for sql, values in sent.items() if READ.match(sql)]
    session = PostgresSession(conninfo_of(url, "plans"), 0, lambda: None, parallel=True)
    with closing(session):
        session.execute(MANY_ROWS)
        firsts = dict[str, str](session.execute(FIRST_COLUMNS).fetchall())
        for sql, values in reads:
            plans[sql] = session.execute(f"EXPLAIN (FORMAT JSON) {sql}", values).fetchall()[0][0][0]["Plan"]
    scans, table = set[str](), ""
    for sql, plan in plans.items():
        for node in _nodes(plan):
            table = node.get("Relation Name", table)
            if node["Node Type"] in SCANS and table not in FEW and not _is_search(node, firsts):
                scans.add(f"{node['Node Type']} of {table}: {' '.join(sql.split())[:150]}")
    assert len(plans) > 30
    assert not scans, "\n".join(sorted(scans))


def _is_search(node: dict[str, Any], firsts: dict[str, str]) -> bool:
    """Tell whether an index is entered by its first column, and by the thread where the statement names one."""
    condition, rest = node.get("Index Cond", ""), node.get("Filter", "")
    is_entered = re.search(rf"\b{firsts.get(node.get('Index Name', ''), ' ')}\b", condition)
    return bool(is_entered) and (" = " in condition or "(thread = " not in rest)
