"""Conversations over several processes and a PostgreSQL server, which are killed and frozen meanwhile.

`python -m tests.plugins.postgres.chaos --threads 100 --turns 10 --kills 300 --server-kills 5` runs it by hand
and prints what came of it, as JSON.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from asyncio import StreamReader, StreamWriter
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agents.memory import Memory
from app.composition.databases import backend_of
from tests.plugins.postgres.killable_worker import work
from tests.support.postgres_server import PostgresServer, running
from tests.support.until import moment

FROZEN = 3.0
"""Seconds after which a process counts as frozen."""
PATIENCE = 5.0
"""Seconds after which a message that is not answered is given to another process."""
FORK = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Plan:
    """What is to happen."""

    workers: int = 3
    threads: int = 24
    turns: int = 5
    kills: int = 15
    server_kills: int = 2
    freezes: int = 1
    seed: int = 1


@dataclass
class Outcome:
    """What came of it; every list holds threads."""

    seconds: float = 0
    turns: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    """How often something was killed or frozen."""
    again: int = 0
    """How often a message was given to a process again."""
    unanswered: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    wrong_effects: list[str] = field(default_factory=list)
    wedged: list[str] = field(default_factory=list)
    """Messages still open."""


class Worker:
    """A process that plays turns, and what it was asked."""

    def __init__(self, pid: int, reader: StreamReader, writer: StreamWriter) -> None:
        self.pid, self._reader, self._writer = pid, reader, writer
        self._asked: dict[tuple[str, str], asyncio.Future[bool]] = {}

    async def play(self, thread: str, id: str, text: str) -> bool:
        """Have a message answered; False if it is not, or not in time."""
        answer = self._asked[thread, id] = asyncio.get_running_loop().create_future()
        self._writer.write(f"{json.dumps({'thread': thread, 'id': id, 'text': text})}\n".encode())
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                return bool(await answer)
        return False

    async def listen(self) -> None:
        """Hear answers until the process has ended."""
        with suppress(ConnectionError):
            while line := await self._reader.readline():
                order = json.loads(line)
                answer = self._asked.get((order["thread"], order["id"]))
                if answer and not answer.done():
                    answer.set_result(order["answered"])
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result(False)


class Chaos:
    """Workers on one database, and what befalls them."""

    def __init__(self, plan: Plan, server: PostgresServer, folder: Path) -> None:
        self.plan, self._server, self._url = plan, server, server.fresh()
        self._socket = str(folder / "s")
        self._random = random.Random(plan.seed)
        self._workers = list[Worker]()
        self._there = asyncio.Event()
        """Set while there is a worker."""
        self._processes = list[multiprocessing.process.BaseProcess]()
        self._listening = set[asyncio.Task[None]]()
        self.outcome = Outcome(turns=plan.threads * plan.turns)

    async def run(self) -> Outcome:
        """Hold the conversations, and look at what is stored."""
        async with backend_of(self._url).open():
            pass
        hearing = await asyncio.start_unix_server(self._connected, self._socket)
        for _ in range(self.plan.workers):
            self._start()
        await self._there.wait()
        begun = time.monotonic()
        befalling = asyncio.create_task(self._befall())
        try:
            await asyncio.gather(*(self._talk(f"t{number}") for number in range(self.plan.threads)), befalling)
        finally:
            for process in self._processes:
                process.kill()
            hearing.close()
        self.outcome.seconds = round(time.monotonic() - begun, 1)
        async with backend_of(self._url).open() as memory:
            for number in range(self.plan.threads):
                await self._judge(f"t{number}", memory)
        return self.outcome

    def _start(self) -> None:
        process = FORK.Process(target=work, args=(self._url, self._socket, FROZEN), daemon=True)
        process.start()
        self._processes.append(process)

    async def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        worker = Worker(json.loads(await reader.readline())["pid"], reader, writer)
        self._workers.append(worker)
        self._there.set()
        await worker.listen()
        self._workers.remove(worker)
        if not self._workers:
            self._there.clear()
        writer.close()

    async def _talk(self, thread: str) -> None:
        for number in range(1, self.plan.turns + 1):
            while not await self._played(thread, number):
                self.outcome.again += 1
                await asyncio.sleep(0.05)

    async def _played(self, thread: str, number: int) -> bool:
        await self._there.wait()
        text = f"remind me tomorrow at 9 to call number {number}"
        return await self._random.choice(self._workers).play(thread, f"m{number}", text)

    async def _befall(self) -> None:
        faults = ["kill"] * self.plan.kills + ["server"] * self.plan.server_kills + ["freeze"] * self.plan.freezes
        self._random.shuffle(faults)
        for fault in faults:
            await moment(1.0, 0.2, self._random)
            await self._there.wait()
            self.outcome.faults[fault] = self.outcome.faults.get(fault, 0) + 1
            if fault == "server":
                await asyncio.to_thread(self._server.kill)
                await asyncio.to_thread(self._server.start)
                continue
            pid = self._random.choice(self._workers).pid
            with suppress(ProcessLookupError):
                if fault == "freeze":
                    os.kill(pid, signal.SIGSTOP)
                    # Others take its threads over, and then it wakes up among them.
                    await asyncio.sleep(FROZEN + PATIENCE)
                    os.kill(pid, signal.SIGCONT)
                else:
                    os.kill(pid, signal.SIGKILL)
                    self._start()

    async def _judge(self, thread: str, memory: Memory) -> None:
        numbers = range(1, self.plan.turns + 1)
        lines = await memory.transcript.lines(thread)
        answers = Counter(line.message_id for line in lines if line.role == "assistant")
        said = [line.message_id for line in lines if line.role == "user"]
        sql = "SELECT number, text FROM reminders WHERE user = ? ORDER BY number"
        rows = await memory.database.execute(sql, (thread,))
        expected = [f"Set: {number}. call number {number}: tomorrow at 9 am." for number in numbers]
        if any(not answers[f"m{number}"] for number in numbers):
            self.outcome.unanswered.append(thread)
        if any(count > 1 for count in answers.values()):
            self.outcome.doubled.append(thread)
        if said != [f"m{number}" for number in numbers] or [it.text for it in lines if it.role != "user"] != expected:
            self.outcome.out_of_order.append(thread)
        if rows != [(number, f"call number {number}") for number in numbers]:
            self.outcome.wrong_effects.append(thread)
        if await memory.transcript.open_entries(thread):
            self.outcome.wedged.append(thread)


def befall(plan: Plan) -> Outcome:
    """Start a server and have a plan befall it. Raises FileNotFoundError if PostgreSQL is not installed."""
    FORK.set_forkserver_preload(["tests.plugins.postgres.killable_worker"])
    with running(fsync="on") as server, tempfile.TemporaryDirectory(dir="/tmp") as folder:
        return asyncio.run(Chaos(plan, server, Path(folder)).run())


def main(befall: Callable[[Plan], Outcome], about: str | None, usual: Plan) -> None:
    """Read a plan from the command line, and print its outcome."""
    options = argparse.ArgumentParser(description=about)
    for name, default in asdict(usual).items():
        options.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    sys.stdout.write(f"{json.dumps(asdict(befall(Plan(**vars(options.parse_args())))), indent=1)}\n")


if __name__ == "__main__":
    main(befall, __doc__, Plan())
