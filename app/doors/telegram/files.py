"""The files that users send: what they are, and how they are fetched when their turn comes."""

import asyncio
import logging
from collections.abc import Iterator, Sequence

from telegram import Bot, Contact, Location, Message, PhotoSize, Venue
from telegram.error import BadRequest, TelegramError

from agents.sources.attachments import LARGEST_PICTURE
from agents.state.person import Quoted
from app.assistant.file_reader import NotFetched

LOG = logging.getLogger(__name__)
LARGEST_FILE = 20_000_000
"""Bytes of a file that Telegram gives to bots."""
FETCH_TIMEOUT = 60
"""Seconds in which a file has to be here."""
WIDEST_PICTURE = 1600
"""Pixels of the longer side of a picture; models make larger ones small."""
LONGEST_NAME = 300
"""Characters of a name or a place."""


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
    """Return the largest size of a picture that a model can use."""
    by_size = sorted(sizes, key=lambda size: size.width * size.height)
    fitting = [size for size in by_size if max(size.width, size.height) <= WIDEST_PICTURE]
    light = [size for size in fitting if (size.file_size or 0) <= LARGEST_PICTURE]
    return (light or by_size)[-1 if light else 0]


def _place(place: Venue | Location) -> str:
    point = place.location if isinstance(place, Venue) else place
    named = f" ({place.title}, {place.address})" if isinstance(place, Venue) else ""
    return _short(f"{point.latitude:.5f}, {point.longitude:.5f}{named}")


def _named(contact: Contact) -> str:
    return _short(" ".join(filter(None, (contact.first_name, contact.last_name))))


def _short(text: str) -> str:
    return " ".join(text.split())[:LONGEST_NAME]
