"""What a Telegram message says: where it comes from, what of it is for the bot, what it carries and refers to."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from telegram import (
    Bot,
    Chat,
    Contact,
    Location,
    MaybeInaccessibleMessage,
    Message,
    MessageEntity,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    PhotoSize,
    Update,
    User,
    Venue,
)
from telegram.constants import ChatType
from telegram.error import BadRequest, TelegramError

from agents.sources.attachments import LARGEST_PICTURE
from agents.state.person import Quoted, QuotedKind
from app.assistant.file_reader import NotFetched
from app.doors.slash_commands import offered
from app.doors.telegram.place import ANONYMOUS, DOOR, PREFIX, Place, ThreadNames
from prompts import languages

LOG = logging.getLogger(__name__)
LARGEST_FILE = 20_000_000
"""Bytes of a file that Telegram gives to bots."""
FETCH_TIMEOUT = 60
"""Seconds in which a file has to be here."""
WIDEST_PICTURE = 1600
"""Pixels of the longer side of a picture; models make larger ones small."""
LONGEST_NAME = 300
"""Characters of a name or a place."""
LONGEST_QUOTE = 1000
"""Characters of a text that is referred to."""


def place_of(message: MaybeInaccessibleMessage, user: User, names: ThreadNames) -> Place:
    """Return where a message comes from; in a group everybody stays who they are."""
    place = place_beside(message.chat, user, names, message.message_id)
    name = user.full_name if place.is_group else ""
    if not isinstance(message, Message):
        return replace(place, name=name)
    # Outside of topics Telegram gives this number to the answers to one message.
    topic = message.message_thread_id if message.is_topic_message else None
    thread, writer = names.thread(message.chat.id, topic), f"{PREFIX}{user.id}"
    if message.sender_chat and message.sender_chat.id == message.chat.id:
        # An administrator wrote in the name of the group.
        writer, name = anonymous_of(names, message.chat.id), message.sender_chat.title or name
    return replace(place, user=None if thread == writer else writer, name=name, topic=topic, thread=thread)


def anonymous_of(names: ThreadNames, chat: int) -> str:
    """Return the user who stands for the administrators of a group who write in its name."""
    return f"{ANONYMOUS}{names.base(chat).removeprefix(names.prefix)}"


def place_beside(chat: Chat, user: User, names: ThreadNames, message: int = 0) -> Place:
    """Return where something happens that is no message: a reaction to one, or what the bot becomes in a chat."""
    writer, thread = f"{PREFIX}{user.id}", names.thread(chat.id)
    place = Place(chat.id, message, lang=_lang(user), thread=thread, prefix=names.prefix)
    return place if thread == writer else replace(place, user=writer)


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


def quoted_in(message: Message, bot: User) -> list[Quoted]:
    """Return what a message refers to, for a model to be told as data."""
    quoted: list[Quoted] = []
    if origin := message.forward_origin:
        quoted.append(Quoted(kind="forward", by=_author(origin), text="", foreign=True))
    elif message.via_bot:
        quoted.append(Quoted(kind="forward", by=message.via_bot.full_name, text="", foreign=True))
    attached = list(attached_to(message))
    quoted += attached
    if not attached and (attachment := _kind_of(message)):
        quoted.append(Quoted(kind="caption", by="", text=attachment, foreign=False))
    answered, part = message.reply_to_message, message.quote
    text = part.text if part else (answered.text or answered.caption or "") if answered else ""
    if text:
        kind = _kind_of_answer(message, answered, bot)
        by = _writer(message, answered) if kind == "answer" else ""
        quoted.append(Quoted(kind=kind, by=by, text=text[:LONGEST_QUOTE], foreign=kind == "answer"))
    if answered and not attached:
        quoted += shown_in(answered)
    return quoted


def _kind_of_answer(message: Message, answered: Message | None, bot: User) -> QuotedKind:
    """Tell whose message is answered; of those that stand for a group or a channel nobody knows who wrote which."""
    is_own = answered and not answered.sender_chat and not is_foreign(answered)
    writer = answered.from_user if answered and is_own else None
    if writer == bot:
        return "answer_to_assistant"
    return "answer_to_own" if writer is not None and writer == message.from_user else "answer"


def _writer(message: Message, answered: Message | None) -> str:
    if answered is None:
        return _author(message.external_reply.origin) if message.external_reply else ""
    if origin := answered.forward_origin:
        return _author(origin)
    if answered.sender_chat:
        return answered.sender_chat.title or ""
    return answered.from_user.full_name if answered.from_user else ""


def _author(origin: object) -> str:
    match origin:
        case MessageOriginUser(sender_user=user):
            return user.full_name
        case MessageOriginHiddenUser(sender_user_name=name):
            return name
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            return chat.title or ""
    return ""


def _kind_of(message: Message) -> str:
    """Return what stands above a caption; empty for a message of text."""
    kinds = ("video", "animation", "paid_media")
    return next((kind for kind in kinds if getattr(message, kind)), "") if message.caption else ""


async def fetch(bot: Bot, part: Quoted) -> bytes:
    """Return the bytes of a file that a user sent.

    Raises:
        NotFetched: it is too large, or gone, or Telegram does not give it in time.
    """
    try:
        async with asyncio.timeout(FETCH_TIMEOUT):
            file = await bot.get_file(part.get("file", ""))
            if (file.file_size or 0) > LARGEST_FILE:
                raise NotFetched("file_large")
            data = bytes(await file.download_as_bytearray())
    except BadRequest as refused:
        raise NotFetched("file_large" if "too big" in refused.message else "file_lost") from None
    except (TelegramError, TimeoutError) as failure:
        LOG.warning("a file could not be fetched (%s)", type(failure).__name__)
        raise NotFetched("file_lost") from None
    if len(data) > LARGEST_FILE:
        raise NotFetched("file_large")
    return data


def is_foreign(message: Message) -> bool:
    """Tell whether somebody else wrote a message: it is forwarded, or another bot has put it in the writer's mouth."""
    return message.forward_origin is not None or message.via_bot is not None


