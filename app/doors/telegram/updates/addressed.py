"""Read a Telegram message: where it comes from, and which text of it is addressed to the bot."""

from telegram import Chat, MaybeInaccessibleMessage, Message, MessageEntity, User
from telegram.constants import ChatType

from app.doors.slash_commands import offered
from app.doors.telegram.place import ANONYMOUS, DOOR, PREFIX, Place, ThreadNames
from prompts import languages


def place_of(message: MaybeInaccessibleMessage, user: User, names: ThreadNames) -> Place:
    """Return where a message comes from; in a group everybody stays who they are."""
    is_private = message.chat.type == ChatType.PRIVATE
    # Outside of topics Telegram gives this number to the answers to one message.
    is_topic = isinstance(message, Message) and message.is_topic_message
    topic = message.message_thread_id if isinstance(message, Message) and is_topic else None
    behind = message.sender_chat if isinstance(message, Message) and is_anonymous(message) else None
    own = anonymous_of(names, message.chat.id) if behind else f"{PREFIX}{user.id}"
    thread = names.thread(message.chat.id, topic)
    return Place(
        chat=message.chat.id,
        message=message.message_id,
        user=None if thread == own else own,
        lang=_lang(user),
        name="" if is_private else (behind and behind.title) or user.full_name,
        topic=topic,
        thread=thread,
        prefix=names.prefix,
    )


def is_anonymous(message: Message) -> bool:
    """Tell whether an administrator wrote in the name of the group."""
    return message.sender_chat is not None and message.sender_chat.id == message.chat.id


def anonymous_of(names: ThreadNames, chat: int) -> str:
    """Return the user who stands for the administrators of a group who write in its name."""
    return f"{ANONYMOUS}{names.base(chat).removeprefix(names.prefix)}"


def place_beside(chat: Chat, user: User, names: ThreadNames, message: int = 0) -> Place:
    """Return where something happens that is no message: a reaction to one, or what the bot becomes in a chat."""
    own, thread = f"{PREFIX}{user.id}", names.thread(chat.id)
    return Place(
        chat=chat.id,
        message=message,
        user=None if thread == own else own,
        lang=_lang(user),
        thread=thread,
        prefix=names.prefix,
    )


def addressed(message: Message, bot: User) -> str | None:
    """Return the text that is addressed to the bot, without the bot's name; None if there is none.

    In a group a message addresses the bot by a mention, by a reply to the bot, or by one of its commands. What is a
    mention and what a command Telegram says, in the entities of the message.
    """
    text, marks = message.text or message.caption or "", _marks(message)
    mention = f"@{bot.username}".lower()
    first = text.split(maxsplit=1)[0].lower() if text.strip() else ""
    if first.startswith("/") and "@" in first:
        return _without(text, first.index("@"), mention) if first.endswith(mention) else None
    if message.chat.type == ChatType.PRIVATE:
        return text
    if first.startswith("/"):
        return text if first[1:] in {command.name for command in offered(DOOR)} else None
    is_mentioned = any(
        words.lower() == mention if entity.type == MessageEntity.MENTION else entity.user == bot
        for entity, words in marks.items()
    )
    if is_mentioned and first.rstrip(",:") == mention:
        return text.lstrip()[len(first) :].lstrip()
    replied = message.reply_to_message
    # The root of a topic is what every message in it answers.
    is_reply = replied is not None and replied.from_user == bot and replied.forum_topic_created is None
    return text if is_reply or is_mentioned else None


def _lang(user: User) -> str | None:
    lang = (user.language_code or "").split("-")[0]
    return lang if lang in languages() else None


def _marks(message: Message) -> dict[MessageEntity, str]:
    kinds: list[str | None] = [MessageEntity.MENTION, MessageEntity.TEXT_MENTION]
    return message.parse_entities(kinds) if message.text else message.parse_caption_entities(kinds)


def _without(text: str, place: int, mention: str) -> str:
    text = text.lstrip()
    return text[:place] + text[place + len(mention) :]
