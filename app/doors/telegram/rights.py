"""Who administers a group, asked of Telegram."""

import logging

from telegram import Bot, ChatMember
from telegram.error import TelegramError

from app.doors.telegram.place import Place, ThreadNames, chat_of

LOG = logging.getLogger(__name__)
ADMINISTRATORS = (ChatMember.OWNER, ChatMember.ADMINISTRATOR)


class Rights:
    """Tell who administers a group."""

    def __init__(self, bot: Bot, names: ThreadNames) -> None:
        self._bot, self._names = bot, names

    async def administers(self, place: Place, user: int | None = None) -> bool:
        """Tell whether a user, left out the one of the place, administers its group; in a private chat they do."""
        if not place.is_group or (user is None and place.is_anonymous):
            # Only administrators can write in the name of their group.
            return True
        user = user or chat_of(place.owner)
        if user is None:
            return False
        try:
            member = await self._bot.get_chat_member(self._names.now(place.chat), user)
        except TelegramError as failure:
            LOG.warning("chat %s: who administers it is not known (%s)", place.chat, type(failure).__name__)
            return False
        return member.status in ADMINISTRATORS
