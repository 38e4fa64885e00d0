"""Deliver notes to the operators' chat, in their order; each is tried until Telegram accepts it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from telegram import Bot
from telegram.error import RetryAfter, TelegramError

from agents.memory.notes import Note, Notes
from app.doors.telegram.bot import NO_PREVIEW
from app.doors.telegram.delivery.retries import seconds
from app.listing import moment
from app.tasks import cancel
from prompts import sentence

LOG = logging.getLogger(__name__)
LOOK = 10.0
"""Seconds between looks: other processes leave notes, too."""
RETRY = 30.0
"""Seconds until a note that Telegram did not take is tried again."""
PATIENCE = 10.0
"""Seconds that a note on its way has at the end, so that it is not sent again at the next start."""


class Courier:
    """Carry notes to a chat; `lang` is the operators' language."""

    def __init__(self, notes: Notes, bot: Bot, chat: int, lang: str) -> None:
        self._notes, self._bot, self._chat, self._lang = notes, bot, chat, lang
        self._is_closing = asyncio.Event()

    async def run(self) -> None:
        """Deliver the notes that wait and those that come, until closed."""
        while not self._is_closing.is_set():
            self._notes.changed.clear()
            await self._pause(await self._round())

    def close(self) -> None:
        """Begin with no further note."""
        self._is_closing.set()

    async def _round(self) -> float:
        """Deliver the notes that wait; return the seconds until the next look."""
        try:
            for note in await self._notes.waiting():
                if self._is_closing.is_set():
                    break
                await self._send(note)
                await self._notes.delivered(note)
        except RetryAfter as limit:
            return seconds(limit)
        except TelegramError as failure:
            LOG.warning("HELP_OPERATOR_CHAT: a note could not be delivered (%s)", type(failure).__name__)
            return RETRY
        except Exception:
            LOG.exception("notes could not be delivered")
            return RETRY
        return LOOK

    async def _send(self, note: Note) -> None:
        about = {"thread": note.thread, "when": moment(note.at_ms), "text": note.text}
        text = sentence("telegram", "note", self._lang, **about)
        await self._bot.send_message(self._chat, text, link_preview_options=NO_PREVIEW)

    async def _pause(self, wait: float) -> None:
        # A note that comes while Telegram refuses others would only be refused, too.
        events = [self._is_closing.wait(), *([self._notes.changed.wait()] if wait == LOOK else [])]
        waiting = [asyncio.create_task(event) for event in events]
        await asyncio.wait(waiting, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        await cancel(waiting)


@asynccontextmanager
async def delivering(notes: Notes, bot: Bot, chat: int, lang: str) -> AsyncIterator[None]:
    """Let a courier run during the block; at its end wait for the note on its way."""
    courier = Courier(notes, bot, chat, lang)
    task = asyncio.create_task(courier.run())
    try:
        yield
    finally:
        courier.close()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task], timeout=PATIENCE)
        await cancel([task])
