"""A crowd of people who talk at once, each with a new message after each answer; and the application that answers.

It measures turns a second, the wait of each message, and the CPU time by process.
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
from app.composition.rankers import train
from app.settings import Settings
from benchmarks.processes import command, cpu_seconds
from benchmarks.report import Row

Say = Callable[[str, str], Awaitable[None]]
"""A function that says something in a thread, and waits for the answer."""


@asynccontextmanager
async def our_application(url: str, model: str, workers: int, people: int) -> AsyncIterator[tuple[Say, Sequence[int]]]:
    """Open a door in this process, and workers; yield the function to say something and the workers' process ids."""
    # The door of this process reads the variable as a worker does.
    os.environ["WORKERS"] = "yes" if workers else "no"
    settings = Settings(
        _env_file=None,
        llm_model="openai:slow",
        openai_base_url=model,
        openai_api_key="key",
        database_url=url,
        turns_per_hour=0,
        # The limits refuse nobody.
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
        # The first start of an installation trains them; that does not belong to a turn.
        await train(assistant.speakers, direct=settings.direct_switch)
        # After so many answered threads every worker has started.
        await crowd(say, 8 * workers + 1, 2, name="warm")
        await asyncio.sleep(workers)
        yield say, [process.pid for process in processes]


def way_into(assistant: Assistant) -> Say:
    """Return the function that says something to an assistant."""

    async def say(thread: str, text: str) -> None:
        types = [event.type async for event in assistant.play(Turn(thread=thread, text=text, lang="en"))]
        if "message" not in types:
            raise RuntimeError(f"no answer: {types}")

    return say


async def crowd(say: Say, threads: int, turns: int, *, name: str = "t", first: int = 0) -> list[float]:
    """Let `threads` people say something `turns` times each; return the seconds that each message waited."""
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
    """The processes with a CPU time of their own in the table; this process is the door."""

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
    """Measure one person, and then `threads` people at once; `seconds` is the model's time for an answer."""
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
