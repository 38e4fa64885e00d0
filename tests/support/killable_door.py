"""A door as a process that can be killed and started again in a moment, and a model that talks meanwhile.

A module that calls `main` imports the application once and then forks a process for each line of its standard input,
which names a database file and an address. It tells the number of the process, and how it ended.
"""

import asyncio
import json
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Self

from langchain_core.messages import BaseMessage

from agents.models import Models
from app.testing.script import Line
from tests.support.places import ROOT
from tests.support.scripted_assistant import ROLES, Echo

THINKS, SPEAKS = 0.02, 0.003
"""Seconds until the model's first word, and from word to word."""
LONG = "long"
"""A text with this word has an answer of two messages."""
WORD = re.compile(r"\bw\d{4}\b")
"""One such word stands in each text, and no two texts have the same."""
TIMES = 410
"""How often a word has to be repeated to make an answer of two messages."""


class Talking(asyncio.Event):
    """Lets the model say a word now and then."""

    async def wait(self) -> Literal[True]:
        """Wait for the next word."""
        await asyncio.sleep(SPEAKS)
        return True


class Talker(Echo):
    """A supervisor that repeats the user's words, and adds some of its own. No two processes say the same."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the last message with the number of the process behind it."""
        heard = super().next_line(role, messages)
        assert isinstance(heard, str)
        words = WORD.findall(heard)
        # Each message of a long answer shows to whom it belongs.
        tail = "".join(f" {words[-1]} {place:03}" for place in range(TIMES)) if LONG in heard else ""
        return f"{heard} says {os.getpid()} and goes on{tail}"


def talker() -> Models:
    """Return the models of the door."""
    return Talker(delays={"supervisor": THINKS}, gates={"supervisor": Talking()}).models(ROLES)


class KillableDoor:
    """Start the door's process, and kill it."""

    module: str
    """What serves, in a process for each line of its standard input."""

    def __init__(self, parent: asyncio.subprocess.Process, url: str, database: Path) -> None:
        self._parent, self._url, self._database = parent, url, database
        self._child = 0

    @classmethod
    @asynccontextmanager
    async def ready(cls, url: str, database: Path) -> AsyncIterator[Self]:
        """Import the application and wait until a process can be forked."""
        pipe = asyncio.subprocess.PIPE
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-m", cls.module, cwd=ROOT, stdin=pipe, stdout=pipe
        )
        door = cls(parent, url, database)
        try:
            await door._line()
            yield door
        finally:
            if door._child:
                await door.end(signal.SIGKILL)
            parent.stdin.close() if parent.stdin else None
            await parent.wait()

    async def start(self) -> None:
        """Start the door."""
        await self._tell({"url": self._url, "database": str(self._database)})
        self._child = await self._line()

    async def end(self, number: signal.Signals) -> int:
        """Send the process a signal and wait for its end; return its exit code, or the signal as a negative number."""
        os.kill(self._child, number)
        await self._tell({"wait": self._child})
        self._child = 0
        return int(await self._line())

    async def _tell(self, what: object) -> None:
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(what).encode() + b"\n")
        await self._parent.stdin.drain()

    async def _line(self) -> Any:
        assert self._parent.stdout is not None
        async with asyncio.timeout(120):
            return json.loads(await self._parent.stdout.readline())


def main(warm: Callable[[], Coroutine[Any, Any, None]], serve: Callable[[str, str], Coroutine[Any, Any, None]]) -> None:
    """Fork processes that serve, until the input ends."""
    asyncio.run(warm())
    _tell("ready")
    for line in sys.stdin:
        request = json.loads(line)
        if child := request.get("wait"):
            _, status = os.waitpid(child, 0)
            _tell(os.waitstatus_to_exitcode(status))
            continue
        # If one of our threads held a lock now, the child would hold it for ever.
        assert threading.active_count() == 1
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.run(serve(request["url"], request["database"]))
                code = 0
            except Exception:
                # Nobody else would tell why it has ended.
                traceback.print_exc()
            finally:
                os._exit(code)
        _tell(child)


def _tell(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()
