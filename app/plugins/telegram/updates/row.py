"""The row of an update: it is open until the update is done, once, also over a restart."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from pydantic import TypeAdapter
from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from agents.events import Message
from agents.memory.updates import StoredUpdate
from agents.state import SUPERVISOR
from app.assistant import Turn
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.delivery.screen import send_document
from app.plugins.telegram.delivery.sender import Gone
from app.plugins.telegram.door import Job, TelegramDoor
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import TelegramPlace, chat_of

MOST_IN_A_ROW = 3
WIDEST_ROW = 45
"""The most characters of a row of buttons without cuts."""


@dataclass(frozen=True)
class ReplyWithButtons:
    """A text, the buttons below it (label and command), and a document for the user alone."""

    text: str
    buttons: tuple[tuple[str, str], ...] = ()
    document: tuple[str, str] | None = None
    """The name and the content of a file; without a name it is a message. In a group, the user gets it first."""

    def keyboard(self) -> InlineKeyboardMarkup | None:
        """Return the buttons in Telegram's form."""
        buttons = [InlineKeyboardButton(label, callback_data=data) for label, data in self.buttons]
        in_a_row = MOST_IN_A_ROW if sum(len(button.text) for button in buttons[:MOST_IN_A_ROW]) <= WIDEST_ROW else 1
        rows = [buttons[begin : begin + in_a_row] for begin in range(0, len(buttons), in_a_row)]
        return InlineKeyboardMarkup(rows) if rows else None


STORED = TypeAdapter(ReplyWithButtons)
Find = Callable[[], Awaitable[ReplyWithButtons | None]]
"""Finds the answer to an update; None if a turn brings it."""


@dataclass(frozen=True)
class UpdateRow:
    """A stored update with its place; each method leads to its end, which closes the row."""

    door: TelegramDoor
    place: TelegramPlace
    stored: StoredUpdate

    def at(self, place: TelegramPlace) -> Self:
        """Return the row as one of another place."""
        return replace(self, place=place)

    async def close(self) -> None:
        """Note that the update is done."""
        await self.door.updates.close(self.stored.id)

    def do_beside(self, work: Awaitable[None]) -> None:
        """Do work beside the queues, then close the row."""

        async def do() -> None:
            await work
            await self.close()

        self.door.chats.start(do())

    async def receive(self, turn: Turn, play: Job | None = None) -> bool:
        """Store a message and queue its play in its chat; False if it was answered before.

        Raises DatabaseError if it cannot be stored.
        """
        if not await self.door.assistant.receive(turn, [self.stored.id]):
            await self.close()
            return False
        self.door.attend(self.place, play or partial(self.door.play, self.place, turn, [self.stored.id]))
        return True

    def tell(self, key: str, **variables: object) -> None:
        """Answer with a sentence of `telegram/phrases.toml`, in the order of the chat."""

        async def find() -> ReplyWithButtons:
            return ReplyWithButtons(say(key, await self.door.lang(self.place), **variables))

        self.answer(find)

    def answer(self, find: Find) -> None:
        """Find the answer and send it, in the order of the chat."""
        self.door.attend(self.place, partial(self.give, find))

    async def begin(self, find: Find) -> None:
        """Run a command that begins a turn, unless it ran before a restart; an answer of another kind is queued.

        Raises DatabaseError if the turn cannot be stored.
        """
        if self.stored.answer is not None:
            self.answer(find)
        elif answer := await find():
            (await self._keep(answer)).answer(find)

    async def give(self, find: Find) -> None:
        """Send the answer, which may be a stored one from before a restart.

        An update that has become a message needs nothing: the message closes it.
        """
        try:
            if self.stored.answer is None:
                answer = await find()
                if answer is None:
                    return
                await self._keep(answer)
            else:
                answer = STORED.validate_json(self.stored.answer)
            if answer.document and self.place.is_group:
                answer = ReplyWithButtons(await self._hand(*answer.document) or answer.text, answer.buttons)
                await self._keep(answer)
            if answer.text.strip():
                await self._say(answer)
            if answer.document:
                await self._keep(ReplyWithButtons("", document=answer.document))
                if refusal := await self._hand(*answer.document):
                    await self.door.sender.say(self.place, refusal, is_markdown=False)
        except Exception:
            # A failing update must not be tried again at every start.
            await self.close()
            raise
        await self.close()

    async def _keep(self, answer: ReplyWithButtons) -> Self:
        """Store the unsent part of the answer."""
        written = STORED.dump_json(answer).decode()
        await self.door.updates.answer(self.stored.id, written)
        return replace(self, stored=replace(self.stored, answer=written))

    async def _say(self, answer: ReplyWithButtons) -> None:
        """Send the text of an answer; after a restart only the pages that have not arrived."""
        place = self.place
        receipts = Receipts(self.door.assistant.memory.store, place.thread, f"update {self.stored.id}")
        await receipts.read()
        receipts.begin(Message(speaker=SUPERVISOR, text=answer.text))
        await self.door.sender.say(place, answer.text, is_markdown=False, keyboard=answer.keyboard(), receipts=receipts)
        await receipts.clear()

    async def _hand(self, name: str, text: str) -> str:
        """Send a private document, in a group to the user's own chat. Return a remark if it did not arrive, or ""."""
        sender, place, own = self.door.sender, self.place, chat_of(self.place.owner)
        lang, to = await self.door.lang(place), TelegramPlace(own) if place.is_group and own else place
        try:
            if to.is_group:
                raise Gone
            if not name:
                await sender.say(to, text, is_markdown=False)
            elif not await send_document(sender, to, name, text.encode("utf-8", "replace")):
                return say("document_refused", lang, name=name)
        except Gone:
            if not place.is_group:
                raise
            key = "nobody_alone" if place.is_anonymous else "open_chat"
            return say(key, lang, link=sender.bot.link)
        return ""
