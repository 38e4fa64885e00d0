"""The Telegram door as a service: polling or a webhook, notes to the operators, and sending beside another process.

A message is acknowledged when it is in the inbox; the next start answers the messages that the end left unanswered.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

from rich.console import Console
from rich.text import Text

from agents.errors import ConfigError
from agents.memory.notes import Note, NoteStore
from app.assistant import Assistant
from app.assistant.clocks import Clock, SilenceClock
from app.composition import make_file_reader
from app.composition.doors import open_for_door
from app.doors.operators import OperatorChats
from app.doors.ring_door import OpenRinging
from app.plugins.telegram.access import link
from app.plugins.telegram.bot import ServiceBot, bot_of, connected, token_of
from app.plugins.telegram.delivery.operator_posts import Posting
from app.plugins.telegram.delivery.sender import Sender, TextRefused
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.phrases import say
from app.plugins.telegram.place import TelegramPlace, ThreadNames, read_names
from app.plugins.telegram.settings import TelegramSettings
from app.plugins.telegram.updates.commands import describe, offer_menus
from app.plugins.telegram.updates.inbox import Inbox
from app.plugins.telegram.updates.operator import Faults
from app.plugins.telegram.updates.operator_posts import OperatorPosting
from app.plugins.telegram.updates.polling import Poller, remove_webhook
from app.plugins.telegram.updates.webhook import Hook, listening
from app.presentation.lines import moment
from app.process.logs import hidden, log_on_stderr
from app.process.tasks import cancelled_by, wait_for_event
from app.settings import Settings

PATIENCE = 10.0
"""Seconds at the end for running answers and a note on its way."""
LOOK = 10.0
"""Seconds between two looks for notes, because other processes leave some, too."""


async def serve(settings: Settings, own: TelegramSettings) -> int:
    """Answer messages until SIGTERM or SIGINT; return the exit code.

    The first signal lets running answers end, a second one does not.
    Raises ConfigError if there is no token, or if Telegram does not accept it.
    """
    token = token_of(own)
    log = log_on_stderr(detailed=True, content=settings.log_content, as_json=settings.log_json)
    with hidden(token), log, cancelled_by(signal.SIGTERM, signal.SIGINT):
        async with open_for_door(settings) as assistant:
            bot = bot_of(own)
            async with open_door(assistant, bot, settings, own) as door:
                console = Console(stderr=True, highlight=False)
                console.print(Text(say("listening", settings.app_lang, name=bot.username), "dim"))
                if door.access.is_closed:
                    here = link(bot.username, token)
                    console.print(Text(say("closed_here", settings.app_lang, link=here), "yellow"))
                raise ConfigError(await bot.refused())
    return 0


@asynccontextmanager
async def open_door(
    assistant: Assistant, bot: ServiceBot, settings: Settings, own: TelegramSettings, patience: float = PATIENCE
) -> AsyncIterator[TelegramDoor]:
    """Answer messages and deliver reminders during the block, then let running answers end; raises as `connected`.

    `patience` is the time for these answers, in seconds.
    """
    async with connected(bot), AsyncExitStack() as stack:
        names = await read_names(assistant.memory, bot.id)
        sender, lang, files = Sender(bot, names), settings.app_lang, make_file_reader(settings, assistant)
        allowed, wake_words = own.telegram_allowed_users, own.telegram_wake_words
        door = TelegramDoor(assistant, sender, lang=lang, allowed=allowed, wake_words=wake_words, files=files)
        await door.access.read()
        faults = Faults()
        logging.getLogger().addHandler(faults)
        stack.callback(logging.getLogger().removeHandler, faults)
        chats = assistant.services.find(OperatorChats)
        operators = OperatorPosting(door, chats, lang) if chats else None
        inbox = Inbox(door, faults, operators)
        stack.push_async_callback(door.chats.close, patience)
        await inbox.recover()
        rings = Clock(assistant.memory, assistant.sources, door.deliver, threads=door.threads)
        clock = await stack.enter_async_context(rings)
        silence = await stack.enter_async_context(SilenceClock(assistant, door.nudge, door.is_held_in_private))
        door.reached = partial(_note_reached, clock, silence, names)
        if operators:
            await stack.enter_async_context(operators)
        if (chat := own.help_operator_chat) is not None:
            courier = await stack.enter_async_context(NoteDelivery(assistant.memory.notes, sender, chat, lang))
            stack.push_async_callback(courier.finish)
        door.chats.start(offer_menus(door))
        door.chats.start(describe(door))
        if hook := Hook.of(own, bot.token):
            await stack.enter_async_context(listening(bot, inbox.put, hook))
        else:
            await remove_webhook(bot)
            await stack.enter_async_context(Poller(bot, inbox.put))
        yield door


def _note_reached(clock: Clock, silence: SilenceClock, names: ThreadNames, place: TelegramPlace) -> None:
    silence.heard(place.thread)
    for thread in clock.unreachable:
        if (waiting := names.place(thread)) and waiting.chat == names.now(place.chat):
            clock.reached(thread)


class NoteDelivery(Posting):
    """Carries notes to a chat; `lang` is the operators' language."""

    setting = "HELP_OPERATOR_CHAT"

    def __init__(self, notes: NoteStore, sender: Sender, chat: int, lang: str) -> None:
        self._notes, self._sender, self._to, self._lang = notes, sender, TelegramPlace(chat), lang
        self._hands = asyncio.Lock()

    async def post(self) -> None:
        """Deliver the waiting notes."""
        self._notes.changed.clear()
        for note in await self._notes.waiting():
            with suppress(TextRefused):
                await self._deliver(note)
        await wait_for_event(self._notes.changed, LOOK)

    async def _deliver(self, note: Note) -> None:
        about = {"thread": note.thread, "when": moment(note.at_ms), "text": note.text}
        async with self._hands:
            if await self._sender.say(self._to, say("note", self._lang, **about), is_markdown=False):
                await self._notes.delivered(note)

    async def finish(self) -> None:
        """Wait for the note on its way, and begin no other: a cut-off note would be sent again at the next start."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._hands.acquire()


@asynccontextmanager
async def ringing(assistant: Assistant, settings: TelegramSettings, lang: str) -> AsyncIterator[OpenRinging]:
    """Connect as the bot, beside its own process, to send notices; raises as `connected`."""
    bot, chat = bot_of(settings), settings.ring_telegram_chat
    with hidden(bot.token):
        async with connected(bot):
            names = await read_names(assistant.memory, bot.id)
            door = TelegramDoor(assistant, Sender(bot, names), lang=assistant.services.get(Settings).app_lang)
            ways = say("rings_here", lang)
            if chat is None:
                yield OpenRinging(door.threads, door.deliver, ways)
                return
            others = say("rings_in_chat", lang, chat=chat)
            yield OpenRinging(door.threads, door.deliver, f"{ways}, {others}", partial(door.deliver_to, chat))
