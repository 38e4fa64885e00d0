"""The life of an update: it is admitted, stored before it is acknowledged, and done once, also over a restart."""

import asyncio
import hmac
import json
import logging
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from telegram import Message, Update, User
from telegram.constants import ChatType
from telegram.error import TelegramError

from agents.errors import DatabaseError
from agents.memory.inbox import InboxEntry
from agents.memory.updates import StoredUpdate
from app.doors.slash_commands import parse
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.messages import addressed, is_foreign, key_of_message, place_beside, place_of
from app.plugins.telegram.place import TelegramPlace, move
from app.plugins.telegram.updates.commands import offer_menus
from app.plugins.telegram.updates.dispatch import Dispatch
from app.plugins.telegram.updates.operator import Faults
from app.plugins.telegram.updates.operator_posts import OperatorPosting
from app.plugins.telegram.updates.polling import STOPPED
from app.plugins.telegram.updates.row import UpdateRow
from app.plugins.telegram.updates.taps import settle
from app.process.tasks import cancel

LOG = logging.getLogger(__name__)
TO_THE_END = 2.0
"""Seconds for which the end of the process waits for an update on its way in."""


class Inbox:
    """Takes updates in; an update is acknowledged only after `put` has returned.

    An update is a row until it is done: a message's row is closed with its turn, any other one when its answer is sent.
    The id of a message is the same each time its update comes.
    """

    def __init__(self, door: TelegramDoor, faults: Faults, operators: OperatorPosting | None = None) -> None:
        self._door, self._operators = door, operators
        self._admission = Admission(door)
        self._dispatch = Dispatch(door, faults)
        self._begun: set[int] = set()
        """The rows whose updates this process has begun."""

    async def put(self, item: Update) -> None:
        """Take an update in, once. Raises TelegramError if it is not stored; then Telegram has to bring it again."""
        taking = asyncio.create_task(self._put(item))
        try:
            await asyncio.shield(taking)
        except asyncio.CancelledError:
            # The row must equal the played message. So only a hanging step is broken off.
            await asyncio.wait([taking], timeout=TO_THE_END)
            await cancel([taking])
            raise

    async def _put(self, item: Update) -> None:
        try:
            if stopped := item.api_kwargs.get(STOPPED):
                # Nothing is stored: after a restart, the answer of the button is gone.
                if self._door.access.admits(stopped["chat"]["id"]):
                    self._door.stop_draft(stopped["draft_id"])
            else:
                await self._take(item)
        except DatabaseError as failure:
            LOG.error("an update could not be stored (%s); it is asked for again", type(failure).__name__)
            raise TelegramError("not stored") from failure

    async def recover(self) -> None:
        """Resume the open updates from before the restart, in their order."""
        resumed: set[InboxEntry] = set()
        for stored in await self._door.updates.open(self._door.name):
            update = Update.de_json(json.loads(stored.body or "{}"), self._door.sender.bot)
            if self._operators and (thread := await self._operators.claims(update)):
                self._operators.begin(thread, update, stored)
                self._begun.add(stored.id)
                continue
            message = stored.thread or "", stored.message_id or ""
            entry = await self._door.assistant.message(*message) if all(message) else None
            addressee = self._admission.addressee(update)
            if addressee is None:
                await self._door.updates.close(stored.id)
                continue
            place, text = addressee
            # The chat may hold another conversation by now.
            place = place.at(stored.thread)
            if entry is None:
                await self._begin(update, stored, place, text)
            elif entry not in resumed:
                resumed.add(entry)
                self._resume(place, update, entry)
            self._begun.add(stored.id)

    async def _take(self, update: Update) -> None:
        if (message := update.message) and message.migrate_to_chat_id:
            # The threads of a group move to its supergroup.
            store = self._door.assistant.memory.store
            await move(store, self._door.names, message.chat.id, message.migrate_to_chat_id)
        if self._operators and (thread := await self._operators.claims(update)):
            stored = await self._door.updates.take(self._door.name, self._key(update), _body(update.to_dict()))
            if stored.body is not None and stored.id not in self._begun:
                self._begun.add(stored.id)
                self._operators.begin(thread, update, stored)
            return
        await self._let_in(update)
        if addressee := self._admission.addressee(update):
            place, text = addressee
            stored = await self._door.updates.take(
                self._door.name, self._key(update), _body(update.to_dict()), place.thread
            )
            await self._begin(update, stored, place, text)

    def _key(self, update: Update) -> str:
        """Return the lasting key of an update; Telegram may reuse its number after a quiet week."""
        if query := update.callback_query:
            return f"tap {query.id}"
        if message := update.message:
            return key_of_message(message)
        body = _body({name: fact for name, fact in update.to_dict().items() if name != "update_id"})
        # The digest of a closed row stays for a week: a reader of the database must not be able to try texts.
        return hmac.new(self._door.sender.bot.token.encode(), body.encode("utf-8", "replace"), "sha256").hexdigest()

    async def _begin(self, update: Update, stored: StoredUpdate, place: TelegramPlace, text: str | None) -> None:
        if stored.body is None or stored.id in self._begun:
            return
        self._begun.add(stored.id)
        row = UpdateRow(self._door, place, stored)
        try:
            self._door.reached(place)
            await self._dispatch.take(row, update, text)
        except (DatabaseError, asyncio.CancelledError):
            self._begun.remove(stored.id)
            raise
        except Exception:
            # One broken update must not keep the others waiting for ever.
            LOG.exception("update %s: something went wrong", update.update_id)
            await row.close()

    def _resume(self, place: TelegramPlace, update: Update, entry: InboxEntry) -> None:
        """Play a message again: its answer may not have been shown. In a group, others' messages complete it."""
        quoted = json.loads(entry.quoted or "[]")
        turn = place.turn(entry.text, id=entry.message_id, source=entry.source, quoted=quoted)
        self._door.attend(place, partial(self._door.play, place, replace(turn, user=entry.user)))
        if update.callback_query:
            self._door.chats.start(settle(update.callback_query))

    async def _let_in(self, update: Update) -> None:
        """Admit a user who has opened a link with a code, in a private chat: in a group all would see the code."""
        message, user, access = update.message, update.effective_user, self._door.access
        if message is None or user is None or message.chat.type != ChatType.PRIVATE or is_foreign(message):
            return
        call = parse(message.text or "")
        if call and call[0] == "start" and call[1] and (welcome := await access.enter(user.id, call[1])):
            place = place_of(message, user, self._door.names)
            self._door.attend(place, partial(self._door.remark, place, welcome))
            self._door.chats.start(offer_menus(self._door))


