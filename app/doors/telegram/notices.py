"""What is sent unasked: notes to the operators, each until Telegram accepts it, and notices of another process."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from agents.memory.notes import Note, Notes
from app.assistant import Assistant
from app.doors.telegram.bot import ServiceBot, connected
from app.doors.telegram.delivery.sender import Gone, Sender
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import Place, read_names
from app.listing import moment
from app.tasks import Beside
from prompts import sentence

LOG = logging.getLogger(__name__)
LOOK = 10.0
"""Seconds between looks: other processes leave notes, too."""
RETRY = 30.0
"""Seconds until a note that could not be delivered is tried again."""
PATIENCE = 10.0
"""Seconds that a note on its way has at the end, so that it is not sent again at the next start."""


class Courier(Beside):
    """Carry notes to a chat; `lang` is the operators' language."""

    def __init__(self, notes: Notes, sender: Sender, chat: int, lang: str) -> None:
        self._notes, self._sender, self._to, self._lang = notes, sender, Place(chat), lang
        self.hands = asyncio.Lock()

    async def run(self) -> None:
        """Deliver the notes that wait and those that come, until cancelled."""
        while True:
            self._notes.changed.clear()
            try:
                for note in await self._notes.waiting():
                    await self._deliver(note)
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK):
                        await self._notes.changed.wait()
            except Gone:
                LOG.warning("HELP_OPERATOR_CHAT: it cannot be written to; a note waits")
                await asyncio.sleep(RETRY)
            except Exception:
                LOG.exception("notes could not be delivered")
                await asyncio.sleep(RETRY)

    async def _deliver(self, note: Note) -> None:
        about = {"thread": note.thread, "when": moment(note.at_ms), "text": note.text}
        async with self.hands:
            if await self._sender.say(self._to, sentence("telegram", "note", self._lang, **about), is_markdown=False):
                await self._notes.delivered(note)


@asynccontextmanager
async def delivering(notes: Notes, sender: Sender, chat: int, lang: str) -> AsyncIterator[None]:
    """Let a courier run during the block; at its end wait for the note on its way."""
    courier = Courier(notes, sender, chat, lang)
    async with courier:
        try:
            yield
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await courier.hands.acquire()


@asynccontextmanager
async def open_sender(assistant: Assistant, token: str, url: str, lang: str) -> AsyncIterator[TelegramDoor]:
    """Connect as the bot, beside its own process: to send notices, and not to read.

    Raises:
        ConfigError: Telegram does not accept the token.
    """
    bot = ServiceBot(token, url)
    async with connected(bot):
        names = await read_names(assistant.memory, bot.id)
        yield TelegramDoor(assistant, Sender(bot, names), lang=lang)
