"""The display of an unfinished answer: a draft in a private chat, elsewhere a message that grows."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from itertools import count

from telegram import MessageEntity
from telegram.error import TelegramError

from agents.events import REBUILT, RETRY, Error, Event, Message, ModelStart, PrivateMessage, Token, ToolEnd, ToolStart
from agents.events.views import View
from app.plugins.telegram.delivery.buttons import command_buttons
from app.plugins.telegram.delivery.pages import LIMIT, MessagePage, pages, utf16_length
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.delivery.sender import Sender
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import TelegramPlace
from app.presentation.texts import tool_title
from app.process.tasks import BackgroundTask, loop_time, wait_for_event

LOG = logging.getLogger(__name__)
DRAFT_EVERY = 1.0
"""Seconds between two frames of a draft."""
DRAFT_LASTS = 10.0
"""Seconds after which an unchanged frame is shown again: Telegram hides a draft after thirty."""
GROWS_AFTER = 2.0
"""Seconds before a message that grows is sent; an answer that comes sooner needs none."""
GROWS_EVERY = 3.0
"""Seconds between two edits of that message: Telegram takes 20 requests a minute in a group."""
AGAIN_AFTER = 0.3
"""Seconds until the next try of a frame without room."""
MOST_REFUSALS = 3
"""The number of refused frames in a row after which an answer sends no more."""
_numbers = count(int(time.time()))

Lang = Callable[[], Awaitable[str]]


class LiveAnswer(BackgroundTask):
    """The display of an answer in progress; frames are left out when Telegram takes no more."""

    def __init__(self, sender: Sender, to: TelegramPlace, owner: str, lang: Lang, receipts: Receipts) -> None:
        self._sender, self._to, self._owner, self._lang = sender, to, owner, lang
        self._receipts = receipts
        self._progress, self._changed, self._drawing = DraftProgress(), asyncio.Event(), asyncio.Lock()
        self.draft = next(_numbers)
        """The number of the draft; the event of its stop button names it."""
        self._message = receipts.growing
        self._grows_from = loop_time() + GROWS_AFTER
        self._is_slow = False
        self._spoken = ""
        """The language of the door's own sentences beside the answer, once it is known."""
        self._page: MessagePage | None = None
        self._at = self._next = 0.0

    def note(self, event: Event) -> None:
        """Take the next event of the turn."""
        self._progress.note(event)
        self._changed.set()

    async def take(self) -> int | None:
        """Return the message with the answer so far. It grows no more, and the whole answer replaces it."""
        async with self._drawing:
            message, self._message = self._message, None
            self._page = None
            return message

    async def close(self) -> None:
        """Delete the message with the answer so far, unless the answer has replaced it."""
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
            await wait_for_event(self._changed, self._lasts)
            self._changed.clear()
            await asyncio.sleep(max(0.0, self._next - loop_time()))

    @property
    def _is_draft(self) -> bool:
        # A draft has no button to try again.
        return not self._is_slow and self._sender.takes_drafts(self._to)

    @property
    def _lasts(self) -> float:
        return DRAFT_LASTS if self._is_draft or self._message else GROWS_AFTER

    async def _draw(self) -> None:
        async with self._drawing:
            if not self._progress.is_shown:
                return
            if self._at:
                self._spoken = self._spoken or await self._lang()
            self._is_slow = self._is_slow or self._progress.is_slow
            page, now = self._progress.page(self._spoken), loop_time()
            if page == self._page and now - self._at < self._lasts:
                return
            self._at = now
            if await self._show(page):
                self._page = page
                # The first words need not wait after the sign of life.
                if self._is_draft:
                    self._next = now + (DRAFT_EVERY if page.text else 0.0)
                else:
                    self._next = now + (GROWS_EVERY if self._message else GROWS_AFTER / 2)
            else:
                # The next try comes soon, with the answer of that moment.
                self._next = now + AGAIN_AFTER
                self._changed.set()

    async def _show(self, page: MessagePage) -> bool:
        if self._is_draft:
            return await self._sender.draft(self._to, self.draft, page)
        if loop_time() < self._grows_from:
            return await self._sender.typing(self._to)
        buttons = command_buttons(self._owner, self._spoken, "stop", *(["retry"] if self._is_slow else []))
        shown = await self._sender.grow(self._to, self._message, page if page.text else MessagePage("…"), buttons)
        if shown:
            self._message = shown
            await self._receipts.grow(shown)
        return shown is not None


MOST_STEPS = 3
AT_WORK, DONE, FAILED = "⏳", "✓", "✗"
SLOW_AFTER = 20.0
"""Seconds without news after which the page says that the answer takes longer."""


class DraftProgress:
    """Collects the steps and the text of an unfinished answer from the events of its turn."""

    def __init__(self) -> None:
        self.text = ""
        self._steps: dict[str, tuple[str, str, str]] = {}
        self._is_answered = False
        self._news_at = loop_time()

    def note(self, event: Event) -> None:
        """Take the next event. A complete message is no longer in progress."""
        if isinstance(event, Token | ToolStart | ToolEnd | Message):
            self._news_at = loop_time()
        match event:
            case Token(text=text):
                self.text += text
            case ToolStart(id=id, tool=tool, speaker=speaker):
                self._steps[id or tool] = (AT_WORK, tool, speaker)
            case ToolEnd(id=id, tool=tool, speaker=speaker, ok=ok):
                self._steps[id or tool] = (DONE if ok else FAILED, tool, speaker)
            case ModelStart():
                self.text = ""
            case Error(code=code) if code in (RETRY, REBUILT):
                self.text = "" if code == RETRY else self.text
            case Message() | PrivateMessage() | View() | Error():
                self.text, self._is_answered = "", True
                self._steps.clear()

    @property
    def is_shown(self) -> bool:
        """Whether there is something to show: before the first answer always, since the page then shows "thinking"."""
        return bool(self.text.strip() or self._steps or not self._is_answered)

    @property
    def is_slow(self) -> bool:
        """Whether there was no news for `SLOW_AFTER` seconds."""
        return loop_time() - self._news_at >= SLOW_AFTER

    def page(self, lang: str) -> MessagePage:
        """Return the page: the steps, then the text so far, or an empty page. A long text shows its end."""
        steps = self._lines(lang)
        [*_, shown] = [MessagePage(""), *pages(self.text)]
        if not (steps and shown.text):
            return shown if shown.text else MessagePage(steps)
        both, entities = MessageEntity.concatenate((f"{steps}\n\n", ()), (shown.text, shown.entities))
        return MessagePage(both, tuple(entities)) if utf16_length(both) <= LIMIT else shown

    def _lines(self, lang: str) -> str:
        steps = [*self._steps.values()][-MOST_STEPS:]
        lines = [f"{sign} {tool_title(tool, speaker, lang)}" for sign, tool, speaker in steps]
        if lang and self.is_slow:
            lines.append(say("slow", lang))
        return "\n".join(lines)
