"""Many people who talk at once, each with the next message as soon as the one before is answered; and who answers them.

What is measured with them: turns a second, how long each waits, and whose CPU time it takes.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median

from app.assistant import Assistant, Turn
from app.composition.doors import open_for_door
from app.settings import Settings
from benchmarks.processes import command, cpu_seconds
from benchmarks.report import Row

Say = Callable[[str, str], Awaitable[None]]
"""Says something in a thread, and waits until it is answered."""


@asynccontextmanager
async def our_application(url: str, model: str, workers: int, people: int) -> AsyncIterator[tuple[Say, Sequence[int]]]:
    """Open a door in this process, and workers; give the way in and the processes of the workers."""
    # The door of this process reads it as a worker does.
    os.environ["WORKERS"] = "yes" if workers else "no"
    settings = Settings(
        _env_file=None,
        llm_model="openai:slow",
        openai_base_url=model,
        openai_api_key="key",
        database_url=url,
        turns_per_hour=0,
        # Nobody is turned away.
        turns_at_once=people,
        turns_waiting=10 * people,
        app_lang="en",
    )
    of_workers = {"LLM_MODEL": "openai:slow", "OPENAI_BASE_URL": model, "OPENAI_API_KEY": "key", "DATABASE_URL": url}
    of_workers |= {"WORKERS": "yes", "APP_LANG": "en"}
    async with AsyncExitStack() as stack:
        assistant = await stack.enter_async_context(open_for_door(settings))
        processes = [
            await stack.enter_async_context(command("app", "worker", settings=of_workers)) for _ in range(workers)
        ]
        say = way_into(assistant)
        # Every worker has started by the time that so many threads were answered.
        await crowd(say, 8 * workers + 1, 2, name="warm")
        await asyncio.sleep(workers)
        yield say, [process.pid for process in processes]


def way_into(assistant: Assistant) -> Say:
    """Return how to say something to an assistant."""

    async def say(thread: str, text: str) -> None:
        types = [event.type async for event in assistant.play(Turn(thread=thread, text=text, lang="en"))]
        if "message" not in types:
            raise RuntimeError(f"no answer: {types}")

    return say


async def crowd(say: Say, threads: int, turns: int, *, name: str = "t", first: int = 0) -> list[float]:
    """Let so many people say something so often; return the seconds for which each message waited."""
    waits = list[float]()

    async def talk(thread: str) -> None:
        for number in range(first, first + turns):
            begun = time.monotonic()
            await say(thread, f"number {number}, please")
            waits.append(time.monotonic() - begun)

    await asyncio.gather(*(talk(f"{name}{number}") for number in range(threads)))
    return waits


@dataclass(frozen=True)
class Processes:
    """The processes whose CPU time is told apart; this one is the door."""

    workers: Sequence[int]
    server: int
    model: int

    def cpu(self) -> Mapping[str, float]:
        """Return the CPU seconds of each part so far."""
        return {
            "door": sum(os.times()[:2]),
            "workers": sum(map(cpu_seconds, self.workers)),
            "server": cpu_seconds(self.server),
            "model": cpu_seconds(self.model),
        }


async def measured(say: Say, processes: Processes, threads: int, turns: int, alone: int, seconds: float) -> Row:
    """Measure one person, and then so many at once; `seconds` is what the model takes for an answer."""
    lone = await crowd(say, 1, alone, name="alone")
    before, begun = processes.cpu(), time.monotonic()
    waits = await crowd(say, threads, turns)
    passed = time.monotonic() - begun
    used = {name: cpu - before[name] for name, cpu in processes.cpu().items()}
    total, own = sum(used.values()), sum(used.values()) - used["model"]
    return {
        "threads": threads,
        "turns a second": threads * turns / passed,
        "wait, median s": median(waits),
        "wait, 95 % s": sorted(waits)[len(waits) * 95 // 100],
        "alone, ms beyond the model": (median(lone) - seconds) * 1000,
        "CPU a turn, ms": own * 1000 / (threads * turns),
        "cores busy": total / passed,
        **{f"{name} %": 100 * cpu / total for name, cpu in used.items()},
    }
