"""Answers of the door itself to slash commands, each found out once, also over a restart; and the menus."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from pydantic import TypeAdapter
from telegram import (
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
)
from telegram.error import InvalidToken, TelegramError

from agents.events import Event, Message
from agents.memory.updates import StoredUpdate
from agents.state import SUPERVISOR
from app.assistant import Turn
from app.assistant.system_messages import hand_down
from app.doors import slash_commands
from app.doors.slash_commands import Command, Scope, offered
from app.doors.telegram.delivery.buttons import OF
from app.doors.telegram.delivery.receipts import Receipts
from app.doors.telegram.delivery.screen import send_document
from app.doors.telegram.delivery.sender import Gone
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import DOOR, Place, chat_of, go_to_conversation
from app.doors.visit import Visit, stop_when_begun
from prompts import languages, phrase, sentence

LOG = logging.getLogger(__name__)
MOST_IN_A_ROW = 3
WIDEST_ROW = 45
"""Characters that a row of buttons shows without cutting them."""


@dataclass(frozen=True)
class Answer:
    """A text, the buttons below it (label and command), and what only the user may see."""

    text: str
    buttons: tuple[tuple[str, str], ...] = ()
    document: tuple[str, str] | None = None
    """The name of a file, and what stands in it; without a name it is a message. In a group the user gets it first."""

    def keyboard(self) -> InlineKeyboardMarkup | None:
        """Return the buttons as Telegram takes them."""
        buttons = [InlineKeyboardButton(label, callback_data=data) for label, data in self.buttons]
        in_a_row = MOST_IN_A_ROW if sum(len(button.text) for button in buttons[:MOST_IN_A_ROW]) <= WIDEST_ROW else 1
        rows = [buttons[begin : begin + in_a_row] for begin in range(0, len(buttons), in_a_row)]
        return InlineKeyboardMarkup(rows) if rows else None


STORED = TypeAdapter(Answer)
Find = Callable[[], Awaitable[Answer | None]]
"""Finds the answer to an update; None if a turn brings it."""


async def give(door: TelegramDoor, place: Place, update: StoredUpdate, find: Find) -> None:
    """Send the answer to an update, which may be stored from before a restart, and close the update.

    Nothing is done for an update that has become a message: it is closed with that.
    """
    updates = door.updates
    try:
        if update.answer is None:
            answer = await find()
            if answer is None:
                return
            await updates.answer(update.id, STORED.dump_json(answer).decode())
        else:
            answer = STORED.validate_json(update.answer)
        if answer.document and place.is_group:
            # The row holds what is still to be sent.
            answer = Answer(await _hand(door, place, *answer.document) or answer.text, answer.buttons)
            await updates.answer(update.id, STORED.dump_json(answer).decode())
        if answer.text.strip():
            await _say(door, place, update, answer)
        if answer.document:
            rest = Answer("", document=answer.document)
            await updates.answer(update.id, STORED.dump_json(rest).decode())
            if refusal := await _hand(door, place, *answer.document):
                await door.sender.say(place, refusal, is_markdown=False)
    except Exception:
        # An update that fails is not tried again at every start.
        await updates.close(update.id)
        raise
    await updates.close(update.id)


async def _say(door: TelegramDoor, place: Place, update: StoredUpdate, answer: Answer) -> None:
    """Send the text of an answer; after a restart only the pages that have not arrived."""
    receipts = Receipts(door.assistant.memory.store, place.thread, f"update {update.id}")
    await receipts.read()
    receipts.begin(Message(speaker=SUPERVISOR, text=answer.text))
    await door.sender.say(place, answer.text, is_markdown=False, keyboard=answer.keyboard(), receipts=receipts)
    await receipts.clear()


async def _hand(door: TelegramDoor, place: Place, name: str, text: str) -> str:
    """Send a user what only they may see, in a group to their own chat. Return why it did not arrive, or nothing."""
    lang, own = await door.lang(place), chat_of(place.owner)
    to = Place(own) if place.is_group and own else place
    try:
        if to.is_group:
            raise Gone
        if not name:
            await door.sender.say(to, text, is_markdown=False)
        elif not await send_document(door.sender, to, name, text.encode("utf-8", "replace")):
            return sentence("telegram", "document_refused", lang, name=name)
    except Gone:
        if not place.is_group:
            raise
        key = "nobody_alone" if place.is_anonymous else "open_chat"
        return sentence("telegram", key, lang, link=door.sender.bot.link)
    return ""


class CommandDoor:
    """A chat as the door of a visit that lasts for one command."""

    name = DOOR
    is_traced, has_pages = False, True

    def __init__(self, door: TelegramDoor, place: Place, stored: StoredUpdate, is_over: Callable[[], bool]) -> None:
        self._door, self._place, self._stored, self._is_over = door, place, stored, is_over
        self.handed: tuple[str, str] | None = None
        self.has_played = False

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Store a turn as the turn of the command's message, and have it played in the order of its chat."""
        self.has_played = True
        # A message that failed is played again under its own id, unless that is being done.
        is_running = any(answer.turn.id == turn.id for answer in self._door.answers.values())
        failed = None if is_running else await self._door.assistant.message(turn.thread, turn.id)
        is_new = await self._door.assistant.state(turn.thread, turn.owner) is None
        id = failed.message_id if failed else ""
        own = self._place.turn(turn.text, id=id, source=turn.source, quoted=turn.quoted)
        own = replace(own, lang=self._place.lang if is_new else None)
        await self._door.receive(self._place, own, self._stored.id)
        return True

    async def stop(self, thread: str) -> bool:
        """Stop the answer that was being made, or waited, when the command came; False if there was none."""
        return await stop_when_begun(self._door.assistant, thread, self._is_over, self._place.owner)

    async def begin(self, visit: Visit, name: str) -> str:
        """Go to another conversation of the chat."""
        store, names, before = self._door.assistant.memory.store, self._door.names, self._place.thread
        self._place = await go_to_conversation(store, names, self._place, name, self._stored.id)
        await hand_down(store, before, self._place.thread)
        return self._place.thread

    def named(self, thread: str) -> str:
        """Return the number of a conversation of this chat."""
        return self._door.names.number(thread, self._place.chat, self._place.topic)

    def here(self, thread: str, lang: str) -> str:
        """Say that the chat holds another conversation now; one that has begun has greeted."""
        return "" if self.has_played else sentence("telegram", "conversation", lang, number=self.named(thread))

    async def whisper(self, text: str, lang: str) -> str:
        """Answer, or in a group send it to the user's own chat."""
        if not self._place.is_group or not text:
            return text
        self.handed = "", text
        return phrase("shown_privately", lang)

    async def hand(self, name: str, content: str, lang: str) -> str:
        """Send a document with the answer; in a group to the user's own chat."""
        self.handed = name, content
        return sentence("telegram", "document_privately" if self._place.is_group else "document", lang)


