"""Notices sent through Telegram by a process that is not the bot: it only sends."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from app.assistant import Assistant
from app.assistant.clocks import Ring, Unreachable
from app.doors.telegram.bot import ServiceBot, silent_libraries
from app.doors.telegram.connection import connect
from app.doors.telegram.delivery.sender import Gone, Sender
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import Place, ThreadNames
from app.doors.telegram.thread_names import read_names


class NoticeSender:
    """Sends notices to Telegram: those of its chats there, those of other doors to one chat."""

    def __init__(self, assistant: Assistant, sender: Sender, lang: str, names: ThreadNames) -> None:
        self._assistant, self._sender = assistant, sender
        self._door = TelegramDoor(assistant, sender, lang=lang, names=names)
        self.threads = f"{names.prefix}*"
        """The threads of the bot's chats, as a GLOB pattern."""

    async def in_its_chat(self, ring: Ring) -> None:
        """Send a notice of a Telegram chat. Raises Unreachable if it did not reach the chat."""
        await self._door.deliver(ring)

    async def to(self, chat: int, ring: Ring) -> None:
        """Send a notice of another door to a chat. Raises Unreachable if it did not reach the chat."""
        try:
            if not await self._sender.say(Place(chat), ring.text, is_markdown=False):
                raise Unreachable
        except Gone:
            raise Unreachable from None
        await self._assistant.tell(ring.thread, ring.text, ring.id, ring.user)


@asynccontextmanager
async def open_sender(assistant: Assistant, token: str, url: str, lang: str) -> AsyncIterator[NoticeSender]:
    """Connect as the bot, to send and not to read.

    Raises:
        ConfigError: Telegram does not accept the token.
    """
    bot = ServiceBot(token, url.rstrip("/"))
    with silent_libraries():
        async with AsyncExitStack() as stack:
            stack.push_async_callback(bot.shutdown)
            await connect(bot)
            names = await read_names(assistant.memory, bot.id)
            yield NoticeSender(assistant, Sender(bot, names), lang, names)
