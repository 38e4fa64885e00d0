"""The events of a turn in a Telegram chat, with documents and photos; any other view is sent as text."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from telegram import InlineKeyboardMarkup, InputFile, InputMediaPhoto, MessageEntity

from agents.events import CUT, REBUILT, RETRY, Error, Event, Images, Interrupt, Message, PrivateMessage, ShownImage
from agents.events.views import Document, Link, Notice, Table, View, is_web
from agents.language.text.clean import clean
from app.assistant import Turn
from app.assistant.assistant import NOT_TAKEN
from app.plugins.telegram.delivery.buttons import command_buttons, keyboard, link_buttons, web_app_keyboard
from app.plugins.telegram.delivery.draft import Lang, LiveAnswer
from app.plugins.telegram.delivery.pages import LIMIT, MessagePage, pages, utf16_length
from app.plugins.telegram.delivery.receipts import Receipts
from app.plugins.telegram.delivery.sender import Gone, Keyboard, Sender, TextRefused
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import ANONYMOUS, TelegramPlace, chat_of
from app.presentation.lines import columns
from app.presentation.texts import LONGEST_TITLE, gallery
from prompts import phrase

LARGEST_DOCUMENT = 50_000_000
"""The most bytes of a file that Telegram takes from a bot."""
MOST_PHOTOS = 10
PHOTO_TYPES = ("", "image/jpeg", "image/png", "image/webp")
"""The media types that Telegram shows as a photo; empty where the type is unknown."""
PHOTO_PATIENCE = 60.0
"""Seconds for Telegram to fetch the pictures of a request."""
WIDEST_TABLE = 36
"""The most columns of a table on a phone without broken lines."""
LEVELS = {"info": "ℹ️", "warning": "⚠️", "error": "❗"}


class ChatScreen:
    """Shows the events of a turn, each once, also after a restart. `live` shows the unfinished answer."""

    def __init__(self, sender: Sender, receipts: Receipts, to: TelegramPlace, turn: Turn, lang: Lang) -> None:
        self._sender, self._receipts, self.place, self.turn, self.lang = sender, receipts, to, turn, lang
        self.live = LiveAnswer(sender, to, turn.owner, lang, receipts)
        self.is_followed = False
        """Whether a new message of the user has ended the answer. The answer then needs no remark."""
        self._question: Interrupt | None = None
        self._is_unreached = False
        """Whether a private text did not reach the user, who got a remark on it."""

    async def show(self, event: Event) -> None:
        """Show one event, leave it out, or send a remark in its place. Raises Gone if the chat cannot be written to."""
        question, self._question = self._question, None
        if isinstance(event, Interrupt):
            # The next message has its words, and its receipt tells whether they were sent before.
            self._question = event
        elif isinstance(event, Message) and question is None and (event.shown or await self._is_refuted(event)):
            # The view before it showed the same, or its remark on a private text is untrue.
            pass
        elif self._receipts.begin(event):
            try:
                await self._send(event, question)
            except TextRefused:
                lang = await self.lang()
                text, again = (
                    say("sorry", lang),
                    command_buttons(self.turn.owner, lang, "retry"),
                )
                with suppress(TextRefused):
                    await self._sender.say(self.place, text, is_markdown=False, keyboard=again)
            await self._receipts.add()

    async def _is_refuted(self, message: Message) -> bool:
        return self._is_unreached and message.text == phrase("shown_privately", await self.lang())

    async def _send(self, event: Event, question: Interrupt | None) -> None:
        match event:
            case Message(text=text) if question:
                lang, is_web_app = await self.lang(), question.web_app and not self.place.is_group
                buttons = web_app_keyboard(question, lang) if is_web_app else keyboard(question, self.turn.owner, lang)
                await self._say(text, buttons)
            case Message(text=text, interrupted=interrupted):
                if text.strip():
                    parts = pages(text, citations=event.citations)
                    await self._sender.show(self.place, parts, instead=await self.live.take(), receipts=self._receipts)
                if interrupted and not self.is_followed:
                    lang = await self.lang()
                    ways_on = command_buttons(self.turn.owner, lang, "continue", "retry")
                    await self._say(say("stopped", lang), ways_on)
            case View():
                await self._draw(event)
            case Images(images=images):
                if links := await send_photos(self._sender, self.place, images):
                    await self._draw(gallery(links, say("images", await self.lang())))
            case PrivateMessage(user=user, text=text):
                await self._hand_privately(user, text)
            case Error(code=code, text=text) if code != RETRY:
                # A cut answer is continued, a failed one tried again.
                way_on = command_buttons(self.turn.owner, await self.lang(), "continue" if code in CUT else "retry")
                await self._say(text, None if code in (REBUILT, *NOT_TAKEN) else way_on)

    async def _hand_privately(self, user: str, text: str) -> None:
        """Send a text to a user's own chat; send a remark to this chat if the user has not opened their own yet."""
        own = chat_of(user)
        try:
            if own is None:
                raise Gone
            await self._sender.say(TelegramPlace(own), text, is_markdown=False)
        except Gone:
            self._is_unreached = True
            key = "nobody_alone" if user.startswith(ANONYMOUS) else "open_chat"
            await self._say(say(key, await self.lang(), link=self._sender.bot.link))

    async def _draw(self, view: View) -> None:
        match view:
            case Document(title=title, content=content):
                file = clean(content).encode("utf-8", "replace")
                if not await send_document(self._sender, self.place, clean(title), file, self._receipts):
                    await self._say(content)
            case Table() if page := grid(view):
                await self._sender.show(self.place, [page], instead=await self.live.take(), receipts=self._receipts)
            case Link(url=url):
                buttons = link_buttons(url, await self.lang())
                await self._say(view.text(), InlineKeyboardMarkup(buttons) if buttons else None)
            case Notice(message=message, level=level):
                await self._say(f"{LEVELS[level]} {message}")
            case _:
                await self._say(view.text())

    async def _say(self, text: str, buttons: Keyboard = None) -> None:
        parts = pages(text, is_markdown=False)
        await self._sender.show(self.place, parts, buttons, await self.live.take(), self._receipts)


