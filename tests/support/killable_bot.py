"""The Telegram door as a process that can be killed and started again in a moment.

`python -m tests.support.killable_bot` imports the application once and then forks a process for each line of its
standard input, which names a database file and a Bot API server. It tells the number of the process, and how it ended.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from langchain_core.messages import BaseMessage
from telegram.error import TelegramError

from agents.memory.store import namespace_of
from agents.models import Models
from app.assistant import Turn
from app.doors.telegram import flood_control, service
from app.doors.telegram.bot import ServiceBot
from app.doors.telegram.delivery import draft
from app.doors.telegram.updates import incoming
from app.process.logs import log_on_stderr
from app.process.tasks import cancelled_by
from app.settings import Settings
from app.testing.script import Line
from tests.support.busy_chats import LONG, PEOPLE, WORD
from tests.support.places import ROOT
from tests.support.scripted_assistant import ROLES, stage
from tests.support.telegram_people import Echo
from tests.support.telegram_server import TOKEN

THINKS, SPEAKS = 0.02, 0.003
"""Seconds until the model's first word, and from word to word."""
WINDOW = 0.03
"""Seconds in which two messages of a user are one."""
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
    """Return the models of the bot."""
    return Talker(delays={"supervisor": THINKS}, gates={"supervisor": Talking()}).models(ROLES)


class Bot:
    """Start the door's process, and kill it."""

    module = "tests.support.killable_bot"
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
        bot = cls(parent, url, database)
        try:
            await bot._line()
            yield bot
        finally:
            if bot._child:
                await bot.end(signal.SIGKILL)
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


async def _serve(url: str, database: str) -> None:
    """Answer messages until SIGTERM, as `python -m app telegram` does, with a model that repeats what it hears.

    What takes seconds takes hundredths of one, and Telegram takes all that is sent.
    """
    incoming.WINDOW = incoming.LONG_WINDOW = WINDOW
    draft.GROWS_AFTER, draft.GROWS_EVERY = 0.0, 0.05
    flood_control.BOT = flood_control.PRIVATE = flood_control.GROUP = 1000.0, 1000.0
    with log_on_stderr(detailed=True, content=False, secret=TOKEN), cancelled_by(signal.SIGTERM):
        try:
            async with stage(Path(database), talker(), settings()) as assistant, AsyncExitStack() as stack:
                for person in PEOPLE:
                    own = namespace_of(f"telegram-{person.user}", "settings")
                    await assistant.memory.store.aput(own, "busy", {"mode": person.busy})
                await stack.enter_async_context(service.open_door(assistant, ServiceBot(TOKEN, url), settings()))
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            return


@cache
def settings() -> Settings:
    """Return the settings of the bot."""
    return Settings(_env_file=None, telegram_allowed_users="*", turns_per_hour=0)


async def _warm() -> None:
    """Load once what every process would load again: the graph, the certificates, the client of HTTP."""
    with tempfile.TemporaryDirectory() as folder:
        async with stage(Path(folder) / "warm.db", talker(), settings()) as assistant:
            async for _ in assistant.play(Turn(thread="warm", text="hello")):
                pass
        with suppress(TelegramError):
            await ServiceBot(TOKEN, "http://127.0.0.1:9").initialize()


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


if __name__ == "__main__":
    main(_warm, _serve)
