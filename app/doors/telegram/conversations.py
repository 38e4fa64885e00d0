"""The conversations of a chat: one is held at a time, and the others can be gone back to."""

from agents.memory.store import Store
from app.doors.telegram.place import DOOR, Place, ThreadNames

MOST_CHATS = 100_000
"""Chats with more than one conversation that are recalled at the start."""


class Conversations:
    """Begin conversations and go back to them; which one a chat holds outlives a restart."""

    def __init__(self, store: Store, bot: int, names: ThreadNames) -> None:
        self._store, self._place, self._names = store, (DOOR, str(bot), "conversations"), names

    async def read(self) -> None:
        """Recall which conversation each chat holds."""
        for item in await self._store.asearch(self._place, limit=MOST_CHATS):
            self._names.held[item.key] = int(item.value["now"])

    async def begin(self, place: Place, number: str, row: int) -> Place:
        """Go to the conversation of that number, a new one if there is none; return where that is.

        `row` is the row of the update that asks for it: the same one again changes nothing.
        """
        base = self._names.base(place.chat, place.topic)
        item = await self._store.aget(self._place, base)
        value = dict(item.value) if item else {"now": 1, "last": 1, "row": 0}
        if value["row"] != row:
            is_there = number.isdecimal() and 1 <= int(number[:9]) <= value["last"]
            now = int(number) if is_there else value["last"] + 1
            value = {"now": now, "last": max(now, value["last"]), "row": row}
            await self._store.aput(self._place, base, value)
        self._names.held[base] = value["now"]
        return place.at(self._names.thread(place.chat, place.topic))
