"""Show the events of a turn in a Telegram chat, with documents and photos; any other view is sent as text."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from telegram import InlineKeyboardMarkup, InputFile, InputMediaPhoto, MessageEntity

from agents.events import CUT, REBUILT, RETRY, Error, Event, Images, Interrupt, Message, PrivateMessage, ShownImage
from agents.events.views import Document, Link, Notice, Table, View, is_web
from agents.language.text.clean import clean
from app.doors.telegram.delivery.buttons import command_buttons, keyboard, link_buttons, web_app_keyboard
from app.doors.telegram.delivery.draft import LiveAnswer
from app.doors.telegram.delivery.pages import LIMIT, Page, pages, utf16_length
from app.doors.telegram.delivery.receipts import PageReceipts, Receipts
from app.doors.telegram.delivery.sender import Fate, Gone, Keyboard, Sender
from app.doors.telegram.place import ANONYMOUS, Place, chat_of
from app.listing import columns
from app.texts import LONGEST_TITLE, gallery
from prompts import sentence

LARGEST_DOCUMENT = 50_000_000
"""Bytes of a file that Telegram takes from a bot."""
MOST_PHOTOS = 10
"""Photos of one album."""
PHOTO_TYPES = ("", "image/jpeg", "image/png", "image/webp")
"""What Telegram shows as a photo; empty where the kind is not known."""
PHOTO_PATIENCE = 60.0
"""Seconds in which Telegram has to fetch the pictures of a request."""
WIDEST_TABLE = 36
"""Columns of a table that a phone shows without breaking its lines."""
LEVELS = {"info": "ℹ️", "warning": "⚠️", "error": "❗"}

NOT_TAKEN = ("message_long", "many_turns")
"""The codes of messages that were not taken in; there is nothing to try again."""

Lang = Callable[[], Awaitable[str]]


class ChatScreen:
    """Show the events of a user's turn, each once, also after a restart."""

    def __init__(
        self, sender: Sender, receipts: Receipts, to: Place, user: str, lang: Lang, live: LiveAnswer | None = None
    ) -> None:
        self._sender, self._receipts, self._to, self._user, self.lang = sender, receipts, to, user, lang
        self._live = live
        self.is_followed = False
        """Whether a new message of the user has ended the answer, which then needs no word about it."""
        self._question: Interrupt | None = None
        self._pages: PageReceipts | None = None

    async def show(self, event: Event) -> None:
        """Show one event, or leave it out. Raises Gone if the chat cannot be written to."""
        question, self._question = self._question, None
        if isinstance(event, Interrupt):
            # The message that follows has its words, and decides whether they have been sent before.
            self._question = event
        elif isinstance(event, Message) and event.shown and question is None:
            # The view before it showed the same.
            pass
        elif not self._receipts.take(event):
            self._pages = self._receipts.pages(event)
            await self._send(event, question)
            await self._receipts.add(event)

    async def _send(self, event: Event, question: Interrupt | None) -> None:
        match event:
            case Message(text=text) if question:
                await self._say(text, self._buttons(question, await self.lang()))
            case Message(text=text, interrupted=interrupted):
                if text.strip():
                    parts = pages(text, citations=event.citations)
                    await self._sender.show(self._to, parts, instead=await self._so_far(), receipts=self._pages)
                if interrupted and not self.is_followed:
                    lang = await self.lang()
                    buttons = command_buttons(self._user, lang, "continue", "retry")
                    await self._say(sentence("telegram", "stopped", lang), buttons)
            case View():
                await self._draw(event)
            case Images(images=images):
                if links := await send_photos(self._sender, self._to, images):
                    await self._draw(gallery(links, sentence("telegram", "images", await self.lang())))
            case PrivateMessage(user=user, text=text):
                await self._hand_privately(user, text)
            case Error(code=code, text=text) if code != RETRY:
                await self._say(text, await self._way_on(code))

    def _buttons(self, question: Interrupt, lang: str) -> Keyboard:
        if question.web_app and not self._to.is_group:
            return web_app_keyboard(question, lang)
        return keyboard(question, self._user, lang)

    async def _hand_privately(self, user: str, text: str) -> None:
        """Send a text to a user's own chat; say so in this one if the user has not opened that chat yet."""
        own = chat_of(user)
        try:
            if own is None:
                raise Gone
            await self._sender.say(Place(own), text, is_markdown=False)
        except Gone:
            key = "nobody_alone" if user.startswith(ANONYMOUS) else "open_chat"
            await self._say(sentence("telegram", key, await self.lang(), link=self._sender.bot.link))

    async def _draw(self, view: View) -> None:
        match view:
            case Document(title=title, content=content):
                file = clean(content).encode("utf-8", "replace")
                if not await send_document(self._sender, self._to, clean(title), file, self._pages):
                    await self._say(content)
            case Table() if page := grid(view):
                await self._sender.show(self._to, [page], instead=await self._so_far(), receipts=self._pages)
            case Link(url=url):
                buttons = link_buttons(url, await self.lang())
                await self._say(view.text(), InlineKeyboardMarkup(buttons) if buttons else None)
            case Notice(message=message, level=level):
                await self._say(f"{LEVELS[level]} {message}")
            case _:
                await self._say(view.text())

    async def _way_on(self, code: str) -> Keyboard:
        """Return the buttons below an error: an answer that was cut is continued, a failed one tried again."""
        if code in (REBUILT, *NOT_TAKEN):
            return None
        return command_buttons(self._user, await self.lang(), "continue" if code in CUT else "retry")

    async def _say(self, text: str, buttons: Keyboard = None) -> None:
        parts = pages(text, is_markdown=False)
        await self._sender.show(self._to, parts, buttons, await self._so_far(), self._pages)

    async def _so_far(self) -> int | None:
        return await self._live.take() if self._live else None


