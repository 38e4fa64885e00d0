"""Long polling: the bot asks for updates, batch by batch, and acknowledges them when the inbox has them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from telegram import Update, WebhookInfo
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError, TimedOut

from app.plugins.telegram.bot import FIRST_WAIT, LONGEST_WAIT, ServiceBot, note, retrying
from app.process.tasks import BackgroundTask

LOG = logging.getLogger(__name__)
Take = Callable[[Update], Awaitable[None]]
"""Takes an update in. Raises TelegramError if it is not stored; then Telegram has to bring it again."""
STOPPED = "stopped_message_generation"
"""The update of a draft's stop button, which is newer than the library."""
WANTED = (
    Update.MESSAGE,
    Update.EDITED_MESSAGE,
    Update.CALLBACK_QUERY,
    Update.MESSAGE_REACTION,
    Update.MY_CHAT_MEMBER,
    STOPPED,
)
LONG_POLL = 10
"""Seconds for which Telegram waits for an update before it sends an empty answer."""
STALLED = 90.0
"""The most seconds for a request and its updates; a longer one hangs, and is begun anew."""


class Poller(BackgroundTask):
    """Asks for updates until cancelled, or until Telegram no longer accepts the token."""

    def __init__(self, bot: ServiceBot, take: Take) -> None:
        self._bot, self._take = bot, take
        self._offset: int | None = None

    async def run(self) -> None:
        """Take the updates in, in their order."""
        wait = 0.0
        while True:
            failure = await self._ask()
            if isinstance(failure, InvalidToken):
                self._bot.refuse()
                return
            if isinstance(failure, RetryAfter):
                wait = float(failure.retry_after)  # type: ignore[arg-type]  # seconds, unless a timedelta is asked for
            else:
                wait = min(LONGEST_WAIT, 1.5 * wait or FIRST_WAIT) if failure else 0.0
            await asyncio.sleep(wait)

    async def _ask(self) -> Exception | None:
        """Take one batch in; return the failure, if there was one."""
        try:
            async with asyncio.timeout(STALLED):
                updates = await self._bot.get_updates(self._offset, timeout=LONG_POLL, allowed_updates=WANTED)
                for update in updates:
                    await self._take(update)
                    self._offset = update.update_id + 1
        except (InvalidToken, RetryAfter) as refusal:
            return refusal
        except TimedOut:
            return None
        except Exception as failure:
            await self._tell(failure)
            return failure
        return None

    async def _tell(self, failure: Exception) -> None:
        """Log the reason why no messages come, and remove a webhook that keeps them away."""
        if isinstance(failure, Conflict) and "webhook" in failure.message:
            await remove_webhook(self._bot)
        elif isinstance(failure, TelegramError):
            note(failure)
        elif isinstance(failure, TimeoutError):
            LOG.error("asking for messages has hung for %d s; it is begun anew", STALLED)
        else:
            LOG.error("messages could not be taken in; they are asked for again", exc_info=failure)


async def remove_webhook(bot: ServiceBot) -> None:
    """Remove the bot's webhook, with a line in the log: with a webhook, nobody can ask for messages."""
    info: WebhookInfo = await retrying(note)(bot.get_webhook_info)
    if info.url:
        # Not the whole address: it may hold a secret.
        host = urlsplit(info.url).hostname
        LOG.warning("the bot had a webhook at %s; it is deleted, because messages are asked for from now on", host)
        await retrying(note)(bot.delete_webhook)
