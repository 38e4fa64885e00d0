"""`python -m tests.plugins.telegram.killable_bot`: the Telegram door as a process that can be killed."""

import asyncio
import signal
import tempfile
from contextlib import AsyncExitStack, suppress
from functools import cache
from pathlib import Path

from telegram.error import TelegramError

from agents.memory.store import namespace_of
from app.assistant import Turn
from app.plugins.telegram import flood_control, service
from app.plugins.telegram.bot import ServiceBot
from app.plugins.telegram.delivery import draft
from app.plugins.telegram.settings import TelegramSettings
from app.plugins.telegram.updates import incoming
from app.process.logs import hidden, log_on_stderr
from app.process.tasks import cancelled_by
from app.settings import Settings
from tests.plugins.telegram.busy_chats import PEOPLE
from tests.support.killable_door import KillableDoor, main, talker
from tests.support.scripted_assistant import stage
from tests.support.telegram_server import TOKEN

WINDOW = 0.03
"""Seconds in which two messages of a user are one."""


class Bot(KillableDoor):
    """Start the bot's process, and kill it."""

    module = "tests.plugins.telegram.killable_bot"


async def _serve(url: str, database: str) -> None:
    """Answer messages until SIGTERM, as `python -m app telegram` does, with a model that repeats what it hears.

    What takes seconds takes hundredths of one, and Telegram takes all that is sent.
    """
    incoming.WINDOW = incoming.LONG_WINDOW = WINDOW
    draft.GROWS_AFTER, draft.GROWS_EVERY = 0.0, 0.05
    flood_control.BOT = flood_control.PRIVATE = flood_control.GROUP = 1000.0, 1000.0
    with hidden(TOKEN), log_on_stderr(detailed=True, content=False), cancelled_by(signal.SIGTERM):
        try:
            async with stage(Path(database), talker(), settings()[0]) as assistant, AsyncExitStack() as stack:
                for person in PEOPLE:
                    own = namespace_of(f"telegram-{person.user}", "settings")
                    await assistant.memory.store.aput(own, "busy", {"mode": person.busy})
                await stack.enter_async_context(service.open_door(assistant, ServiceBot(TOKEN, url), *settings()))
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            return


@cache
def settings() -> tuple[Settings, TelegramSettings]:
    """Return the settings of the application, and of the bot."""
    return Settings(_env_file=None, turns_per_hour=0), TelegramSettings(telegram_allowed_users="*")


async def warm() -> None:
    """Load once what every process would load again: the graph, the certificates, the client of HTTP."""
    with tempfile.TemporaryDirectory() as folder:
        async with stage(Path(folder) / "warm.db", talker(), settings()[0]) as assistant:
            async for _ in assistant.play(Turn(thread="warm", text="hello")):
                pass
        with suppress(TelegramError):
            await ServiceBot(TOKEN, "http://127.0.0.1:9").initialize()


if __name__ == "__main__":
    main(warm, _serve)
