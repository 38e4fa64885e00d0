"""Messages that their writers change: one that waits is replaced, one that was answered can be answered anew."""

from dataclasses import replace
from functools import partial

from telegram import CallbackQuery, Message

from agents.memory.updates import StoredUpdate
from app.doors.slash_commands import parse
from app.doors.telegram.delivery.buttons import OF
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import Place
from app.doors.telegram.updates.addressed import addressed, place_of
from app.doors.telegram.updates.answers import Answer, give
from app.doors.telegram.updates.incoming import Incoming
from app.doors.telegram.updates.keys import key_of_message
from app.doors.telegram.updates.quoting import quoted_in
from prompts import sentence

ANEW = "~"
"""What the button sends that has a changed message answered anew."""


async def take(
    door: TelegramDoor, incoming: Incoming, place: Place, message: Message, text: str, stored: StoredUpdate
) -> None:
    """Take in a message that was changed; Telegram also reports changes that nobody made, and places that move on."""
    turn = place.turn(text, quoted=quoted_in(message, door.sender.bot.bot))
    entry = await door.assistant.message(turn.thread, turn.id)
    if entry is None and await _was_joined(door, message, text):
        entry = await door.assistant.last_message(turn.thread, turn.owner)
    if entry is None or not text.strip() or text in (entry.text or "").split("\n\n") or await incoming.revise(turn):
        await door.assistant.memory.updates.close(stored.id)
        return

    async def find() -> Answer:
        lang = await door.lang(place)
        button = sentence("telegram", "anew", lang), f"{ANEW}{OF}{place.owner}"
        return Answer(sentence("telegram", "edited", lang), (button,))

    door.attend(place, partial(give, door, replace(place, refers=True), stored, find))


async def _was_joined(door: TelegramDoor, message: Message, text: str) -> bool:
    """Tell whether a message without an entry of its own was heard: it became a part of the one before it."""
    return not parse(text) and await door.assistant.memory.updates.knows(door.name, key_of_message(message))


async def answer_anew(door: TelegramDoor, incoming: Incoming, query: CallbackQuery, stored: StoredUpdate) -> bool:
    """Have the message answered, as it is now, that the tapped offer refers to; False if it is not there any more."""
    offer = query.message
    message = offer.reply_to_message if isinstance(offer, Message) else None
    text = addressed(message, door.sender.bot.bot) if message else None
    if message is None or not text:
        return False
    place = place_of(message, query.from_user, door.names)
    changed = int(message.edit_date.timestamp()) if message.edit_date else 0
    turn = place.turn(text, quoted=quoted_in(message, door.sender.bot.bot))
    turn = replace(turn, id=f"{turn.id}~{changed}")
    if await door.assistant.message(turn.thread, turn.id):
        # It was tapped before.
        await door.assistant.memory.updates.close(stored.id)
    elif not await incoming.take(place, turn, [stored.id]):
        return False
    return True