def _body(facts: Mapping[str, object]) -> str:
    # The library does not turn the time of an inaccessible message into a number.
    return json.dumps(facts, ensure_ascii=False, default=lambda moment: int(moment.timestamp()))


REFUSE_EVERY = 3600.0
"""Seconds until the next remark to a writer whom the bot does not answer."""
MOST_ALBUMS = 100


class Admission:
    """Decides whether an update is for the bot, and from a user whom it answers."""

    def __init__(self, door: TelegramDoor) -> None:
        self._door = door
        self._refused: dict[int, float] = {}
        """The times of the last remarks to writers whom the bot does not answer."""
        self._albums: deque[tuple[int, str | None]] = deque(maxlen=MOST_ALBUMS)
        """The albums with a part for the bot, by chat: only one part has the caption."""

    def addressee(self, update: Update) -> tuple[TelegramPlace, str | None] | None:
        """Return the place of an update and its text for the bot; None if it is not for the bot."""
        user, names = update.effective_user, self._door.names
        if change := update.my_chat_member:
            return place_beside(change.chat, change.from_user, names), None
        if user is None:
            return None
        if reaction := update.message_reaction:
            place = place_beside(reaction.chat, user, names, reaction.message_id)
            return (place, None) if self._door.access.admits(user.id) else None
        if query := update.callback_query:
            return self._admitted(place_of(query.message, user, names), None, user) if query.message else None
        message = update.message or update.edited_message
        # Posts of the group's channel are not for the bot.
        if message is None or message.is_automatic_forward or (text := self._addressed(message)) is None:
            return None
        return self._admitted(place_of(message, user, names), text, user, message)

    def _addressed(self, message: Message) -> str | None:
        """Return the text that is addressed to the bot; the part with the caption decides for a whole album."""
        text = addressed(message, self._door.sender.bot.bot, self._door.wake_words)
        album = message.chat.id, message.media_group_id
        if text is not None and message.media_group_id:
            self._albums.append(album)
        return (message.caption or "") if text is None and album in self._albums else text

    def _admitted(
        self, place: TelegramPlace, text: str | None, user: User, message: Message | None = None
    ) -> tuple[TelegramPlace, str | None] | None:
        """Return place and text if the bot answers this writer; send another writer a remark now and then."""
        if self._door.access.admits(user.id) if not user.is_bot else place.is_anonymous and self._door.access.is_open:
            return place, text
        if not user.is_bot:
            self._once(place, user.id, "stranger", id=user.id)
        elif message and message.sender_chat:
            # Anybody may write in the name of the group or of a channel.
            self._once(place, message.sender_chat.id, "anonymous")
        return None

    def _once(self, place: TelegramPlace, who: int, key: str, **variables: object) -> None:
        now = time.monotonic()
        self._refused = {id: at for id, at in self._refused.items() if now - at < REFUSE_EVERY}
        if who not in self._refused:
            self._refused[who] = now
            self._door.attend(place, partial(self._door.remark, place, key, **variables))
