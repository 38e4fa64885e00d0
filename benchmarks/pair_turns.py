"""Play the script once and print the times of its turns as one JSON object; `pair` runs this file in two checkouts.

The file runs in a process of its own. PYTHONPATH names the checkout that is measured, which may be an older commit:
therefore this file imports only names that both checkouts have. The arguments are a folder for the database and the
number of turns.
"""

import asyncio
import gc
import hashlib
import json
import sys
import time
from pathlib import Path

from benchmarks.conversation import ROUND, Step, script
from benchmarks.performing import Player, perform, stage


async def play(path: Path, steps: list[Step]) -> dict[str, list[float]]:
    """Play the steps on a new database; return the milliseconds of CPU and of wall clock of each turn."""
    player = Player()
    cpu, wall = list[float](), list[float]()
    async with stage(f"sqlite:///{path}", player) as assistant:
        before = time.process_time(), time.perf_counter()
        async for _ in perform(assistant, player, steps):
            after = time.process_time(), time.perf_counter()
            cpu.append((after[0] - before[0]) * 1000)
            wall.append((after[1] - before[1]) * 1000)
            # A list of all former prompts would cost memory and garbage collections.
            player.asked.clear()
            before = time.process_time(), time.perf_counter()
    return {"cpu_ms": cpu, "wall_ms": wall}


def main() -> None:
    """Play a short thread as a warm-up, then measure."""
    folder, turns = Path(sys.argv[1]), int(sys.argv[2])
    steps = script(turns)
    asyncio.run(play(folder / "warm.db", script(ROUND)))
    # A full collection takes as long as several turns: it must not fall into the turns of one checkout alone.
    gc.collect()
    gc.freeze()
    times = asyncio.run(play(folder / "pair.db", steps))
    print(json.dumps({"script": hashlib.sha256(repr(steps).encode()).hexdigest(), **times}))


if __name__ == "__main__":
    main()
