"""Read a Telegram message: where it comes from, and which text of it is addressed to the bot."""

import re

from telegram import MaybeInaccessibleMessage, Message, User
from telegram.constants import ChatType

from app.slash_commands import offered
from app.telegram.place import DOOR, PREFIX, Place, ThreadNames
from prompts import languages


def place_of(message: MaybeInaccessibleMessage, user: User, names: ThreadNames) -> Place:
    """Return where a message comes from; in a group everybody stays who they are."""
    is_private = message.chat.type == ChatType.PRIVATE
    lang = (user.language_code or "").split("-")[0]
    # Outside of topics Telegram gives this number to the answers to one message.
    is_topic = isinstance(message, Message) and message.is_topic_message
    topic = message.message_thread_id if isinstance(message, Message) and is_topic else None
    thread, own = names.thread(message.chat.id, topic), f"{PREFIX}{user.id}"
    return Place(
        chat=message.chat.id,
        message=message.message_id,
        user=None if thread == own else own,
        lang=lang if lang in languages() else None,
        name="" if is_private else user.full_name,
        topic=topic,
        thread=thread,
        prefix=names.prefix,
    )


def addressed(message: Message, name: str) -> str | None:
    """Return the text that is addressed to the bot `name`, without the name; None if there is none.

    In a group a message addresses the bot by its name, by a reply to the bot, or by one of its commands.
    """
    text = message.text or message.caption or ""
    mention = f"@{name}".lower()
    first = text.split(maxsplit=1)[0].lower() if text.strip() else ""
    if first.startswith("/") and "@" in first:
        return _without(text, first.index("@"), mention) if first.endswith(mention) else None
    if message.chat.type == ChatType.PRIVATE:
        return text
    if first.startswith("/"):
        return text if first[1:] in {command.name for command in offered(DOOR)} else None
    if first.rstrip(",:") == mention:
        return text.lstrip()[len(first) :].lstrip()
    replied = message.reply_to_message
    is_reply = replied is not None and replied.from_user is not None and replied.from_user.username == name
    # Neither a longer name nor an address: "@sue_botany" and "me@sue_bot.org" mention somebody else.
    is_mentioned = re.search(rf"(?<![\w.]){re.escape(mention)}(?!\w|\.\w)", text.lower())
    return text if is_reply or is_mentioned else None


def _without(text: str, place: int, mention: str) -> str:
    text = text.lstrip()
    return text[:place] + text[place + len(mention) :]
