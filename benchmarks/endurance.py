"""Measure whether many turns cost memory or leave rows behind: PostgreSQL, a door and workers.

`python -m benchmarks.endurance`: 20,000 turns over 100 threads, before a model that answers at once. After every tenth
of them: the memory of the door and of the largest worker, the size of the tables, and their growth by a turn. The
tables of checkpoints and of the queue are pruned; those of the conversations keep all messages.
"""

import asyncio
import os
import time
from collections.abc import Mapping

import psycopg

from benchmarks.crowd import crowd, our_application
from benchmarks.processes import megabytes, slow_model
from benchmarks.report import Row, arguments, show
from tests.support.postgres_server import PostgresServer, running

MARKS = 10
GROUPS = {
    "checkpoints": ("checkpoints", "writes"),
    "queue": ("worker_turns", "worker_events", "procrastinate_jobs", "procrastinate_events"),
    "conversations": ("inbox", "transcript", "records"),
}
SIZES = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""


def tables(url: str) -> Row:
    """Return the rows of the pruned tables, and the megabytes of each group of tables."""
    with psycopg.connect(url) as connection:
        sizes: Mapping[str, int] = dict(connection.execute(SIZES).fetchall())

        def rows(name: str) -> int:
            return int(connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()[0][0])

        counts: Row = {f"rows of {group}": sum(map(rows, GROUPS[group])) for group in ("checkpoints", "queue")}
    named = {group: sum(sizes[name] for name in names) for group, names in GROUPS.items()}
    named["all others"] = sum(sizes.values()) - sum(named.values())
    return counts | {f"{group}, MB": size / 1_000_000 for group, size in named.items()}


async def measure(server: PostgresServer, turns: int, threads: int, workers: int) -> list[Row]:
    """Play so many turns, and measure after every tenth of them."""
    url, rows = server.fresh(), list[Row]()
    each = turns // threads // MARKS
    async with slow_model(0) as (model, _), our_application(url, model, workers, threads) as (say, processes):
        for mark in range(MARKS):
            begun = time.monotonic()
            await crowd(say, threads, each, first=mark * each)
            rows.append({
                "turns": (mark + 1) * each * threads,
                "turns a second": each * threads / (time.monotonic() - begun),
                "door, MB": megabytes(os.getpid()),
                "worker, MB": max(map(megabytes, processes), default=0.0),
                **await asyncio.to_thread(tables, url),
            })  # fmt: skip
    return rows


def main() -> None:
    """Measure."""
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    with running(fsync="on") as server:
        rows = asyncio.run(measure(server, chosen.turns, chosen.threads, chosen.workers))
        show(rows, as_json=chosen.json, packages=("procrastinate", "psycopg"))


if __name__ == "__main__":
    main()
