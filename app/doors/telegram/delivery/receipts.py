"""Which answers of an unfinished turn were sent to a chat, so that a restart does not send them again."""

import hashlib
from collections.abc import Awaitable, Callable

from agents.events import Event, Images, Message, PrivateMessage
from agents.events.views import View
from agents.memory.store import Store, namespace_of
from app.doors.telegram.place import DOOR

Delivered = Message | PrivateMessage | View | Images


class Receipts:
    """What was delivered of a turn, as digests."""

    def __init__(self, store: Store, thread: str, turn: str) -> None:
        self._store, self._place, self._turn = store, namespace_of(thread, DOOR), turn
        self._before: list[str] = []
        self._now: list[str] = []
        self._pages: tuple[str, int] = "", 0
        self.shown: Callable[[int], Awaitable[None]] | None = None
        """Is called with each message that shows a part of the turn."""
        self.growing: int | None = None
        """The message that shows the answer so far; the answer takes its place, also after a restart."""

    async def read(self) -> None:
        """Recall what was delivered before the process ended."""
        if item := await self._store.aget(self._place, self._turn):
            self._before, self._now = list(item.value["delivered"]), list(item.value["delivered"])
            self._pages, self.growing = (item.value["digest"], item.value["pages"]), item.value["growing"]

    def take(self, event: Event) -> bool:
        """Tell whether the event was delivered before; each receipt counts once."""
        if not isinstance(event, Delivered):
            return False
        digest = _digest(event)
        is_known = digest in self._before
        if is_known:
            self._before.remove(digest)
        return is_known

    def pages(self, event: Event) -> "PageReceipts":
        """Return the receipts of the pages of an event that was not delivered as a whole."""
        digest = _digest(event) if isinstance(event, Delivered) else ""
        return PageReceipts(self, digest, self._pages[1] if digest and self._pages[0] == digest else 0)

    async def add(self, event: Event) -> None:
        """Note that the event was delivered."""
        if isinstance(event, Delivered):
            self._now.append(_digest(event))
            self._pages, self.growing = ("", 0), None
            await self._write()

    async def grow(self, message: int) -> None:
        """Note which message shows the answer so far."""
        if self.growing != message:
            self.growing = message
            await self._write()

    async def note(self, digest: str, pages: int, message: int | None) -> None:
        """Note that so many pages of an event were delivered, and which message shows the last of them."""
        # The message that showed the answer so far is its first page now, and is not to be changed again.
        self._pages, self.growing = (digest, pages), None
        await self._write()
        if message and self.shown:
            await self.shown(message)

    async def clear(self) -> None:
        """Forget the receipts: the turn is over, and its outcome stored."""
        if self._now or self._pages[1] or self.growing:
            await self._store.adelete(self._place, self._turn)

    async def _write(self) -> None:
        digest, pages = self._pages
        value = {"delivered": self._now, "digest": digest, "pages": pages, "growing": self.growing}
        await self._store.aput(self._place, self._turn, value)


class PageReceipts:
    """Which pages of one event were delivered, counted in the order in which they are sent."""

    def __init__(self, receipts: Receipts, digest: str, before: int) -> None:
        self._receipts, self._digest, self._before = receipts, digest, before
        self._place = 0

    def has_next(self) -> bool:
        """Go on to the next page, and tell whether it was delivered before."""
        self._place += 1
        return self._place <= self._before

    async def note(self, message: int | None = None) -> None:
        """Note that the page gone on to was delivered, in this message if that is known."""
        if self._digest:
            await self._receipts.note(self._digest, self._place, message)


def _digest(event: Delivered) -> str:
    match event:
        case View():
            # After a restart it comes again as a message with the view's words.
            words = event.text()
        case Images(images=images):
            words = " ".join(image["url"] for image in images)
        case Message(text=words) | PrivateMessage(text=words):
            pass
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()
