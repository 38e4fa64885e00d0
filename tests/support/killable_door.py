"""A door in a process that a test can kill and start again in a moment, and a talking model.

A module that calls `main` loads the doors' common parts once and then forks a process for each line of its standard
input, which names a database file and an address. It prints the number of the process, and its end.
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
from tests.support.scripted_assistant import ROLES, Echo
from tests.support.warm_process import WarmModule

THINKS, SPEAKS = 0.02, 0.003
"""Seconds until the model's first word, and from word to word."""
LONG = "long"
"""A text with this word has an answer of two messages."""
WORD = re.compile(r"\bw\d{4}\b")
"""One such word stands in each text, and no two texts have the same."""
TIMES = 410
"""Repetitions of a word that make an answer of two messages."""


class Talking(asyncio.Event):
    """The pace of the model's words."""

    async def wait(self) -> Literal[True]:
        """Wait for the next word."""
        await asyncio.sleep(SPEAKS)
        return True


class Talker(Echo):
    """A supervisor that repeats the user's words, and adds some of its own: no two processes give the same answer."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the last message with the number of the process after it."""
        heard = super().next_line(role, messages)
        assert isinstance(heard, str)
        words = WORD.findall(heard)
        # Each message of a long answer names its process.
        tail = "".join(f" {words[-1]} {place:03}" for place in range(TIMES)) if LONG in heard else ""
        return f"{heard} says {os.getpid()} and goes on{tail}"


def talker() -> Models:
    """Return the models of the door."""
    return Talker(delays={"supervisor": THINKS}, gates={"supervisor": Talking()}).models(ROLES)


class KillableDoor:
    """A door's process that a test can start and kill."""

    module: str
    """The module that serves, with a process for each line of its standard input."""

    def __init__(self, parent: WarmModule, url: str, database: Path) -> None:
        self._parent, self._url, self._database = parent, url, database
        self._child = 0

    @classmethod
    @asynccontextmanager
    async def ready(cls, url: str, database: Path) -> AsyncIterator[Self]:
        """Wait until a process can be forked."""
        parent = WarmModule(cls.module)
        door = cls(parent, url, database)
        try:
            await parent.line()
            yield door
        finally:
            if door._child:
                await door.end(signal.SIGKILL)
            await asyncio.to_thread(parent.end)

    async def start(self) -> None:
        """Start the door."""
        self._parent.tell({"url": self._url, "database": str(self._database)})
        self._child = await self._parent.line()

    async def end(self, number: signal.Signals) -> int:
        """Send the process a signal and wait for its end; return its exit code, or the signal as a negative number."""
        os.kill(self._child, number)
        self._parent.tell({"wait": self._child})
        self._child = 0
        return int(await self._parent.line())


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
                # Nothing else would report the reason of its end.
                traceback.print_exc()
            finally:
                os._exit(code)
        _tell(child)


def _tell(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()