def attached_to(message: Message) -> Iterator[Quoted]:
    """Yield the files and places of a message that can be used."""
    foreign = is_foreign(message)
    if message.photo:
        yield Quoted(kind="photo", by="", text="", foreign=foreign, file=_best(message.photo).file_id)
    # Telegram also shows an animation as a document.
    if (document := message.document) and not message.animation:
        name = _short(document.file_name or "")
        yield Quoted(kind="file", by=name, text="", foreign=True, file=document.file_id)
    if recording := message.voice or message.audio or message.video_note:
        yield Quoted(kind="voice", by="", text="", foreign=foreign, file=recording.file_id)
    if place := message.venue or message.location:
        # Anybody can give a place of a map its title.
        is_titled = isinstance(place, Venue)
        yield Quoted(kind="location", by="", text=_place(place), foreign=foreign or is_titled)
    if contact := message.contact:
        yield Quoted(kind="contact", by=_named(contact), text=_short(contact.phone_number), foreign=True)


def shown_in(message: Message) -> list[Quoted]:
    """Return the pictures and other files of a message that another one answers; what it says is not the writer's."""
    return [{**part, "foreign": True} for part in attached_to(message) if part["kind"] in ("photo", "file")]


def _best(sizes: Sequence[PhotoSize]) -> PhotoSize:
    by_size = sorted(sizes, key=lambda size: size.width * size.height)
    fitting = [size for size in by_size if max(size.width, size.height) <= WIDEST_PICTURE]
    light = [size for size in fitting if (size.file_size or 0) <= LARGEST_PICTURE]
    return (light or by_size)[-1 if light else 0]


def _place(place: Venue | Location) -> str:
    point, named = (place.location, f" ({place.title}, {place.address})") if isinstance(place, Venue) else (place, "")
    return _short(f"{point.latitude:.5f}, {point.longitude:.5f}{named}")


def _named(contact: Contact) -> str:
    return _short(" ".join(filter(None, (contact.first_name, contact.last_name))))


def _short(text: str) -> str:
    return " ".join(text.split())[:LONGEST_NAME]


def key_of(update: Update) -> str:
    """Return what is the same whenever Telegram brings an update."""
    if query := update.callback_query:
        return f"tap {query.id}"
    if message := update.message:
        return key_of_message(message)
    if message := update.edited_message:
        # Two changes within a second have the same time.
        words = message.text or message.caption
        return f"edit {message.chat.id} {message.message_id} {message.edit_date} {words}"
    if reaction := update.message_reaction:
        who = reaction.user.id if reaction.user else 0
        signs = [kind.to_dict() for kind in reaction.new_reaction]
        return f"reaction {reaction.chat.id} {reaction.message_id} {who} {reaction.date} {signs}"
    if change := update.my_chat_member:
        return f"member {change.chat.id} {change.date} {change.old_chat_member.status} {change.new_chat_member.status}"
    return f"update {update.update_id}"


def key_of_message(message: Message) -> str:
    """Return what the update was known by that brought a message."""
    return f"message {message.chat.id} {message.message_id}"