def grid(view: Table) -> MessagePage | None:
    """Return a table in columns of fixed width; None if a phone would break its lines."""
    rows = enumerate(view.rows, 1)
    numbered = (("#", *view.columns), *(("-" if view.unnumbered else str(number), *row) for number, row in rows))
    lines = columns(numbered)
    title = f"{clean(view.title)}\n" if view.title else ""
    text = "\n".join(lines)
    if max(map(len, lines)) > WIDEST_TABLE or utf16_length(title + text) > LIMIT:
        return None
    return MessagePage.of(title + text, MessageEntity(MessageEntity.PRE, len(title), len(text)))


async def send_document(
    sender: Sender, to: TelegramPlace, name: str, content: bytes, receipts: Receipts | None = None
) -> bool:
    """Send a file, unless a receipt says that it was sent; False if it could not be sent."""
    if receipts and receipts.has_next():
        return True
    if len(content) > LARGEST_DOCUMENT:
        return False
    # Telegram refuses an empty file.
    document = InputFile(content or b"\n", filename=name)
    is_sent = await sender.deliver(to, partial(sender.bot.send_document, document=document)) is not None
    if receipts and is_sent:
        await receipts.note()
    return is_sent


async def send_photos(sender: Sender, to: TelegramPlace, images: Sequence[ShownImage]) -> list[ShownImage]:
    """Send pictures as photos, several as an album; return the failed pictures.

    Telegram fetches them itself. If it refuses the originals, it is asked for their small copies.
    """
    photos = [image for image in images if image["mime_type"] in PHOTO_TYPES and is_web(image["url"])][:MOST_PHOTOS]
    captions = [caption(image) for image in photos]
    originals = tuple(image["url"] for image in photos)
    copies = tuple(image["thumbnail"] if is_web(image["thumbnail"]) else image["url"] for image in photos)
    options: dict[str, Any] = {"read_timeout": PHOTO_PATIENCE}
    for urls in dict.fromkeys((originals, copies) if photos else ()):
        media = [
            InputMediaPhoto(url, words.text or None, caption_entities=words.entities or None)
            for url, words in zip(urls, captions, strict=True)
        ]
        send: Callable[..., Awaitable[object]] = partial(sender.bot.send_media_group, media=media, **options)
        if len(media) == 1:
            options |= {"caption": captions[0].text or None, "caption_entities": captions[0].entities or None}
            send = partial(sender.bot.send_photo, photo=urls[0], **options)
        if await sender.deliver(to, send) is not None:
            return [image for image in images if image not in photos]
    return [*images]


def caption(image: ShownImage) -> MessagePage:
    """Return the caption of a picture: its title, and a link to its site."""
    title = " ".join(clean(image["title"]).split())[:LONGEST_TITLE]
    page = image["page"] if is_web(image["page"]) else ""
    site = urlsplit(page).netloc
    between = "\n" if title and site else ""
    links = [MessageEntity(MessageEntity.TEXT_LINK, len(title + between), len(site), url=page)] if site else []
    return MessagePage.of(title + between + site, *links)
