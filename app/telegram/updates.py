"""Updates from Telegram: refuse strangers, store each update before it is acknowledged, queue it for its chat.

Edited messages are not asked for: what was answered stays answered, and Telegram also reports edits nobody made.
"""

import asyncio
import logging
import sqlite3
import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import Literal

from telegram import CallbackQuery, Message, Update
from telegram.error import TelegramError

from agents.person import FORWARDED
from agents.questions.returned import PAGE, leads_to
from app.slash_commands import parse
from app.telegram import slash_commands
from app.telegram.addressed import addressed, place_of
from app.telegram.buttons import OF, Tap
from app.telegram.door import TelegramDoor
from app.telegram.place import Place
from app.telegram.sender import Gone
from app.telegram.taps import answer, settle, take
from prompts import sentence

LOG = logging.getLogger(__name__)
WANTED = (Update.MESSAGE, Update.CALLBACK_QUERY)
REFUSE_EVERY = 3600.0
REMEMBERED = 1000


class Inbox(asyncio.Queue[object]):
    """Take updates from the poller, which acknowledges an update only after `put` has returned."""

    def __init__(self, door: TelegramDoor, *, name: str, allowed: frozenset[int] | Literal["*"]) -> None:
        super().__init__()
        self._door, self._name, self._allowed = door, name, allowed
        self._seen: deque[int | str] = deque(maxlen=REMEMBERED)
        self._refused: dict[int, float] = {}

    async def put(self, item: object) -> None:
        """Take an update in, once.

        Raises:
            TelegramError: it could not be stored; the poller will bring it again.
        """
        if not isinstance(item, Update) or item.update_id in self._seen:
            return
        try:
            await self._take(item)
        except sqlite3.Error as failure:
            LOG.error("an update could not be stored (%s); it is asked for again", type(failure).__name__)
            raise TelegramError("not stored") from failure
        except Exception:
            # One update that is not understood must not keep the others waiting for ever.
            LOG.exception("update %s: something went wrong", item.update_id)
        self._seen.append(item.update_id)

    async def _take(self, update: Update) -> None:
        query, user = update.callback_query, update.effective_user
        message = query.message if query else update.message
        if message is None or user is None:
            return
        place = place_of(message, user)
        text = addressed(message, self._name) if isinstance(message, Message) and not query else None
        if text is None and not query:
            return
        if user.is_bot:
            if isinstance(message, Message) and message.sender_chat:
                # An administrator who hides behind the group is nobody in particular, and could be anybody.
                self._once(place, message.sender_chat.id, "anonymous")
            return
        if self._allowed != "*" and user.id not in self._allowed:
            self._refuse(place, user.id)
            return
        self._door.reached(place.thread)
        if query:
            await self._tap(place, query)
        elif isinstance(message, Message) and text is not None:
            await self._read(place, message, text)

    async def _read(self, place: Place, message: Message, text: str) -> None:
        if message.web_app_data:
            await self._receive(place, message.web_app_data.data, PAGE)
        elif call := parse(text):
            name, argument = call
            if name == "start" and argument and await self._returns_by(place, address := self._link(argument)):
                await self._receive(place, address, PAGE)
            else:
                self._command(place, name, argument)
        else:
            await self._hear(place, message, text)

    async def _tap(self, place: Place, query: CallbackQuery) -> None:
        if tap := Tap.read(query.data or ""):
            await take(self._door, place, query, tap)
            return
        data, _, asked = (query.data or "").partition(OF)
        if asked != place.owner and (asked or place.is_group):
            # In a group anybody can tap; a button of an older version does not say whose it is.
            self._door.chats.start(answer(query, sentence("telegram", "not_yours", await self._door.lang(place))))
            return
        self._door.chats.start(settle(query))
        if call := parse(data):
            self._command(place, *call)

    def _link(self, payload: str) -> str:
        """Return the link to this bot that sends `/start` with a payload."""
        return f"https://t.me/{self._name}?start={payload}"

    async def _returns_by(self, place: Place, link: str) -> bool:
        """Tell whether an open question declared that its page leads back by this link."""
        question = await self._door.assistant.question(place.thread, place.owner)
        return question is not None and leads_to(link, question.back)

    async def _receive(self, place: Place, text: str, source: str) -> None:
        """Store a message of the user and play it."""
        turn = place.turn(text, source=source)
        if await self._door.assistant.receive(turn):
            self._door.attend(place, partial(self._door.play, place.chat, turn))

    def _command(self, place: Place, name: str, argument: str) -> None:
        if name == "stop":
            # It must not wait for what it is to stop.
            self._door.chats.start(self._stop(place))
        else:
            self._door.attend(place, partial(slash_commands.run, self._door, place, name, argument))

    async def _stop(self, place: Place) -> None:
        with suppress(Gone):
            await slash_commands.run(self._door, place, "stop", "")

    async def _hear(self, place: Place, message: Message, text: str) -> None:
        if message.effective_attachment:
            if not self._is_of_album(message):
                self._door.attend(place, partial(self._door.remark, place, "only_text"))
        elif text.strip():
            await self._receive(place, text, FORWARDED if message.forward_origin else "message")

    def _is_of_album(self, message: Message) -> bool:
        """Tell whether another part of the message's album came before."""
        album = message.media_group_id
        if album is None or album in self._seen:
            return album is not None
        self._seen.append(album)
        return False

    def _refuse(self, place: Place, user: int) -> None:
        self._once(place, user, "stranger" if self._allowed else "closed", id=user)

    def _once(self, place: Place, who: int, key: str, **variables: object) -> None:
        """Say a sentence to somebody who is not answered, once in a while."""
        now = time.monotonic()
        self._refused = {id: at for id, at in self._refused.items() if now - at < REFUSE_EVERY}
        if who not in self._refused:
            self._refused[who] = now
            self._door.attend(place, partial(self._door.remark, place, key, **variables))
