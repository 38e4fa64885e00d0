"""One contestant in a process of its own, measured on demand: `peers` gives each its turn and reads the figures.

A request is a line of JSON on the standard input, its answer a line on the standard output.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from cProfile import Profile
from pathlib import Path
from typing import Any

from benchmarks.contest import entered
from benchmarks.contestant import Contestant
from benchmarks.conversation import ROUND, Step, script
from benchmarks.counts import OBSERVER, Calls
from benchmarks.growth import bytes_of
from benchmarks.instant import plain
from benchmarks.shares import profile, shares

LONGEST = 10_000


class Measuring:
    """A contestant at work in a folder; each measurement has a database of its own there."""

    def __init__(self, contestant: Contestant, folder: Path) -> None:
        self.contestant, self.folder = contestant, folder
        self._thread = AsyncExitStack()
        self._steps: Iterator[Step] = iter(script(LONGEST))
        self._path = folder / "thread.db"

    async def begin(self) -> dict[str, Any]:
        """Warm up on a short thread, and open the growing thread."""
        async with entered(self.contestant, self.folder / "warm.db") as (_, play):
            for step in script(ROUND):
                await play(step, "warm")
        self._player, self._play = await self._thread.enter_async_context(entered(self.contestant, self._path))
        return {}

    async def turns(self, count: int) -> dict[str, Any]:
        """Play so many more turns of the growing thread, and return each one's CPU time and bytes on disk."""
        lists: dict[str, list[float]] = {"cpu_ms": [], "wall_ms": [], "bytes": [], "characters": []}
        for _ in range(count):
            step = next(self._steps)
            before = time.process_time(), time.perf_counter()
            await self._play(step, "script")
            cpu, wall = time.process_time() - before[0], time.perf_counter() - before[1]
            characters = sum(len(plain(call).prefix) for call in self._player.asked)
            # A record of the models' prompts would cost memory and garbage collections.
            self._player.asked.clear()
            for of, value in zip(
                lists.values(), (cpu * 1000, wall * 1000, bytes_of(self._path), characters), strict=True
            ):
                of.append(value)
        return lists

    async def close(self) -> dict[str, Any]:
        """Close the growing thread, and return its bytes on disk."""
        await self._thread.aclose()
        size = bytes_of(self._path)
        self._path.unlink()
        return {"closed": size}

    async def count(self, turns: int) -> dict[str, Any]:
        """Play a script of so many turns, and return the counts of its prompts."""
        async with entered(self.contestant, self.folder / f"count{turns}.db") as (player, play):
            numbers = list[int]()
            for number, step in enumerate(script(turns), 1):
                await play(step, "script")
                numbers += [number] * (len(player.asked) - len(numbers))
            calls = Calls([plain(call) for call in player.asked], numbers)
        models = len(calls.but(OBSERVER).asked)
        return {
            "calls": models,
            "observers": len(calls.asked) - models,
            "characters": calls.characters,
            "repeated": calls.repeated / calls.characters,
            "within": calls.within,
        }

    async def crowd(self, threads: int, turns: int) -> dict[str, Any]:
        """Play so many threads of so many turns at once, and return turns per second and CPU ms per turn."""
        return await self._crowd(threads, turns, None)

    async def profile(self, threads: int, turns: int) -> dict[str, Any]:
        """Play a crowd under a profiler, and return each package's share of the time."""
        taken = profile()
        await self._crowd(threads, turns, taken)
        return shares(taken)

    async def _crowd(self, threads: int, turns: int, taken: Profile | None) -> dict[str, Any]:
        path = self.folder / "crowd.db"
        async with entered(self.contestant, path) as (player, play):

            async def talk(thread: str) -> None:
                for step in script(turns):
                    await play(step, thread)

            gc.collect()
            before = time.process_time(), time.perf_counter()
            if taken:
                taken.enable()
            await asyncio.gather(*(talk(f"thread-{number}") for number in range(threads)))
            if taken:
                taken.disable()
            cpu, wall = time.process_time() - before[0], time.perf_counter() - before[1]
            player.asked.clear()
        path.unlink()
        return {"per_second": threads * turns / wall, "cpu_ms": cpu * 1000 / (threads * turns)}


async def _serve(contestant: Contestant, folder: Path) -> None:
    measuring = Measuring(contestant, folder)
    # Nothing runs between two requests, so the wait for the next one may block the loop.
    for line in sys.stdin:
        name, *values = json.loads(line)
        print(json.dumps(await getattr(measuring, name)(*values)), flush=True)


def main() -> None:
    """Serve the requests that come in; the arguments are the contestant as JSON and a folder."""
    asyncio.run(_serve(Contestant(**json.loads(sys.argv[1])), Path(sys.argv[2])))


if __name__ == "__main__":
    main()
