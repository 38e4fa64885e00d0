"""Slash commands in a Telegram chat: those of the one registry, buttons that confirm and choose, menus, `/stats`."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from telegram import (
    Bot,
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
)
from telegram.error import BadRequest, TelegramError

from agents.events import Event
from agents.memory.inbox import now_ms
from agents.memory.updates import StoredUpdate
from app.assistant import Turn
from app.doors import slash_commands
from app.doors.slash_commands import Command, Scope, offered
from app.doors.telegram.delivery.buttons import OF
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import DOOR, Place, chat_of
from app.doors.telegram.updates.answers import STORED, Answer, give
from app.doors.telegram.updates.taps import BAD, GOOD
from app.doors.visit import Visit, stop_when_begun
from prompts import languages, sentence

LOG = logging.getLogger(__name__)
STATS = "stats"
WEEK_MS = 7 * 24 * 3600 * 1000
KEEP = "-"
"""What the button sends that only takes the buttons away."""


class CommandDoor:
    """A chat as the door of a visit that lasts for one command."""

    name = DOOR
    is_traced, has_pages = False, True

    def __init__(self, door: TelegramDoor, place: Place, stored: StoredUpdate) -> None:
        self._door, self._place, self._stored = door, place, stored
        self.document: tuple[str, str] | None = None
        self.has_played = False

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Store a turn as that of the command's message, and have it played in the order of its chat."""
        self.has_played = True
        # A message that failed is played again under its own id, unless that is being done.
        is_running = any(answer.turn.id == turn.id for answer in self._door.answers.values())
        failed = None if is_running else await self._door.assistant.message(turn.thread, turn.id)
        is_new = await self._door.assistant.state(turn.thread, turn.owner) is None
        lang = self._place.lang if is_new else None
        id = failed.message_id if failed else ""
        own = self._place.turn(turn.text, id=id, lang=lang, source=turn.source, quoted=turn.quoted)
        await self._door.receive(self._place, own, self._stored.id)
        return True

    async def stop(self, thread: str) -> bool:
        """Stop the answer that is being made or about to be; False if there is none."""
        door, queue = self._door, self._place.queue
        return await stop_when_begun(door.assistant, thread, lambda: not door.chats.is_busy(queue), self._place.owner)

    async def begin(self, visit: Visit, name: str) -> str:
        """Go to another conversation of the chat."""
        self._place = await self._door.conversations.begin(self._place, name, self._stored.id)
        return self._place.thread

    def named(self, thread: str) -> str:
        """Return the number of a conversation of this chat."""
        return self._door.names.number(thread, self._place.chat, self._place.topic)

    def here(self, thread: str, lang: str) -> str:
        """Say that the chat holds another conversation now; one that has begun has greeted."""
        return "" if self.has_played else sentence("telegram", "conversation", lang, number=self.named(thread))

    async def hand(self, name: str, content: str, lang: str) -> str:
        """Send a document with the answer; in a group to the user's own chat."""
        self.document = name, content
        return sentence("telegram", "document_privately" if self._place.is_group else "document", lang)


def is_for_administrators(command: Command, argument: str, place: Place) -> bool:
    """Tell whether only an administrator of the group may give a command."""
    return place.is_group and command.concerns_all is not None and command.concerns_all(argument)


async def begin(door: TelegramDoor, place: Place, name: str, argument: str, stored: StoredUpdate) -> None:
    """Run a command that begins a turn, unless it was run before a restart; what it answers instead is sent in order.

    Raises sqlite3.Error if the turn cannot be stored.
    """
    if stored.answer is None:
        answer = await run(door, place, name, argument, stored)
        if answer is None:
            return
        stored = replace(stored, answer=STORED.dump_json(answer).decode())
        await door.updates.answer(stored.id, stored.answer or "")
    door.attend(place, partial(give, door, place, stored, partial(run, door, place, name, argument, stored)))


