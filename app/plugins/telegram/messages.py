"""The content of a Telegram message: its place, the text for the bot, its files and its quotations."""

import asyncio
import logging
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from telegram import (
    Bot,
    Chat,
    MaybeInaccessibleMessage,
    Message,
    MessageEntity,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    PhotoSize,
    User,
)
from telegram.constants import ChatType
from telegram.error import BadRequest, TelegramError

from agents.state.person import OWN, Origin, Quoted, QuotedKind
from app.assistant.file_reader import NotFetched
from app.assistant.pictures import LARGEST_PICTURE
from app.doors.slash_commands import offered
from app.plugins.telegram.place import ANONYMOUS, DOOR, PREFIX, TelegramPlace, ThreadNames
from prompts import languages

LOG = logging.getLogger(__name__)
LARGEST_FILE = 20_000_000
"""The most bytes of a file that Telegram gives to bots."""
FETCH_TIMEOUT = 60
"""Seconds for the download of a file."""
WIDEST_PICTURE = 1600
"""The most pixels of a picture's longer side; models shrink larger ones."""
LONGEST_NAME = 300
"""The most characters of a name or a place."""
LONGEST_QUOTE = 1000
"""The most characters of a quotation."""


def place_of(message: MaybeInaccessibleMessage, user: User, names: ThreadNames) -> TelegramPlace:
    """Return the place of a message; in a group every writer keeps their own user."""
    place = place_beside(message.chat, user, names, message.message_id)
    name = user.full_name if place.is_group else ""
    if not isinstance(message, Message):
        return replace(place, name=name)
    # Outside of topics, this number is that of a message with answers.
    topic = message.message_thread_id if message.is_topic_message else None
    thread, writer = names.thread(message.chat.id, topic), f"{PREFIX}{user.id}"
    if message.sender_chat and message.sender_chat.id == message.chat.id:
        # An administrator wrote in the name of the group.
        writer, name = anonymous_of(names, message.chat.id), message.sender_chat.title or name
    sent = message.date.timestamp()
    place = replace(place, name=name, topic=topic, thread=thread, sent=sent, late=time.time() - sent)
    return replace(place, user=None if thread == writer else writer)


def anonymous_of(names: ThreadNames, chat: int) -> str:
    """Return the user id for all administrators who write in the name of a group."""
    return f"{ANONYMOUS}{names.base(chat).removeprefix(names.prefix)}"


def place_beside(chat: Chat, user: User, names: ThreadNames, message: int = 0) -> TelegramPlace:
    """Return the place of an update without a message: a reaction, or a change of the bot's membership."""
    writer, thread = f"{PREFIX}{user.id}", names.thread(chat.id)
    place = TelegramPlace(chat.id, message, lang=_lang(user), thread=thread, prefix=names.prefix)
    return place if thread == writer else replace(place, user=writer)


def addressed(message: Message, bot: User, names: Collection[str] = ()) -> str | None:
    """Return the text that is addressed to the bot, without the bot's name; None if there is none.

    In a group a message addresses the bot by a mention, by a reply to the bot, by one of its commands, or by one of its
    further names at the beginning. Telegram marks mentions and commands in the message's entities.
    """
    text = message.text or message.caption or ""
    kinds: list[str | None] = [MessageEntity.MENTION, MessageEntity.TEXT_MENTION]
    marks = message.parse_entities(kinds) if message.text else message.parse_caption_entities(kinds)
    mention = f"@{bot.username}".lower()
    first = text.split(maxsplit=1)[0].lower() if text.strip() else ""
    if first.startswith("/") and "@" in first:
        text, name = text.lstrip(), first.removesuffix(mention)
        return name + text[len(first) :] if name != first else None
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
    for name in names:
        if called := re.match(rf"\s*{re.escape(name)}(?:[\s,:!.]+|$)", text, re.IGNORECASE):
            return text[called.end() :]
    replied = message.reply_to_message
    # Every message of a topic answers the topic's root.
    is_reply = replied is not None and replied.from_user == bot and replied.forum_topic_created is None
    return text if is_reply or is_mentioned else None


def _lang(user: User) -> str | None:
    lang = (user.language_code or "").split("-")[0]
    return lang if lang in languages() else None


