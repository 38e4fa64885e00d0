"""Processes that play one turn each and may be killed in it.

`python -m tests.support.killable_process` makes once what all turns need and then forks a process for every
line of its standard input: a Request as JSON. It answers each with a line, an Outcome. Other modules that
`serve` play it differently.
"""

import asyncio
import json
import os
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import pytest

from app.assistant import Turn
from app.composition import open_assistant
from app.settings import Settings
from tests.support.compiled import build_once
from tests.support.warm_process import WarmModule

WARM = ("hello", "add milk to my list", "hello again", "get to know me", "add bread to my list")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A turn to play; `clock` is the deviation of its process's clock, in seconds.

    `life` counts the processes that have been given the message.
    """

    database: str
    thread: str
    text: str
    id: str
    kill: float | None = None
    """Seconds until SIGKILL, from the start of the process or (`begun`) from the first event of the turn."""
    begun: bool = False
    clock: float = 0
    user: str | None = None
    life: int = 0
    step: int | None = None
    """The step of the SIGKILL, for a process that counts its steps."""
    since: str = "turn.start"
    """The type of the event from which the process counts its steps."""
    finely: bool = False
    """Whether it counts every commit to its database, not every trip."""
    source: str = "message"


Play = Callable[[Request, int], Coroutine[Any, Any, None]]
"""A function that plays a request and writes its events, as lines of JSON, to a pipe."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The report of a process before its end."""

    events: list[dict[str, Any]] = field(default_factory=list)
    killed: bool = False

    @property
    def cut(self) -> bool:
        """Whether the kill hit a running turn."""
        kinds = [event["type"] for event in self.events]
        return self.killed and "turn.start" in kinds and kinds[-1] != "turn.end"

    @property
    def said(self) -> list[str]:
        """Return the texts for the user."""
        return [event["text"] for event in self.events if event["type"] == "message"]


class Driver:
    """A running driver, from the test's side: it plays one request at a time, each in a process of its own."""

    def __init__(self, module: str) -> None:
        self._process = WarmModule(module)

    @staticmethod
    @asynccontextmanager
    async def start(module: str = "tests.support.killable_process") -> AsyncIterator["Driver"]:
        """Start a serving module and wait until it is warm, or take an earlier test's driver."""
        waiting = _idle_drivers(module)
        if not waiting:
            waiting.append(Driver(module))
            assert await waiting[-1]._process.line() == "ready"
        yield (driver := waiting.pop())
        # A failed test's driver may still have output, so no other test uses it.
        waiting.append(driver)

    async def play(self, request: Request) -> Outcome:
        """Play a turn in a process of its own."""
        self._process.tell(asdict(request))
        return Outcome(**await self._process.line())


@cache
def _idle_drivers(module: str) -> list[Driver]:
    """Return the drivers of a module that wait for a test: a start takes seconds."""
    return []


def serve(play: Play) -> None:
    """Play requests, each in a process of its own, until the input ends; the graph's parts are made once."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        build_once(patch)
        for number, text in enumerate(WARM):
            warm = Request(database=f"{folder}/warm.db", thread="warm", text=text, id=str(number))
            asyncio.run(play(warm, os.open(os.devnull, os.O_WRONLY)))
        _tell("ready")
        for line in sys.stdin:
            _tell(asdict(_fork(Request(**json.loads(line)), play)))


def _tell(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


def _fork(request: Request, play: Play) -> Outcome:
    # If one of our threads held a lock now, the child would hold it for ever.
    assert threading.active_count() == 1
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            _set_clock(request.clock)
            asyncio.run(play(request, writing))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    output = _read(reading, child, request)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or status == 0
    return Outcome(events=events_of(output), killed=killed)


def _read(pipe: int, child: int, request: Request) -> bytes:
    output = b""
    deadline = None if request.kill is None or request.begun else time.monotonic() + request.kill
    while True:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([pipe], [], [], wait)[0]:
            os.kill(child, signal.SIGKILL)
            deadline = None
        elif part := os.read(pipe, 2**16):
            if request.kill is not None and request.begun and not output:
                deadline = time.monotonic() + request.kill
            output += part
        else:
            return output


def events_of(output: bytes) -> list[dict[str, Any]]:
    """Return the events of a process before its end."""
    # The text after the last line break is half a line of a killed process.
    return [json.loads(line) for line in output.split(b"\n")[:-1]]


async def _play(request: Request, pipe: int) -> None:
    settings = Settings(_env_file=None, llm_model="local:rules", database_url=f"sqlite:///{request.database}")
    async with open_assistant(settings) as assistant:
        async for event in assistant.play(Turn(thread=request.thread, text=request.text, id=request.id)):
            os.write(pipe, json.dumps(event.plain()).encode() + b"\n")


def _set_clock(seconds: float) -> None:
    ticks, now = time.time_ns, time.time
    time.time_ns = lambda: ticks() + int(seconds * 1e9)
    time.time = lambda: now() + seconds


if __name__ == "__main__":
    serve(_play)
