"""A turn's queries cost the same with any number of people in the database."""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import pytest

from agents.memory.connection import Values
from app.plugins.postgres.session import PostgresSession, Rows, conninfo_of
from tests.storage.test_query_plans import FEW, READ, talk
from tests.support.postgres_server import PostgresServer

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
    await talk(url, sent)
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