async def run(door: TelegramDoor, place: Place, name: str, argument: str, stored: StoredUpdate) -> Answer | None:
    """Run a command and return its answer, None if a turn brings it; `stored` is the row that asked for it."""
    command = slash_commands.commands().get(name)
    if command and is_for_administrators(command, argument, place) and not await door.administers(place):
        return Answer(sentence("telegram", "for_administrators", await door.lang(place)))
    here = CommandDoor(door, place, stored)
    visit = Visit(door.assistant, here, place.thread, place.user, is_shared=place.is_group)
    await visit.state()
    lang = await door.lang(place)
    answer = await slash_commands.run(name, argument, visit, lang)
    if here.has_played:
        return None
    offers = await _confirms(name, argument, visit, lang) or await slash_commands.picks(
        name, argument, visit, visit.lang or lang
    )
    buttons = tuple((label, f"{sent}{OF}{place.owner}") for sent, label in offers.items())
    return Answer(answer, buttons, here.document)


async def _confirms(name: str, argument: str, visit: Visit, lang: str) -> Mapping[str, str]:
    """Return what the buttons of a command send that asks first, each with its label; nothing for any other one."""
    command = slash_commands.commands().get(name)
    words = argument.lower().split()
    if command is None or not command.yes or words[-1:] == [command.yes]:
        return {}
    if words and " ".join(words) not in await slash_commands.choices(name, visit):
        return {}
    sent = {"yes": " ".join([f"/{name}", *words, command.yes]), "no": KEEP}
    return {data: sentence("telegram", key, lang) for key, data in sent.items()}


class Faults(logging.Handler):
    """Counts the errors and warnings that are logged; nothing of them is kept."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.began = time.monotonic()
        self.errors = self.warnings = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record."""
        if record.levelno >= logging.ERROR:
            self.errors += 1
        else:
            self.warnings += 1

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count during the block."""
        logging.getLogger().addHandler(self)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(self)


def may_see(door: TelegramDoor, place: Place) -> bool:
    """Tell whether somebody is told how the bot is doing: an administrator, in a private chat."""
    user = chat_of(place.owner)
    return user is not None and not place.is_group and door.access.is_admin(user)


async def statistics(door: TelegramDoor, faults: Faults, place: Place) -> Answer:
    """Return how the bot is doing."""
    waiting = await door.updates.open(door.name)
    # The first one may be this command's own.
    oldest = min((update.received_ms for update in waiting), default=now_ms())
    signs = await door.assistant.memory.feedback.counts(now_ms() - WEEK_MS)
    facts = {
        "hours": round((time.monotonic() - faults.began) / 3600, 1),
        "waiting": len(waiting),
        "lag": round((now_ms() - oldest) / 1000, 1),
        "answers": len(door.answers),
        "queues": door.chats.busy,
        "errors": faults.errors,
        "warnings": faults.warnings,
        "good": sum(count for sign, count in signs.items() if sign in GOOD),
        "bad": sum(count for sign, count in signs.items() if sign in BAD),
    }
    return Answer(sentence("telegram", STATS, await door.lang(place), **facts))


async def offer_menus(door: TelegramDoor) -> None:
    """Show the commands in the menus of private chats, groups, their administrators and the bot's, in each language."""
    scopes: list[tuple[Scope, BotCommandScope]] = [
        ("private", BotCommandScopeAllPrivateChats()),
        ("group", BotCommandScopeAllGroupChats()),
        ("group_admin", BotCommandScopeAllChatAdministrators()),
        *(("operator", BotCommandScopeChat(chat)) for chat in sorted(door.access.administrators)),
    ]
    default = door.default_lang
    try:
        for name, scope in scopes:
            for lang in [None, *(lang for lang in languages() if lang != default)]:
                await _offer(door.sender.bot, name, scope, lang, lang or default)
    except TelegramError as failure:
        LOG.warning("the menus of commands could not be set (%s)", type(failure).__name__)


async def _offer(bot: Bot, name: Scope, scope: BotCommandScope, code: str | None, lang: str) -> None:
    commands = [BotCommand(command.name, command.description(lang)) for command in offered(DOOR, name)]
    try:
        await bot.set_my_commands(commands, scope=scope, language_code=code)
    except BadRequest:
        if not isinstance(scope, BotCommandScopeChat):
            raise
        # An administrator who has left the bot has no menu.
        LOG.info("chat %s: no menu of commands", scope.chat_id)
