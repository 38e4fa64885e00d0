"""What a chat is shown of an answer before it is whole: a draft in a private chat, elsewhere a message that grows."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Protocol

from telegram import InlineKeyboardButton, InlineKeyboardMarkup
from telegram.error import TelegramError

from agents.events import Event
from app.doors.telegram.delivery.buttons import OF, RETRY_COMMAND
from app.doors.telegram.delivery.pages import Page
from app.doors.telegram.delivery.progress import Progress
from app.doors.telegram.delivery.receipts import Receipts
from app.doors.telegram.delivery.sender import Sender
from app.doors.telegram.place import Place
from prompts import sentence

LOG = logging.getLogger(__name__)
DRAFT_EVERY = 1.0
"""Seconds between two frames of a draft."""
DRAFT_LASTS = 10.0
"""Seconds after which a draft is shown again though nothing has changed: Telegram hides it after thirty."""
GROWS_AFTER = 2.0
"""Seconds that an answer may take before a message that grows is sent; one that comes sooner needs none."""
GROWS_EVERY = 3.0
"""Seconds between two edits of that message: Telegram takes 20 requests a minute in a group."""
TYPING_EVERY = 4.0
"""Seconds; Telegram shows for five that somebody is typing."""
AGAIN_AFTER = 0.3
"""Seconds until a frame for which there was no room is tried again."""
MOST_REFUSALS = 3
"""Frames in a row that Telegram may refuse before no more are sent for this answer."""
STOP = "/stop"
_numbers = count(int(time.time()))

Lang = Callable[[], Awaitable[str]]


class Frames(Protocol):
    """Shows the frames of one answer."""

    message: int | None
    """The message that shows the answer so far, if there is one."""

    @property
    def every(self) -> float:
        """Seconds between two frames."""

    @property
    def lasts(self) -> float:
        """Seconds after which a frame is shown again though nothing has changed."""

    async def show(self, page: Page, lang: str) -> bool:
        """Show a frame; False if there was no room for it.

        Raises:
            TelegramError: Telegram refuses it.
        """


class Draft:
    """The frames as Telegram's own draft, with its button to stop."""

    every, lasts = DRAFT_EVERY, DRAFT_LASTS

    def __init__(self, sender: Sender, to: Place) -> None:
        self._sender, self._to = sender, to
        self.message: int | None = None
        self.id = next(_numbers)
        """The draft's number; the event of the stop button names it."""

    async def show(self, page: Page, lang: str) -> bool:
        """Show the frame as a draft; without a text Telegram shows that the answer is being thought of."""
        return await self._sender.draft(self._to, self.id, page)


class GrowingMessage:
    """The frames as one message that is edited, with buttons; until it is sent the bot is typing.

    The buttons stop the answer and, where it takes longer than usual (`is_slow`), begin it anew.
    """

    def __init__(self, sender: Sender, to: Place, owner: str, receipts: Receipts, *, is_slow: bool = False) -> None:
        self._sender, self._to, self._owner, self._receipts = sender, to, owner, receipts
        self._begins = asyncio.get_running_loop().time() + (0 if is_slow else GROWS_AFTER)
        self.message = receipts.growing
        self.is_slow = is_slow

    @property
    def every(self) -> float:
        """Seconds between two frames."""
        return GROWS_EVERY if self.message else GROWS_AFTER / 2

    @property
    def lasts(self) -> float:
        """Seconds after which a frame is shown again: typing again and again, a message once."""
        return DRAFT_LASTS if self.message else min(TYPING_EVERY, GROWS_AFTER)

    async def show(self, page: Page, lang: str) -> bool:
        """Send the message or edit it; before its time, let the bot type."""
        if asyncio.get_running_loop().time() < self._begins:
            return await self._sender.typing(self._to)
        commands = {"stop": STOP, **({"retry": RETRY_COMMAND} if self.is_slow else {})}
        row = [
            InlineKeyboardButton(sentence("telegram", name, lang), callback_data=f"{command}{OF}{self._owner}")
            for name, command in commands.items()
        ]
        page = page if page.text else Page("…")
        shown = await self._sender.grow(self._to, self.message, page, InlineKeyboardMarkup([row]))
        self.message = shown or self.message
        if shown:
            await self._receipts.grow(shown)
        return shown is not None


class LiveAnswer:
    """The answer to one message while it is made; frames are left out when Telegram takes no more."""

    def __init__(self, sender: Sender, to: Place, owner: str, lang: Lang, receipts: Receipts) -> None:
        self._sender, self._to, self._owner, self._lang = sender, to, owner, lang
        self._receipts = receipts
        self._progress, self._changed, self._drawing = Progress(), asyncio.Event(), asyncio.Lock()
        takes_drafts = sender.takes_drafts(to)
        self._frames: Frames = Draft(sender, to) if takes_drafts else GrowingMessage(sender, to, owner, receipts)
        self.draft = self._frames.id if isinstance(self._frames, Draft) else None
        """The number of the draft, if the answer is shown in one at first."""
        self._spoken = ""
        """The language of what the door says beside the answer, once it is known."""
        self._page: Page | None = None
        self._at = self._next = 0.0

    def note(self, event: Event) -> None:
        """Take the next event of the turn."""
        self._progress.note(event)
        self._changed.set()

    async def take(self) -> int | None:
        """Return the message that shows the answer so far, to be replaced by the answer itself; it grows no more."""
        async with self._drawing:
            message, self._frames.message = self._frames.message, None
            self._page = None
            return message

    async def close(self) -> None:
        """Take away what was shown and never replaced."""
        if message := await self.take():
            await self._sender.withdraw(self._to, message)

    async def run(self) -> None:
        """Show frames until cancelled."""
        refusals = 0
        while refusals < MOST_REFUSALS:
            try:
                await self._draw()
                refusals = 0
            except TelegramError as failure:
                refusals += 1
                LOG.info("chat %s: a frame is refused (%s)", self._to.chat, type(failure).__name__)
                self._fall_back()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._frames.lasts):
                    await self._changed.wait()
            self._changed.clear()
            await asyncio.sleep(max(0.0, self._next - _now()))

    async def _draw(self) -> None:
        async with self._drawing:
            if not self._progress.is_shown:
                return
            if self._at:
                self._spoken = self._spoken or await self._lang()
            if self._progress.is_slow:
                self._offer_retry()
            page, now = self._progress.page(self._spoken), _now()
            if page == self._page and now - self._at < self._frames.lasts:
                return
            self._at = now
            if await self._frames.show(page, self._spoken):
                self._page = page
                is_waiting = page.text == "" and isinstance(self._frames, Draft)
                # The first words need not wait after the sign of life.
                self._next = now if is_waiting else now + self._frames.every
            else:
                # It is tried again soon, with whatever there is to show by then.
                self._next = now + AGAIN_AFTER
                self._changed.set()

    def _offer_retry(self) -> None:
        """Show the answer in a message, since a draft has no button to try again."""
        if isinstance(self._frames, GrowingMessage):
            self._frames.is_slow = True
        else:
            self._frames = GrowingMessage(self._sender, self._to, self._owner, self._receipts, is_slow=True)

    def _fall_back(self) -> None:
        """Show the answer in a message if Telegram takes no drafts in this chat."""
        if isinstance(self._frames, Draft) and not self._sender.takes_drafts(self._to):
            self._frames = GrowingMessage(self._sender, self._to, self._owner, self._receipts)


def _now() -> float:
    return asyncio.get_running_loop().time()
