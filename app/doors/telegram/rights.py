"""Who administers a group: asked of Telegram, and known for a while."""

import logging
import time

from telegram import Bot, ChatMember
from telegram.error import TelegramError

from app.doors.telegram.place import Place, ThreadNames, chat_of

LOG = logging.getLogger(__name__)
KNOWN_FOR = 300.0
"""Seconds for which an answer of Telegram holds."""
MOST_KNOWN = 1000
"""Members of groups whose rights are known at a time."""
ADMINISTRATORS = (ChatMember.OWNER, ChatMember.ADMINISTRATOR)


class Rights:
    """Tell who administers a group."""

    def __init__(self, bot: Bot, names: ThreadNames) -> None:
        self._bot, self._names = bot, names
        self._known: dict[tuple[int, int], tuple[float, bool]] = {}

    async def administers(self, place: Place, user: int | None = None) -> bool:
        """Tell whether a user, left out the one of the place, administers its group; in a private chat they do."""
        if not place.is_group or (user is None and place.is_anonymous):
            # Only administrators can write in the name of their group.
            return True
        user = user or chat_of(place.owner)
        if user is None:
            return False
        chat, now = self._names.now(place.chat), time.monotonic()
        at, is_administrator = self._known.get((chat, user), (-KNOWN_FOR, False))
        if now - at < KNOWN_FOR:
            return is_administrator
        try:
            member = await self._bot.get_chat_member(chat, user)
        except TelegramError as failure:
            LOG.warning("chat %s: who administers it is not known (%s)", chat, type(failure).__name__)
            return False
        self._remember(chat, user, now, is_administrator=member.status in ADMINISTRATORS)
        return member.status in ADMINISTRATORS

    def _remember(self, chat: int, user: int, now: float, *, is_administrator: bool) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known = {key: known for key, known in self._known.items() if now - known[0] < KNOWN_FOR}
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[chat, user] = now, is_administrator
