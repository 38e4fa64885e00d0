"""Updates from Telegram: refuse strangers, store each update before it is acknowledged, have it done."""

import asyncio
import json
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from telegram import Bot, Message, Update, User
from telegram.constants import ChatType
from telegram.error import TelegramError

from agents.memory.inbox_updates import StoredUpdate
from app.doors.slash_commands import parse
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.files import is_foreign
from app.doors.telegram.place import Place
from app.doors.telegram.thread_names import door_of, move
from app.doors.telegram.updates.addressed import addressed, place_beside, place_of
from app.doors.telegram.updates.dispatch import Dispatch
from app.doors.telegram.updates.keys import key_of
from app.doors.telegram.updates.statistics import Faults

LOG = logging.getLogger(__name__)
STOPPED = "stopped_message_generation"
"""The update of a draft's stop button, which is newer than the library."""
WANTED = (
    Update.MESSAGE,
    Update.EDITED_MESSAGE,
    Update.CALLBACK_QUERY,
    Update.MESSAGE_REACTION,
    Update.MY_CHAT_MEMBER,
    STOPPED,
)
REFUSE_EVERY = 3600.0
ALBUMS = 100
"""Albums that are remembered."""


class Inbox(asyncio.Queue[object]):
    """Take updates from the poller, which acknowledges an update only after `put` has returned."""

    def __init__(self, door: TelegramDoor, bot: Bot, faults: Faults) -> None:
        super().__init__()
        self._door, self._bot = door, bot
        self._key = door_of(bot.id)
        self._dispatch = Dispatch(door, bot.bot, faults)
        self._in_hand: set[int] = set()
        """The rows that this process has taken up."""
        self._refused: dict[int, float] = {}
        self._albums: deque[tuple[int, str]] = deque(maxlen=ALBUMS)
        """Albums of which a part is for the bot, by chat: only one part has the caption."""

    async def put(self, item: object) -> None:
        """Take an update in, once.

        Raises:
            TelegramError: it could not be stored; the poller will bring it again.
        """
        if not isinstance(item, Update):
            return
        if stopped := item.api_kwargs.get(STOPPED):
            self._stop(stopped)
            return
        try:
            await self._move(item)
            await self._let_in(item)
            if (addressee := self._addressee(item)) is None:
                return
            updates, thread = self._door.assistant.memory.updates, addressee[0].thread
            stored = await updates.take(self._key, key_of(item), _body(item), thread)
            await self._hand_on(item, stored, *addressee)
        except sqlite3.Error as failure:
            LOG.error("an update could not be stored (%s); it is asked for again", type(failure).__name__)
            raise TelegramError("not stored") from failure

    async def recover(self) -> None:
        """Take up what was received and not done before the process ended, in its order."""
        waiting = await self._door.assistant.memory.updates.open(self._key)
        for stored in waiting:
            update = Update.de_json(json.loads(stored.body or "{}"), self._bot)
            if (addressee := self._addressee(update)) is None:
                await self._door.assistant.memory.updates.close(stored.id)
            else:
                place, text = addressee
                # The chat may hold another conversation by now.
                await self._hand_on(update, stored, place.at(stored.thread), text)

    async def _hand_on(self, update: Update, stored: StoredUpdate, place: Place, text: str | None) -> None:
        """Have an update done, unless that was begun.

        Raises:
            sqlite3.Error: something could not be stored; the update is as if it had not been taken up.
        """
        if stored.body is None or stored.id in self._in_hand:
            return
        self._in_hand.add(stored.id)
        try:
            self._door.reached(place)
            await self._dispatch.take(place, update, stored, text)
        except sqlite3.Error:
            self._in_hand.remove(stored.id)
            raise
        except Exception:
            # One update that is not understood must not keep the others waiting for ever.
            LOG.exception("update %s: something went wrong", update.update_id)
            await self._door.assistant.memory.updates.close(stored.id)

    async def _move(self, update: Update) -> None:
        """Take the threads of a group along that has become a supergroup; whoever did it need not be admitted."""
        message = update.message
        if message and message.migrate_to_chat_id:
            memory, names = self._door.assistant.memory, self._door.names
            await move(memory, self._bot.id, names, message.chat.id, message.migrate_to_chat_id)

    async def _let_in(self, update: Update) -> None:
        """Let somebody in who has opened a link with a code; in a group everybody would see the code."""
        message, user, access = update.message, update.effective_user, self._door.access
        if message is None or user is None or message.chat.type != ChatType.PRIVATE or is_foreign(message):
            return
        call = parse(message.text or "")
        if call and call[0] == "start" and call[1] and (welcome := await access.enter(user.id, call[1])):
            place = place_of(message, user, self._door.names)
            self._door.attend(place, partial(self._door.remark, place, welcome))
            self._door.chats.start(self._door.offer_menus())

    def _stop(self, stopped: Mapping[str, Any]) -> None:
        """Stop an answer at once. Nothing is stored: after a restart there is no such answer any more."""
        chat = stopped["chat"]["id"]
        if self._door.access.admits(chat):
            self._door.stop_draft(stopped["draft_id"])

    def _addressee(self, update: Update) -> tuple[Place, str | None] | None:
        """Return where an update comes from and what of it is addressed to the bot; None if it is not for the bot."""
        query, user = update.callback_query, update.effective_user
        if change := update.my_chat_member:
            return place_beside(change.chat, change.from_user, self._door.names), None
        if (reaction := update.message_reaction) and user is not None:
            place = place_beside(reaction.chat, user, self._door.names, reaction.message_id)
            return (place, None) if self._door.access.admits(user.id) else None
        message = query.message if query else update.message or update.edited_message
        if message is None or user is None:
            return None
        if isinstance(message, Message) and not query and message.is_automatic_forward:
            # What the group's channel publishes is said to nobody here.
            return None
        place = place_of(message, user, self._door.names)
        text = self._addressed(message) if isinstance(message, Message) and not query else None
        if (text is None and not query) or not self._is_admitted(place, message, user):
            return None
        return place, text

    def _addressed(self, message: Message) -> str | None:
        """Return the text that is addressed to the bot; the parts of an album go with the one that has the caption."""
        text, album = addressed(message, self._bot.bot), message.media_group_id
        if album is None:
            return text
        if text is not None:
            self._albums.append((message.chat.id, album))
        elif (message.chat.id, album) in self._albums:
            return message.caption or ""
        return text

    def _is_admitted(self, place: Place, message: object, user: User) -> bool:
        """Tell whether a writer is answered; who is not is told so once in a while, and nothing of it is kept."""
        if user.is_bot:
            behind = message.sender_chat if isinstance(message, Message) else None
            if place.is_anonymous and self._door.access.is_open:
                return True
            if behind:
                # Who hides behind the group, or behind a channel, could be anybody.
                self._once(place, behind.id, "anonymous")
            return False
        if self._door.access.admits(user.id):
            return True
        self._once(place, user.id, "stranger", id=user.id)
        return False

    def _once(self, place: Place, who: int, key: str, **variables: object) -> None:
        """Say a sentence to somebody who is not answered, once in a while."""
        now = time.monotonic()
        self._refused = {id: at for id, at in self._refused.items() if now - at < REFUSE_EVERY}
        if who not in self._refused:
            self._refused[who] = now
            self._door.attend(place, partial(self._door.remark, place, key, **variables))


def _body(update: Update) -> str:
    # The library leaves the time of a message that it cannot see as a moment.
    return json.dumps(update.to_dict(), ensure_ascii=False, default=lambda moment: int(moment.timestamp()))
