"""Measure turns a second before a slow model: workers of ours, and a LangGraph application as it comes, in one run.

`python -m benchmarks.workers`, with the packages of `requirements-bench.txt`: a PostgreSQL server of its own, a model
that takes 300 ms, a door, and 0 (the door plays by itself), 1, 2 and 4 processes of `python -m app worker`, all on this
machine. The last row is LangChain's agent with `AsyncPostgresSaver`: it answers with the same model and keeps the
messages, without inbox, order, retries or anything that survives a kill. Every thread says something again as soon as
it is answered. "alone" is one thread: what a turn takes beyond the model's time; with workers less without is what the
queue adds. The CPU shares are those of the crowd.
"""

import asyncio

from benchmarks import peer_postgres
from benchmarks.crowd import Processes, measured, our_application
from benchmarks.processes import slow_model
from benchmarks.report import Row, arguments, show
from tests.support.postgres_server import PostgresServer, running

WORKERS = (0, 1, 2, 4)
SECONDS = 0.3


async def measure_all(server: PostgresServer, threads: int, turns: int, alone: int) -> list[Row]:
    """Measure each number of workers, and the other application."""
    rows: list[Row] = []
    async with slow_model(SECONDS) as (model, model_process):
        for workers in WORKERS:
            async with our_application(server.fresh(), model, workers, threads) as (say, worker_processes):
                processes = Processes(worker_processes, server.pid, model_process)
                row = await measured(say, processes, threads, turns, alone, SECONDS)
                rows.append({"application": f"ours, workers: {workers}", **row})
        async with peer_postgres.opened(server.fresh(), model) as say:
            processes = Processes([], server.pid, model_process)
            rows.append(
                {"application": "LangGraph's", **await measured(say, processes, threads, turns, alone, SECONDS)}
            )
    return rows


def main() -> None:
    """Measure."""
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=3, help="turns of each thread")
    parser.add_argument("--alone", type=int, default=20, help="turns of a thread that talks alone, before the others")
    chosen = parser.parse_args()
    with running(fsync="on") as server:
        rows = asyncio.run(measure_all(server, chosen.threads, chosen.turns, chosen.alone))
        show(rows, as_json=chosen.json, packages=("langgraph-checkpoint-postgres", "procrastinate", "psycopg"))


if __name__ == "__main__":
    main()
