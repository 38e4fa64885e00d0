"""Receipts of the sent answers of an unfinished turn: a restart does not send them again."""

import hashlib
from collections.abc import Awaitable, Callable

from agents.events import Event, Images, Message, PrivateMessage
from agents.events.views import View
from agents.memory.store import Store, namespace_of
from app.plugins.telegram.place import DOOR


class Receipts:
    """The receipts of a turn: digests of delivered events, and the number of delivered pages of a half-sent event."""

    def __init__(self, store: Store, thread: str, turn: str) -> None:
        self._store, self._place, self._turn = store, namespace_of(thread, DOOR), turn
        self._before: list[str] = []
        self._now: list[str] = []
        self._pages: tuple[str, int] = "", 0
        self._digest, self._skipped, self._page = "", 0, 0
        self.shown: Callable[[int], Awaitable[None]] | None = None
        """Called with each message that shows a part of the turn."""
        self.growing: int | None = None
        """The message with the answer so far; the whole answer replaces it, also after a restart."""

    async def read(self) -> None:
        """Read the receipts from before a restart."""
        if item := await self._store.aget(self._place, self._turn):
            self._before, self._now = list(item.value["delivered"]), list(item.value["delivered"])
            self._pages, self.growing = (item.value["digest"], item.value["pages"]), item.value["growing"]

    def begin(self, event: Event) -> bool:
        """Begin with the first page of an event; False if the event was delivered before. A receipt counts once."""
        self._digest, self._page = _digest(event), 0
        if self._digest in self._before:
            self._before.remove(self._digest)
            return False
        digest, pages = self._pages
        self._skipped = pages if self._digest == digest else 0
        return True

    def has_next(self) -> bool:
        """Go on to the next page of the event, and tell whether it was delivered before."""
        self._page += 1
        return self._page <= self._skipped

    async def note(self, message: int | None = None) -> None:
        """Note that the page was delivered, in this message if that is known."""
        if not self._digest:
            return
        # The message with the answer so far is its first page now, and must not change again.
        self._pages, self.growing = (self._digest, self._page), None
        await self._write()
        if message and self.shown:
            await self.shown(message)

    async def add(self) -> None:
        """Note that the whole event was delivered."""
        if self._digest:
            self._now.append(self._digest)
            self._pages, self.growing = ("", 0), None
            await self._write()

    async def grow(self, message: int) -> None:
        """Note the message with the answer so far."""
        if self.growing != message:
            self.growing = message
            await self._write()

    async def clear(self) -> None:
        """Forget the receipts: the turn is over, and its outcome stored."""
        if self._now or self._pages[1] or self.growing:
            await self._store.adelete(self._place, self._turn)

    async def _write(self) -> None:
        digest, pages = self._pages
        value = {"delivered": self._now, "digest": digest, "pages": pages, "growing": self.growing}
        await self._store.aput(self._place, self._turn, value)


def _digest(event: Event) -> str:
    """Return the digest that identifies an event; empty for an event without a receipt."""
    match event:
        case View():
            # After a restart, the view comes again as a message with its words.
            words = event.text()
        case Images(images=images):
            words = " ".join(image["url"] for image in images)
        case Message(text=words) | PrivateMessage(text=words):
            pass
        case _:
            return ""
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()
