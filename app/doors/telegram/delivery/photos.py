"""Pictures of the web as photos of a chat."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from telegram import InputMediaPhoto, MessageEntity

from agents.events import ShownImage
from agents.events.views import is_web
from agents.language.text.clean import clean
from app.doors.telegram.delivery.pages import Page, utf16_length
from app.doors.telegram.delivery.sender import Fate, Sender
from app.doors.telegram.place import Place
from app.texts import LONGEST_TITLE

MOST_PHOTOS = 10
"""Photos of one album."""
PHOTO_TYPES = ("", "image/jpeg", "image/png", "image/webp")
"""What Telegram shows as a photo; empty where the kind is not known."""
PATIENCE = 60.0
"""Seconds in which Telegram has to fetch the pictures of a request."""


async def send_photos(sender: Sender, to: Place, images: Sequence[ShownImage]) -> list[ShownImage]:
    """Send pictures as photos, several as an album; return those that are not shown so.

    Telegram fetches them itself. If it refuses the originals, it is asked for their small copies.

    Raises:
        Gone: the chat cannot be written to.
    """
    photos = [image for image in images if image["mime_type"] in PHOTO_TYPES and is_web(image["url"])][:MOST_PHOTOS]
    originals = [image["url"] for image in photos]
    copies = [image["thumbnail"] if is_web(image["thumbnail"]) else image["url"] for image in photos]
    for urls in dict.fromkeys((tuple(originals), tuple(copies))):
        if photos and await _send(sender, to, urls, [caption(image) for image in photos]) != "refused":
            return [image for image in images if image not in photos]
    return [*images]


def caption(image: ShownImage) -> Page:
    """Return what stands below a picture: its title, and the site that shows it as a link."""
    title = " ".join(clean(image["title"]).split())[:LONGEST_TITLE]
    page = image["page"] if is_web(image["page"]) else ""
    site = urlsplit(page).netloc
    between = "\n" if title and site else ""
    start = utf16_length(title + between)
    links = (MessageEntity(MessageEntity.TEXT_LINK, start, utf16_length(site), url=page),) if site else ()
    return Page(title + between + site, links)


async def _send(sender: Sender, to: Place, urls: Sequence[str], captions: Sequence[Page]) -> Fate:
    bot = sender.bot
    place: dict[str, Any] = {**to.address(), "read_timeout": PATIENCE}
    media = [
        InputMediaPhoto(url, caption=words.text or None, caption_entities=words.entities or None)
        for url, words in zip(urls, captions, strict=True)
    ]
    if len(media) > 1:
        return await sender.deliver(to, partial(bot.send_media_group, media=media, **place))
    [only] = captions
    send = partial(bot.send_photo, photo=urls[0], caption=only.text or None, caption_entities=only.entities or None)
    return await sender.deliver(to, partial(send, **place))
