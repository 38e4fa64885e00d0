"""Which answers of an unfinished turn were sent to a chat, so that a restart does not send them again."""

import hashlib

from agents.events import Event, Message, PrivateMessage
from agents.events.views import View
from agents.memory.store import Store, namespace_of
from app.telegram.place import DOOR


class Receipts:
    """What was delivered in a thread since the last turn that came to its end, as digests."""

    def __init__(self, store: Store, thread: str) -> None:
        self._store, self._place = store, namespace_of(thread, DOOR)
        self._before: list[str] = []
        self._now: list[str] = []

    async def read(self) -> None:
        """Recall what was delivered before the process ended."""
        item = await self._store.aget(self._place, DOOR)
        self._before = list(item.value["delivered"]) if item else []
        self._now = list(self._before)

    def take(self, event: Event) -> bool:
        """Tell whether the event was delivered before; each receipt counts once."""
        if not isinstance(event, Message | PrivateMessage | View):
            return False
        digest = _digest(event)
        is_known = digest in self._before
        if is_known:
            self._before.remove(digest)
        return is_known

    async def add(self, event: Event) -> None:
        """Note that the event was delivered."""
        if isinstance(event, Message | PrivateMessage | View):
            self._now.append(_digest(event))
            await self._store.aput(self._place, DOOR, {"delivered": self._now})

    async def clear(self) -> None:
        """Forget the receipts: the turn is over, and its outcome stored."""
        if self._now:
            await self._store.adelete(self._place, DOOR)


def _digest(event: Message | PrivateMessage | View) -> str:
    # After a restart a view comes again as a message with the view's words.
    words = event.text() if isinstance(event, View) else event.text
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()
