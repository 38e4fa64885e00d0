"""Where the bot can write: it is added to chats and thrown out of them, blocked and started again."""

from collections.abc import Callable

from telegram import ChatMember, ChatMemberRestricted, ChatMemberUpdated
from telegram.constants import ChatType

from agents.memory.inbox import now_ms
from agents.memory.store import Store
from app.doors.telegram.place import DOOR

MOST = 100_000
"""Chats that are recalled at the start; more would only be told once more that they cannot be written to."""
GROUPS = (ChatType.GROUP, ChatType.SUPERGROUP)
OUT = (ChatMember.LEFT, ChatMember.BANNED)


class Presence:
    """The chats that cannot be written to, as Telegram has told; a message from one of them ends that."""

    def __init__(self, store: Store, bot: int) -> None:
        self._store, self._place = store, (DOOR, str(bot), "away")
        self.away: set[int] = set()
        self.came_back: Callable[[int], None] = lambda chat: None
        """Is called with a chat that can be written to again."""

    async def read(self) -> None:
        """Recall the chats, as this or another process of the bot has noted them."""
        items = await self._store.asearch(self._place, limit=MOST)
        self.away.clear()
        self.away |= {int(item.key) for item in items}

    async def leave(self, chat: int) -> None:
        """Note that a chat cannot be written to."""
        self.away.add(chat)
        await self._store.aput(self._place, str(chat), {"since": now_ms()})

    async def come_back(self, chat: int) -> None:
        """Note that a chat can be written to, if that is new."""
        if chat in self.away:
            self.away.discard(chat)
            await self._store.adelete(self._place, str(chat))
            self.came_back(chat)

    async def change(self, change: ChatMemberUpdated) -> bool:
        """Note what the bot has become in a chat; tell whether it has just come into a group."""
        if not _may_write(change.new_chat_member):
            await self.leave(change.chat.id)
            return False
        await self.come_back(change.chat.id)
        return change.chat.type in GROUPS and change.old_chat_member.status in OUT


def _may_write(member: ChatMember) -> bool:
    if isinstance(member, ChatMemberRestricted):
        return member.is_member and member.can_send_messages
    return member.status not in OUT