def grid(view: Table) -> Page | None:
    """Return a table in fixed-width columns; None if a phone would break its lines."""
    numbered = (("#", *view.columns), *((str(number), *row) for number, row in enumerate(view.rows, 1)))
    lines = columns(numbered)
    title = f"{clean(view.title)}\n" if view.title else ""
    text = "\n".join(lines)
    if max(map(len, lines)) > WIDEST_TABLE or utf16_length(title + text) > LIMIT:
        return None
    return Page.of(title + text, MessageEntity(MessageEntity.PRE, len(title), len(text)))


async def send_document(
    sender: Sender, to: Place, name: str, content: bytes, receipts: PageReceipts | None = None
) -> bool:
    """Send a file, unless a receipt says that it was sent; False if Telegram refuses it.

    A file that Telegram was out of reach for counts as sent. Raises Gone if the chat cannot be written to.
    """
    if receipts and receipts.has_next():
        return True
    if len(content) > LARGEST_DOCUMENT:
        return False
    # Telegram refuses an empty file.
    document = InputFile(content or b"\n", filename=name)
    fate = await sender.deliver(to, partial(sender.bot.send_document, document=document, **to.address()))
    if receipts and fate != "refused":
        await receipts.note()
    return fate != "refused"


async def send_photos(sender: Sender, to: Place, images: Sequence[ShownImage]) -> list[ShownImage]:
    """Send pictures as photos, several as an album; return those that are not shown so.

    Telegram fetches them itself. If it refuses the originals, it is asked for their small copies.
    Raises Gone if the chat cannot be written to.
    """
    photos = [image for image in images if image["mime_type"] in PHOTO_TYPES and is_web(image["url"])][:MOST_PHOTOS]
    originals = [image["url"] for image in photos]
    copies = [image["thumbnail"] if is_web(image["thumbnail"]) else image["url"] for image in photos]
    for urls in dict.fromkeys((tuple(originals), tuple(copies))):
        if photos and await _send_photos(sender, to, urls, [caption(image) for image in photos]) != "refused":
            return [image for image in images if image not in photos]
    return [*images]


def caption(image: ShownImage) -> Page:
    """Return what stands below a picture: its title, and the site that shows it as a link."""
    title = " ".join(clean(image["title"]).split())[:LONGEST_TITLE]
    page = image["page"] if is_web(image["page"]) else ""
    site = urlsplit(page).netloc
    between = "\n" if title and site else ""
    links = [MessageEntity(MessageEntity.TEXT_LINK, len(title + between), len(site), url=page)] if site else []
    return Page.of(title + between + site, *links)


async def _send_photos(sender: Sender, to: Place, urls: Sequence[str], captions: Sequence[Page]) -> Fate:
    bot = sender.bot
    place: dict[str, Any] = {**to.address(), "read_timeout": PHOTO_PATIENCE}
    media = [
        InputMediaPhoto(url, caption=words.text or None, caption_entities=words.entities or None)
        for url, words in zip(urls, captions, strict=True)
    ]
    if len(media) > 1:
        return await sender.deliver(to, partial(bot.send_media_group, media=media, **place))
    [only] = captions
    send = partial(bot.send_photo, photo=urls[0], caption=only.text or None, caption_entities=only.entities or None)
    return await sender.deliver(to, partial(send, **place))
