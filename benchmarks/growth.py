"""Measure whether a long thread costs more: CPU per turn, steps of the graph per turn, bytes on disk.

`python -m benchmarks.growth`: one thread of 500 turns on a real SQLite file; the models answer at once.
With `--profile` it prints a profile of the time instead.
"""

import asyncio
import cProfile
import pstats
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conversation import ROUND, script
from benchmarks.performing import Change, Player, perform, stage
from benchmarks.report import Row, arguments, show

TURNS = 500
MARKS = (10, 100)
"""The turns in the table, besides the last one."""
MOST_GROWTH, MOST_BYTES = 1.5, 1_500_000
FILES = ("", "-wal", "-shm", ".lock")


@dataclass(frozen=True)
class Growth:
    """The time of each turn of a thread, and the bytes on disk after it."""

    cpu_ms: list[float]
    loop_ms: list[float]
    """The part of `cpu_ms` spent on the event loop; the rest is SQLite's threads."""
    wall_ms: list[float]
    sizes: list[int]
    """Bytes of the database and its side files after each turn, while it is open."""
    closed: int
    steps: int


def around(turn: int, of: Sequence[float]) -> float:
    """Return the mean of `of` over the round of the script around `turn`, never the thread's first turn."""
    last = min(len(of), max(turn + ROUND // 2, ROUND + 1))
    window = of[max(last - ROUND, 0) : last]
    return sum(window) / len(window)


async def measure(turns: int, profile: cProfile.Profile | None = None) -> Growth:
    """Play a thread of so many turns, after a short one as a warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        await grow(Path(folder) / "warm.db", 2 * ROUND)
        return await grow(Path(folder) / "growth.db", turns, profile)


async def grow(path: Path, turns: int, profile: cProfile.Profile | None = None, change: Change | None = None) -> Growth:
    """Play a thread of so many turns into a new file; `change` replaces parts of the memory."""
    player = Player()
    cpu, loop, wall, sizes = list[float](), list[float](), list[float](), list[int]()
    async with stage(f"sqlite:///{path}", player, change=change) as assistant:
        performance = perform(assistant, player, script(turns))
        if profile:
            profile.enable()
        before = time.process_time(), time.thread_time(), time.perf_counter()
        async for _ in performance:
            after = time.process_time(), time.thread_time(), time.perf_counter()
            for of, begun, ended in zip((cpu, loop, wall), before, after, strict=True):
                of.append((ended - begun) * 1000)
            # The record of the models' prompts is not needed here, and would cost memory and garbage collections.
            player.asked.clear()
            sizes.append(bytes_of(path))
            before = time.process_time(), time.thread_time(), time.perf_counter()
        if profile:
            profile.disable()
        steps = _steps(path)
    return Growth(cpu, loop, wall, sizes, bytes_of(path), steps)


def bytes_of(path: Path) -> int:
    """Return the size of a database with its side files."""
    files = [path.with_name(path.name + ending) for ending in FILES]
    return sum(file.stat().st_size for file in files if file.exists())


def _steps(path: Path) -> int:
    """Return the number of the graph's steps: LangGraph numbers them in each thread."""
    with sqlite3.connect(path) as connection:
        step = "json_extract(CAST(metadata AS TEXT), '$.step')"
        rows = connection.execute(f"SELECT max({step}) + 2 FROM checkpoints").fetchone()
    connection.close()
    return int(rows[0])


def table(growth: Growth) -> list[Row]:
    """Return the claimed figures, with their targets."""
    turns = len(growth.cpu_ms)
    marks = (*(mark for mark in MARKS if mark < turns), turns)

    def row(measure: str, values: Sequence[float | None], ratio: float | None = None, target: str = "") -> Row:
        at_turn = {f"turn {mark}": value for mark, value in zip(marks, values, strict=True)}
        return {"measure": measure, **at_turn, "ratio": ratio, "target": target}

    def timed(measure: str, of: Sequence[float], target: str = "") -> Row:
        values = [around(mark, of) for mark in marks]
        return row(measure, values, values[-1] / values[0], target)

    blank = [None] * (len(marks) - 1)
    most = [max(growth.sizes[:mark]) for mark in marks]
    return [
        timed("CPU per turn, ms", growth.cpu_ms, f"ratio <= {MOST_GROWTH}"),
        timed("CPU of the event loop, ms", growth.loop_ms),
        timed("wall clock per turn, ms", growth.wall_ms),
        row("steps of the graph per turn", [*blank, growth.steps / turns]),
        row("bytes on disk, open", [growth.sizes[mark - 1] for mark in marks], target=f"< {MOST_BYTES:,}"),
        row("bytes on disk, most so far", most, target=f"< {MOST_BYTES:,}"),
        row("bytes on disk, closed", [*blank, growth.closed], target=f"< {MOST_BYTES:,}"),
    ]


def main() -> None:
    """Measure, or profile."""
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--profile", action="store_true", help="print the functions that take the time")
    chosen = parser.parse_args()
    profile = cProfile.Profile() if chosen.profile else None
    growth = asyncio.run(measure(chosen.turns, profile))
    if profile is None:
        show(table(growth), as_json=chosen.json)
        return
    statistics = pstats.Stats(profile)
    for order in ("tottime", "cumulative"):
        statistics.sort_stats(order).print_stats(40)


if __name__ == "__main__":
    main()
