"""Measure how many turns a second workers play, before a model that takes 300 ms for an answer.

`python -m benchmarks.workers`: a PostgreSQL server of its own, a door, and 0 (the door plays by itself), 1, 2 and 4
processes of `python -m app worker`, all on this machine. Every thread says something again as soon as it is answered.
"""

import asyncio
import json
import os
import sys
import time
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import Process
from statistics import median

from app.assistant import Assistant, Turn
from app.composition.workers import open_for_door
from app.settings import Settings
from benchmarks.report import Row, arguments, show
from tests.support.loopback import listening
from tests.support.odd_provider import HEAD, read_request, words
from tests.support.places import ROOT
from tests.support.postgres_server import PostgresServer, running

WORKERS = (0, 1, 2, 4)
SECONDS = 0.3
ANSWER = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in words("Well, that is how it is."))


async def answer(reader: StreamReader, writer: StreamWriter) -> None:
    """Be a model that thinks for a while and says the same each time."""
    await read_request(reader)
    await asyncio.sleep(SECONDS)
    writer.write(HEAD + ANSWER.encode() + b"data: [DONE]\n\n")
    await writer.drain()
    writer.close()


async def talk(assistant: Assistant, thread: str, turns: int, waits: list[float]) -> None:
    """Say something so often, each time when the turn before is over."""
    for number in range(turns):
        begun = time.monotonic()
        turn = Turn(thread=thread, text=f"number {number}, please", lang="en")
        types = [event.type async for event in assistant.play(turn)]
        if "message" not in types:
            raise RuntimeError(f"no answer: {types}")
        waits.append(time.monotonic() - begun)


async def start(settings: Settings, url: str) -> Process:
    """Start a worker."""
    variables = {"LLM_MODEL": settings.llm_model, "OPENAI_BASE_URL": f"{settings.openai_base_url}"}
    variables |= {"OPENAI_API_KEY": "key", "DATABASE_URL": url, "WORKERS": "yes", "APP_LANG": "en"}
    call = sys.executable, "-m", "app", "worker", "--turns", "256"
    return await asyncio.create_subprocess_exec(*call, cwd=ROOT, env={**os.environ, **variables})


async def measure(server: PostgresServer, workers: int, threads: int, turns: int, model: str) -> Row:
    """Play so many turns in each of so many threads."""
    url = server.fresh()
    settings = Settings(
        _env_file=None,
        llm_model="openai:slow",
        openai_base_url=f"{model}/v1",
        openai_api_key="key",
        database_url=url,
        workers=workers > 0,
        turns_per_hour=0,
        app_lang="en",
    )
    async with open_for_door(settings) as assistant:
        processes = [await start(settings, url) for _ in range(workers)]
        try:
            # Every worker has started by the time that so many threads were answered.
            await asyncio.gather(*(talk(assistant, f"warm{number}", 2, []) for number in range(8 * workers + 1)))
            await asyncio.sleep(workers)
            begun, waits = time.monotonic(), list[float]()
            await asyncio.gather(*(talk(assistant, f"t{number}", turns, waits) for number in range(threads)))
            seconds = time.monotonic() - begun
        finally:
            for process in processes:
                process.terminate()
            await asyncio.gather(*(process.wait() for process in processes))
    slowest = sorted(waits)[len(waits) * 95 // 100]
    return {
        "workers": workers,
        "threads": threads,
        "turns a second": round(threads * turns / seconds, 1),
        "wait, median s": median(waits),
        "wait, 95 % s": slowest,
    }


async def measure_all(server: PostgresServer, threads: int, turns: int) -> list[Row]:
    """Measure with each number of workers."""
    async with listening(answer) as model:
        return [await measure(server, workers, threads, turns, model) for workers in WORKERS]


def main() -> None:
    """Measure."""
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    chosen = parser.parse_args()
    with running(fsync="on") as server:
        show(asyncio.run(measure_all(server, chosen.threads, chosen.turns)), as_json=chosen.json)


if __name__ == "__main__":
    main()
