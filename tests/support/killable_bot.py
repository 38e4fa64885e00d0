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
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

from agents.memory.store import namespace_of
from app.assistant import Turn
from app.logs import log_on_stderr
from app.settings import Settings
from app.signals import cancelled_by
from app.telegram import incoming, service
from app.telegram.bot import ServiceBot
from tests.support.places import ROOT
from tests.support.scripted_assistant import ROLES, stage
from tests.support.telegram_people import Echo
from tests.support.telegram_server import TOKEN, BotApi

USERS = (11, 22, 33, 44, 55, 66)
THINKS = 0.02
"""Seconds that the model takes for an answer."""


class Bot:
    """Start the door's process, and kill it."""

    def __init__(self, parent: asyncio.subprocess.Process, api: BotApi, database: Path) -> None:
        self._parent, self._api, self._database = parent, api, database
        self._child = 0

    @classmethod
    @asynccontextmanager
    async def ready(cls, api: BotApi, database: Path) -> AsyncIterator[Self]:
        """Import the application and wait until a process can be forked."""
        pipe = asyncio.subprocess.PIPE
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.support.killable_bot", cwd=ROOT, stdin=pipe, stdout=pipe
        )
        bot = cls(parent, api, database)
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
        await self._tell({"url": self._api.url, "database": str(self._database)})
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

    Every message is a turn of its own, so that each can be looked for.
    """
    settings = Settings(_env_file=None, telegram_allowed_users="*")
    incoming.WINDOW = 0.0
    with log_on_stderr(detailed=True, content=False, secret=TOKEN), cancelled_by(signal.SIGTERM):
        try:
            models = Echo(delays={"supervisor": THINKS}).models(ROLES)
            async with stage(Path(database), models) as assistant, AsyncExitStack() as stack:
                for user in USERS:
                    settings_of = namespace_of(f"telegram-{user}", "settings")
                    await assistant.memory.store.aput(settings_of, "busy", {"mode": "queue"})
                await stack.enter_async_context(service.open_door(assistant, ServiceBot(TOKEN, url), settings))
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            return


async def _warm() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with stage(Path(folder) / "warm.db", Echo().models(ROLES)) as assistant:
            async for _ in assistant.play(Turn(thread="warm", text="hello")):
                pass


def main() -> None:
    """Fork processes until there is nothing more to read."""
    asyncio.run(_warm())
    _tell("ready")
    for line in sys.stdin:
        request = json.loads(line)
        if child := request.get("wait"):
            _, status = os.waitpid(child, 0)
            _tell(os.waitstatus_to_exitcode(status))
            continue
        # A thread of ours that held a lock at this moment would hold it for ever in the child.
        assert threading.active_count() == 1
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.run(_serve(request["url"], request["database"]))
                code = 0
            finally:
                os._exit(code)
        _tell(child)


def _tell(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
