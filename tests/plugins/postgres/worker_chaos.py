"""Conversations through a door whose turns are played by workers; these and the server are killed and frozen.

`python -m tests.plugins.postgres.worker_chaos --threads 100 --turns 10 --kills 300 --server-kills 5` runs it by
hand and prints what came of it, as JSON.
"""

import asyncio
import os
import random
import signal
import time
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess

from agents.events import Error, Message
from app.assistant import Assistant, Turn
from app.databases import backend_of
from app.plugins.postgres import locks, worker
from app.plugins.postgres.playing import open_handing, play_for_doors
from app.process.exit_codes import STORAGE
from app.process.tasks import cancel
from app.settings import Settings
from tests.plugins.postgres.chaos import FROZEN, Chaos, Outcome, Plan, main
from tests.support.postgres_server import PostgresServer, running
from tests.support.until import moment
from tests.support.warm_process import FORK

GONE = 4.0
"""Seconds after which a worker counts as dead."""
LATEST = 0.3
"""Seconds after an answer in which something befalls the others."""
WARM = "warm"
"""The thread in which the first worker is waited for."""
AWAKE = 10.0
"""Seconds for which a frozen worker stays frozen: others have its turns by then."""


@dataclass
class DoorOutcome(Outcome):
    """The outcome of a run, and the door's texts."""

    wrongly_told: list[str] = field(default_factory=list)
    """Threads whose door was told something else than the one answer."""


def work(url: str) -> None:
    """Be a worker."""
    locks.FROZEN, worker.SILENCE = FROZEN, GONE
    asyncio.run(play_for_doors(settings_of(url), 16))


def settings_of(url: str) -> Settings:
    """Return the settings of the door and its workers."""
    return Settings(_env_file=None, llm_model="local:rules", app_lang="en", database_url=url)


class WorkerChaos(Chaos):
    """A door, workers, and what befalls them."""

    threads = "t"
    """The name prefix of the threads."""

    def __init__(self, plan: Plan, server: PostgresServer) -> None:
        self.plan, self._server, self._url = plan, server, server.fresh()
        self._random = random.Random(plan.seed)
        self._processes = list[BaseProcess]()
        self._answered, self._progress = 0, asyncio.Condition()
        self._frozen = list[asyncio.Task[None]]()
        self.outcome = self._told = DoorOutcome(turns=plan.threads * plan.turns)

    async def run(self) -> Outcome:
        """Hold the conversations, and look at what is stored."""
        async with self._opened() as self._door:
            for _ in range(self.plan.workers):
                self._start()
            await self._played(WARM, 1)
            begun = time.monotonic()
            befalling, watching = asyncio.create_task(self._befall()), asyncio.create_task(self._watch())
            try:
                await asyncio.gather(*map(self._talk, self._names), befalling)
            finally:
                await cancel([watching])
                for process in self._processes:
                    process.kill()
        self.outcome.seconds = round(time.monotonic() - begun, 1)
        async with backend_of(self._url).open() as memory:
            for thread in self._names:
                await self._judge(thread, memory)
        return self.outcome

    _door: Assistant

    @property
    def _names(self) -> list[str]:
        return [f"{self.threads}{number}" for number in range(1, self.plan.threads + 1)]

    def _opened(self) -> AbstractAsyncContextManager[Assistant]:
        return open_handing(settings_of(self._url))

    def _start(self) -> None:
        process = FORK.Process(target=work, args=(self._url,), daemon=True)
        process.start()
        self._processes.append(process)

    async def _played(self, thread: str, number: int) -> bool:
        text = f"remind me tomorrow at 9 to call number {number}"
        turn = Turn(thread=thread, user=thread, text=text, id=f"m{number}", lang="en")
        events = [event async for event in self._door.play(turn)]
        if any(isinstance(event, Error) and event.code == STORAGE for event in events):
            return False
        answers = [event.text for event in events if isinstance(event, Message)]
        if answers != [f"Set: {number}. call number {number}: tomorrow at 9 am."]:
            self._told.wrongly_told.append(f"{thread} {answers}")
        async with self._progress:
            self._answered += thread != WARM
            self._progress.notify_all()
        return True

    async def _befall(self) -> None:
        faults = ["kill"] * self.plan.kills + ["server"] * self.plan.server_kills + ["freeze"] * self.plan.freezes
        self._random.shuffle(faults)
        for number, fault in enumerate(faults):
            # The faults are spread over the conversations, however fast these are.
            needed = self.outcome.turns * number // len(faults)
            async with self._progress:
                await self._progress.wait_for(partial(self._has_answered, needed))
            await moment(LATEST, chance=self._random)
            self.outcome.faults[fault] = self.outcome.faults.get(fault, 0) + 1
            if fault == "server":
                await asyncio.to_thread(self._server.kill)
                await asyncio.to_thread(self._server.start)
            elif fault == "freeze":
                self._frozen.append(asyncio.create_task(self._freeze(self._random.choice(self._processes))))
            else:
                await self._replace(self._random.choice(self._processes))
        await asyncio.gather(*self._frozen)

    def _has_answered(self, turns: int) -> bool:
        return self._answered >= turns

    async def _freeze(self, process: BaseProcess) -> None:
        """Freeze a worker until others have its turns; then it wakes up, unless it was killed meanwhile."""
        assert process.pid is not None
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)
            await asyncio.sleep(AWAKE)
            os.kill(process.pid, signal.SIGCONT)

    async def _watch(self) -> None:
        """Start a worker for each that has ended by itself, such as one that began while there was no server."""
        while True:
            await asyncio.sleep(0.2)
            for process in [each for each in self._processes if not each.is_alive()]:
                await self._replace(process)

    async def _replace(self, process: BaseProcess) -> None:
        process.kill()
        await asyncio.to_thread(process.join)
        if process in self._processes:
            self._processes.remove(process)
            self._start()


def befall(plan: Plan) -> DoorOutcome:
    """Start a server and have a plan befall it. Raises FileNotFoundError if PostgreSQL is not installed."""
    with running(fsync="on") as server:
        chaos = WorkerChaos(plan, server)
        asyncio.run(chaos.run())
        return chaos._told


if __name__ == "__main__":
    main(befall, __doc__, Plan())
