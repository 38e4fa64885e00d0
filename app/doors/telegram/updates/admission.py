"""Which updates are for the bot, from whom they come, and who is told that they are not answered."""

import time
from collections import deque
from functools import partial

from telegram import Message, Update, User

from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import Place
from app.doors.telegram.updates.addressed import addressed, place_beside, place_of

REFUSE_EVERY = 3600.0
"""Seconds until somebody who is not answered is told so again."""
MOST_ALBUMS = 100
"""Albums that are remembered."""


class Admission:
    """Find out whether an update is for the bot, and from somebody whom it answers."""

    def __init__(self, door: TelegramDoor) -> None:
        self._door = door
        self._refused: dict[int, float] = {}
        """When who was told that they are not answered."""
        self._albums: deque[tuple[int, str]] = deque(maxlen=MOST_ALBUMS)
        """Albums of which a part is for the bot, by chat: only one part has the caption."""

    def addressee(self, update: Update) -> tuple[Place, str | None] | None:
        """Return where an update comes from and what of it is addressed to the bot; None if it is not for the bot."""
        user, names = update.effective_user, self._door.names
        if change := update.my_chat_member:
            return place_beside(change.chat, change.from_user, names), None
        if user is None:
            return None
        if reaction := update.message_reaction:
            place = place_beside(reaction.chat, user, names, reaction.message_id)
            return (place, None) if self._door.access.admits(user.id) else None
        if update.callback_query:
            message = update.callback_query.message
            return self._admitted(place_of(message, user, names), None, user) if message else None
        return self._of_message(update.message or update.edited_message, user)

    def _of_message(self, message: Message | None, user: User) -> tuple[Place, str | None] | None:
        # What the group's channel publishes is said to nobody here.
        if message is None or message.is_automatic_forward or (text := self._addressed(message)) is None:
            return None
        return self._admitted(place_of(message, user, self._door.names), text, user, message)

    def _addressed(self, message: Message) -> str | None:
        """Return the text that is addressed to the bot; the parts of an album go with the one that has the caption."""
        text, album = addressed(message, self._door.sender.bot.bot), message.media_group_id
        if album is None:
            return text
        if text is not None:
            self._albums.append((message.chat.id, album))
        elif (message.chat.id, album) in self._albums:
            return message.caption or ""
        return text

    def _admitted(
        self, place: Place, text: str | None, user: User, message: Message | None = None
    ) -> tuple[Place, str | None] | None:
        """Return place and text if their writer is answered; who is not is told so once in a while."""
        if self._door.access.admits(user.id) if not user.is_bot else place.is_anonymous and self._door.access.is_open:
            return place, text
        if not user.is_bot:
            self._once(place, user.id, "stranger", id=user.id)
        elif message and message.sender_chat:
            # Who hides behind the group, or behind a channel, could be anybody.
            self._once(place, message.sender_chat.id, "anonymous")
        return None

    def _once(self, place: Place, who: int, key: str, **variables: object) -> None:
        now = time.monotonic()
        self._refused = {id: at for id, at in self._refused.items() if now - at < REFUSE_EVERY}
        if who not in self._refused:
            self._refused[who] = now
            self._door.attend(place, partial(self._door.remark, place, key, **variables))
