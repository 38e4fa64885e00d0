"""Reactions to answers: they are kept with the turn, and who disliked an answer may have it made anew."""

from telegram import MessageReactionUpdated, ReactionTypeEmoji

from app.telegram.answers import Answer
from app.telegram.buttons import OF, RETRY_COMMAND
from app.telegram.door import TelegramDoor
from app.telegram.place import Place
from prompts import sentence

BAD = frozenset("👎💩🤮😡🤬🥱🖕")
GOOD = frozenset("👍❤🔥🎉👏🙏💯🏆🥰😁🤩👌😍⚡")


async def rate(door: TelegramDoor, place: Place, reaction: MessageReactionUpdated) -> Answer:
    """Keep the reaction to an answer; return an offer to try again, if the answer was to who dislikes it."""
    feedback = door.assistant.memory.feedback
    turn = await feedback.turn(door.name, place.chat, place.message)
    if turn is None:
        return Answer("")
    sign = next((kind.emoji for kind in reaction.new_reaction if isinstance(kind, ReactionTypeEmoji)), None)
    before = await feedback.rate(turn, place.owner, sign)
    if sign not in BAD or before in BAD or turn.user != place.owner:
        return Answer("")
    lang = await door.lang(place)
    last = await door.assistant.last_message(turn.thread, turn.user)
    is_last = last is not None and last.message_id == turn.message_id and turn.thread == place.thread
    again = (sentence("telegram", "retry", lang), f"{RETRY_COMMAND}{OF}{place.owner}")
    return Answer(sentence("telegram", "disliked" if is_last else "disliked_before", lang), (again,) if is_last else ())