def is_for_administrators(command: Command, argument: str, place: Place) -> bool:
    """Tell whether only an administrator of the group may give a command."""
    concerns_all = command.concerns_all
    return place.is_group and concerns_all is not None and argument.lower().startswith(concerns_all)


async def begin(door: TelegramDoor, place: Place, stored: StoredUpdate, find: Find) -> None:
    """Run a command that begins a turn, unless it was run before a restart; what it answers instead is sent in order.

    Raises DatabaseError if the turn cannot be stored.
    """
    if stored.answer is None:
        answer = await find()
        if answer is None:
            return
        stored = replace(stored, answer=STORED.dump_json(answer).decode())
        await door.updates.answer(stored.id, stored.answer or "")
    door.attend(place, partial(give, door, place, stored, find))


async def run(
    door: TelegramDoor, place: Place, name: str, argument: str, stored: StoredUpdate, is_over: Callable[[], bool]
) -> Answer | None:
    """Run a command and return its answer, None if a turn brings it; `stored` is the row that asked for it.

    `is_over` tells whether all is over that was asked before it.
    """
    command = slash_commands.commands().get(name)
    if command and is_for_administrators(command, argument, place) and not await door.administers(place):
        return Answer(sentence("telegram", "for_administrators", await door.lang(place)))
    here = CommandDoor(door, place, stored, is_over)
    visit = Visit(door.assistant, here, place.thread, place.user, is_shared=place.is_group)
    await visit.state()
    lang = await door.lang(place)
    answer = await slash_commands.run(name, argument, visit, lang)
    if here.has_played:
        return None
    offers = await slash_commands.picks(name, argument, visit, visit.lang or lang)
    buttons = tuple((label, f"{sent}{OF}{place.owner}") for sent, label in offers.items())
    return Answer(answer, buttons, here.handed)


async def offer_menus(door: TelegramDoor) -> None:
    """Show the commands in the menus of private chats, groups, their administrators and the bot's, in each language."""
    scopes: list[tuple[Scope, BotCommandScope]] = [
        ("private", BotCommandScopeAllPrivateChats()),
        ("group", BotCommandScopeAllGroupChats()),
        ("group_admin", BotCommandScopeAllChatAdministrators()),
        *(("operator", BotCommandScopeChat(chat)) for chat in sorted(door.access.administrators)),
    ]
    default = door.default_lang
    for (name, scope), code in product(scopes, [None, *(lang for lang in languages() if lang != default)]):
        menu = [BotCommand(command.name, command.description(code or default)) for command in offered(DOOR, name)]
        try:
            await door.sender.bot.set_my_commands(menu, scope=scope, language_code=code)
        except InvalidToken:
            return
        except TelegramError as failure:
            # An administrator who has left the bot has no menu.
            LOG.warning("a menu of commands could not be set (%s)", type(failure).__name__)


async def describe(door: TelegramDoor) -> None:
    """Say in each language what the bot is, where nobody else has: people read it before they begin."""
    bot, default = door.sender.bot, door.default_lang
    try:
        # In a language without a description Telegram returns the one for all.
        for code in (*(lang for lang in languages() if lang != default), None):
            if not (await bot.get_my_description(code)).description:
                await bot.set_my_description(sentence("telegram", "description", code or default), language_code=code)
    except InvalidToken:
        # The request for updates ends the command with a word.
        return
    except TelegramError as failure:
        LOG.warning("the bot's description could not be set (%s)", type(failure).__name__)
