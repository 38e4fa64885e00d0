"""Measure the costs and savings of our saver beside LangGraph's own, which keeps every step of every turn.

`python -m benchmarks.saver`: the same thread with each, several times in turn, so that both meet the same load; the
models answer at once. Kills and clocks that go back are tests: `tests/engine/processes` and
`tests/engine/unit/memory/test_saver.py`.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import cast

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agents.memory import Memory
from agents.memory.checkpointer import Saver
from benchmarks.conversation import ROUND
from benchmarks.growth import Growth, grow
from benchmarks.report import Row, arguments, show

ROUNDS = 3


@asynccontextmanager
async def stock(memory: Memory) -> AsyncIterator[Memory]:
    """Replace our saver with LangGraph's own, on the same file."""
    async with AsyncSqliteSaver.from_conn_string(str(memory.storage.path)) as saver:
        yield replace(memory, saver=cast(Saver, saver))


async def measure(turns: int) -> list[Row]:
    """Play the thread with each saver, several times."""
    runs: dict[str, list[Growth]] = {"ours": [], "stock": []}
    for _ in range(ROUNDS):
        for name, kept in runs.items():
            with tempfile.TemporaryDirectory() as folder:
                change = stock if name == "stock" else None
                kept.append(await grow(Path(folder) / "saver.db", turns, change=change))
    return [
        {
            "saver": name,
            "CPU per turn, ms": median(cpu for run in kept for cpu in run.cpu_ms[ROUND:]),
            "bytes on disk, open": kept[-1].sizes[-1],
            "bytes on disk, closed": kept[-1].closed,
        }
        for name, kept in runs.items()
    ]


def main() -> None:
    """Measure."""
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=500)
    chosen = parser.parse_args()
    show(asyncio.run(measure(chosen.turns)), as_json=chosen.json)


if __name__ == "__main__":
    main()
