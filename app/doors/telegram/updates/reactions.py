"""Reactions to answers: they are kept with the turn, and who disliked an answer may have it made anew."""

from dataclasses import replace
from functools import partial

from telegram import MessageReactionUpdated, ReactionTypeEmoji

from agents.memory.feedback import ShownTurn
from agents.memory.updates import StoredUpdate
from app.doors.telegram.delivery.buttons import OF, RETRY_COMMAND
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import Place
from app.doors.telegram.updates.answers import Answer, give
from prompts import sentence

BAD = frozenset("👎💩🤮😡🤬🥱🖕")
GOOD = frozenset("👍❤🔥🎉👏🙏💯🏆🥰😁🤩👌😍⚡")


async def take(door: TelegramDoor, place: Place, reaction: MessageReactionUpdated, stored: StoredUpdate) -> None:
    """Keep a reaction to an answer, and offer another answer to who dislikes theirs; any other one is passed over."""
    turn = await door.assistant.memory.feedback.turn(door.name, place.chat, place.message)
    shown_at = door.names.place(turn.thread) if turn else None
    if turn is None or shown_at is None:
        await door.assistant.memory.updates.close(stored.id)
        return
    # Telegram does not say in which topic the message stands.
    place = replace(place.at(turn.thread), topic=shown_at.topic)
    door.attend(place, partial(give, door, place, stored, partial(_rate, door, place, reaction, turn)))


async def _rate(door: TelegramDoor, place: Place, reaction: MessageReactionUpdated, turn: ShownTurn) -> Answer:
    """Keep a reaction; return what is said about it, which mostly is nothing."""
    sign = next((kind.emoji for kind in reaction.new_reaction if isinstance(kind, ReactionTypeEmoji)), None)
    before = await door.assistant.memory.feedback.rate(turn, place.owner, sign)
    if sign not in BAD or before in BAD or turn.user != place.owner:
        return Answer("")
    lang = await door.lang(place)
    last = await door.assistant.last_message(turn.thread, turn.user)
    is_last = last is not None and last.message_id == turn.message_id
    if not is_last or door.names.thread(place.chat, place.topic) != turn.thread:
        return Answer(sentence("telegram", "disliked_before", lang))
    again = (sentence("telegram", "retry", lang), f"{RETRY_COMMAND}{OF}{place.owner}")
    return Answer(sentence("telegram", "disliked", lang), (again,))