ORIGINS: Mapping[QuotedKind, Origin] = {"answer_to_own": Origin.USER, "answer_to_assistant": Origin.ASSISTANT}
"""The origins of answered words; all other words are somebody else's."""


def quoted_in(message: Message, bot: User) -> list[Quoted]:
    """Return the quotations and files of a message, as data for a model."""
    quoted: list[Quoted] = []
    if origin := message.forward_origin:
        quoted.append(Quoted(kind="forward", by=_author(origin), text="", origin=Origin.FORWARDED))
    elif message.via_bot:
        quoted.append(Quoted(kind="forward", by=message.via_bot.full_name, text="", origin=Origin.VIA_BOT))
    attached = list(attached_to(message))
    quoted += attached
    if message.caption and not attached:
        kinds = [kind for kind in ("video", "animation", "paid_media") if getattr(message, kind)]
        quoted += [Quoted(kind="caption", by="", text=kind, origin=Origin.USER) for kind in kinds]
    answered, part = message.reply_to_message, message.quote
    text = part.text if part else (answered.text or answered.caption or "") if answered else ""
    if text:
        kind = _kind_of_answer(message, answered, bot)
        by = _writer(message, answered) if kind == "answer" else ""
        quoted.append(Quoted(kind=kind, by=by, text=text[:LONGEST_QUOTE], origin=ORIGINS.get(kind, Origin.QUOTED)))
    if answered and not attached:
        # The files are not the writer's own.
        shown = (part for part in attached_to(answered) if part["kind"] in ("photo", "file"))
        quoted += [{**part, "origin": Origin.QUOTED} for part in shown]
    return quoted


def _kind_of_answer(message: Message, answered: Message | None, bot: User) -> QuotedKind:
    # The authors of messages in the name of a group or a channel are unknown.
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


async def fetch(bot: Bot, part: Quoted) -> bytes:
    """Return the bytes of a user's file; raises NotFetched if it is too large, gone, or late."""
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
    return data


def origin_of(message: Message) -> Origin:
    """Return the origin of a message's words: it may be forwarded, or written by another bot in the user's name."""
    if message.forward_origin is not None:
        return Origin.FORWARDED
    return Origin.USER if message.via_bot is None else Origin.VIA_BOT


def is_foreign(message: Message) -> bool:
    """Tell whether somebody else wrote a message."""
    return origin_of(message) not in OWN


def attached_to(message: Message) -> Iterator[Quoted]:
    """Yield the files and places of a message that can be used."""
    origin = origin_of(message)
    if message.photo:
        yield Quoted(kind="photo", by="", text="", origin=origin, file=_best(message.photo).file_id)
    # Telegram also shows an animation as a document.
    if (document := message.document) and not message.animation:
        name = _short(document.file_name or "")
        yield Quoted(kind="file", by=name, text="", origin=Origin.FILE, file=document.file_id)
    if recording := message.voice or message.audio or message.video_note:
        # A recording that was not made on the spot is a file: anybody may speak in it.
        spoken_by = Origin.FILE if recording is message.audio and origin is Origin.USER else origin
        yield Quoted(kind="voice", by="", text="", origin=spoken_by, file=recording.file_id)
    if point := message.location:
        # Telegram gives a venue a location, too. Anybody can title a place on a map.
        venue = message.venue
        title = f" ({venue.title}, {venue.address})" if venue else ""
        text = _short(f"{point.latitude:.5f}, {point.longitude:.5f}{title}")
        yield Quoted(kind="location", by="", text=text, origin=Origin.TITLE if venue else origin)
    if contact := message.contact:
        name = _short(f"{contact.first_name} {contact.last_name or ''}")
        yield Quoted(kind="contact", by=name, text=_short(contact.phone_number), origin=Origin.CONTACT)


def _best(sizes: Sequence[PhotoSize]) -> PhotoSize:
    by_size = sorted(sizes, key=lambda size: size.width * size.height)
    fitting = [size for size in by_size if max(size.width, size.height) <= WIDEST_PICTURE]
    light = [size for size in fitting if (size.file_size or 0) <= LARGEST_PICTURE]
    return light[-1] if light else by_size[0]


def _short(text: str) -> str:
    return " ".join(text.split())[:LONGEST_NAME]


def key_of_message(message: Message) -> str:
    """Return the key of the update that brought a message."""
    return f"message {message.chat.id} {message.message_id}"
