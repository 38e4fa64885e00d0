"""`python -m tests.plugins.telegram.killable_operators`: the operators' chat in Telegram, killed at one of its steps.

A file beside the database, with the suffix ".step", names the step; without it nothing is killed. Steps are the trips
to the database, from the first update of an operator on. A process that is to be killed does not look for news.
"""

import asyncio
import signal
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from agents.memory.updates import StoredUpdate
from app.plugins.seat import SeatSettings
from app.plugins.telegram import flood_control, service
from app.plugins.telegram.bot import ServiceBot
from app.plugins.telegram.settings import TelegramSettings
from app.plugins.telegram.updates import incoming, operator_posts
from app.process.tasks import cancelled_by
from app.settings import Settings
from tests.plugins.telegram.killable_bot import Bot, warm
from tests.support.killable_door import main
from tests.support.killable_writes import Steps, count
from tests.support.scripted_assistant import ROLES, Echo, stage
from tests.support.telegram_server import TOKEN

CHAT = -500


class Operators(Bot):
    """Start the door's process, and kill it."""

    module = "tests.plugins.telegram.killable_operators"


class Marked(Steps):
    """Steps that leave a mark, beside the file that names the last one, before they kill."""

    def __init__(self, file: Path) -> None:
        super().__init__(int(file.read_text()) if file.exists() else None)
        self._mark = file.with_suffix(".killed")

    def take(self) -> None:
        """Take a step."""
        if self.begun and self.taken + 1 == self.last:
            self._mark.touch()
        super().take()


async def _serve(url: str, database: str) -> None:
    """Answer messages until SIGTERM."""
    incoming.WINDOW = incoming.LONG_WINDOW = 0
    flood_control.BOT = flood_control.PRIVATE = flood_control.GROUP = 1000.0, 1000.0
    steps = Marked(Path(database).with_suffix(".step"))
    operator_posts.LOOK = 0.02 if steps.last is None else 60
    begin = operator_posts.OperatorPosting.begin

    def counted(chat: operator_posts.OperatorPosting, thread: str, update: object, stored: StoredUpdate) -> None:
        steps.begun = True
        begin(chat, thread, update, stored)  # type: ignore[arg-type]  # passed through

    setattr(operator_posts.OperatorPosting, "begin", counted)  # noqa: B010
    count(steps)
    settings, own = Settings(_env_file=None), TelegramSettings(telegram_allowed_users="*")
    seat = SeatSettings(operator_chat=CHAT, operator_users="*", seat_wait=3600)
    with cancelled_by(signal.SIGTERM), suppress(asyncio.CancelledError):
        async with (
            stage(Path(database), Echo().models(ROLES), settings, given=[seat]) as assistant,
            AsyncExitStack() as stack,
        ):
            await stack.enter_async_context(service.open_door(assistant, ServiceBot(TOKEN, url), settings, own))
            await asyncio.Event().wait()


if __name__ == "__main__":
    main(warm, _serve)
