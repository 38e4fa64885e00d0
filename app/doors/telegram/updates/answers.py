"""Answers of the door itself, to commands and to what it cannot read: found out once, also over a restart."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import TypeAdapter
from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from agents.events import Message
from agents.memory.updates import StoredUpdate
from agents.state import SUPERVISOR
from app.doors.telegram.delivery.receipts import Receipts
from app.doors.telegram.delivery.screen import send_document
from app.doors.telegram.delivery.sender import Gone
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import Place, chat_of

MOST_IN_A_ROW = 3
WIDEST_ROW = 45
"""Characters that a row of buttons shows without cutting them."""


@dataclass(frozen=True)
class Answer:
    """A text, buttons below it (what stands on each, and what it sends), and a document after both."""

    text: str
    buttons: tuple[tuple[str, str], ...] = ()
    document: tuple[str, str] | None = None
    """The name of a file, and what stands in it."""

    def keyboard(self) -> InlineKeyboardMarkup | None:
        """Return the buttons as Telegram takes them."""
        buttons = [InlineKeyboardButton(label, callback_data=data) for label, data in self.buttons]
        in_a_row = MOST_IN_A_ROW if sum(len(button.text) for button in buttons[:MOST_IN_A_ROW]) <= WIDEST_ROW else 1
        rows = [buttons[begin : begin + in_a_row] for begin in range(0, len(buttons), in_a_row)]
        return InlineKeyboardMarkup(rows) if rows else None


STORED = TypeAdapter(Answer)
Find = Callable[[], Awaitable[Answer | None]]
"""Finds the answer to an update; None if a turn brings it."""


async def give(door: TelegramDoor, place: Place, update: StoredUpdate, find: Find) -> None:
    """Send the answer to an update, which may have been found out before a restart, and close the update.

    Nothing is done for an update that has become a message: it is closed with that.
    Raises Gone if the chat cannot be written to.
    """
    updates = door.updates
    try:
        if update.answer is None:
            answer = await find()
            if answer is None:
                return
            await updates.answer(update.id, STORED.dump_json(answer).decode())
        else:
            answer = STORED.validate_json(update.answer)
        if answer.text.strip():
            await _say(door, place, update, answer)
        if answer.document:
            # What is stored is what is still to be sent.
            rest = Answer("", document=answer.document)
            await updates.answer(update.id, STORED.dump_json(rest).decode())
            await _hand(door, place, *answer.document)
    except Exception:
        # An update that fails is not tried again at every start.
        await updates.close(update.id)
        raise
    await updates.close(update.id)


async def _say(door: TelegramDoor, place: Place, update: StoredUpdate, answer: Answer) -> None:
    """Send the text of an answer; of a long one a restart leaves out the pages that arrived."""
    receipts = Receipts(door.assistant.memory.store, place.thread, f"update {update.id}")
    await receipts.read()
    pages = receipts.pages(Message(speaker=SUPERVISOR, text=answer.text))
    await door.sender.say(place, answer.text, is_markdown=False, keyboard=answer.keyboard(), receipts=pages)
    await receipts.clear()


async def _hand(door: TelegramDoor, place: Place, name: str, text: str) -> None:
    own = chat_of(place.owner)
    try:
        if place.is_group and own is None:
            raise Gone
        # What is kept of a person is theirs alone.
        to = Place(own) if place.is_group and own else place
        if not await send_document(door.sender, to, name, text.encode("utf-8", "replace")):
            await door.remark(place, "document_refused", name=name)
    except Gone:
        if not place.is_group:
            raise
        key = "nobody_alone" if place.is_anonymous else "open_chat"
        await door.remark(place, key, link=door.sender.bot.link)
