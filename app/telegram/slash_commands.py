"""Slash commands in a Telegram chat: those of the one registry, its menu, and buttons that confirm."""

import json
import logging
from collections.abc import Callable

from telegram import Bot, BotCommand
from telegram.error import TelegramError

from agents.events import Event
from agents.memory.inbox_updates import StoredUpdate
from agents.memory.store import namespace_of
from app import slash_commands
from app.assistant import Turn
from app.telegram.answers import Answer
from app.telegram.buttons import OF
from app.telegram.door import TelegramDoor
from app.telegram.place import DOOR, Place
from app.visit import Visit, stop_when_begun
from prompts import languages, sentence

LOG = logging.getLogger(__name__)
KEEP = "-"
"""What the button sends that only takes the buttons away."""


class CommandDoor:
    """A chat as the door of a visit that lasts for one command."""

    name = DOOR
    is_traced = False

    def __init__(self, door: TelegramDoor, place: Place, lang: str | None, stored: StoredUpdate) -> None:
        self._door, self._place, self._lang, self._stored = door, place, lang, stored

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Show a turn in the chat, as the turn of the command's message."""
        # A message that failed is played again under its own id.
        failed = await self._door.assistant.memory.transcript.entry(turn.thread, turn.id)
        id = failed.message_id if failed else ""
        quoted = json.loads((failed and failed.quoted) or "[]")
        own = self._place.turn(turn.text, id=id, lang=self._lang, source=turn.source, quoted=quoted)
        await self._door.assistant.receive(own, [self._stored.id])
        await self._door.play(self._place, own)
        return True

    async def stop(self, thread: str) -> bool:
        """Stop the answer that is being made or about to be; False if there is none."""
        door, queue = self._door, self._place.queue
        return await stop_when_begun(door.assistant, thread, lambda: not door.chats.is_busy(queue), self._place.owner)


async def run(door: TelegramDoor, place: Place, name: str, argument: str, stored: StoredUpdate) -> Answer:
    """Run a command and return its answer; one that asks first gets buttons. `stored` is the row that asked for it.

    Raises:
        Gone: the chat cannot be written to.
    """
    is_new = await door.assistant.state(place.thread, place.owner) is None
    visit = Visit(
        door.assistant, CommandDoor(door, place, place.lang if is_new else None, stored), place.thread, place.user
    )
    visit.is_shared = place.is_group
    await visit.state()
    lang = await door.lang(place)
    answer = await slash_commands.run(name, argument, visit, lang)
    if visit.lang:
        settings = namespace_of(visit.owner, "settings")
        await door.assistant.memory.store.aput(settings, "language", {"lang": visit.lang})
    return Answer(answer, _buttons(place, name, argument, lang))


def _buttons(place: Place, name: str, argument: str, lang: str) -> tuple[tuple[str, str], ...]:
    command = slash_commands.COMMANDS.get(name)
    words = argument.lower().split()
    if command and command.picks and not argument:
        return tuple(
            (sentence("cli", f"{name}.{pick}_button", lang), f"/{name} {pick}{OF}{place.owner}")
            for pick in command.picks
        )
    if command is None or not command.yes or words[-1:] == [command.yes] or " ".join(words) not in command.arguments:
        return ()
    data = {"yes": " ".join([f"/{name}", *words, command.yes]), "no": KEEP}
    return tuple((sentence("telegram", key, lang), f"{sent}{OF}{place.owner}") for key, sent in data.items())


async def offer_menus(bot: Bot, default: str) -> None:
    """Show the commands in the menu of every chat, in the languages there are; `default` for all others."""
    for lang in [None, *languages()]:
        menu = [
            BotCommand(command.name, command.description(lang or default)) for command in slash_commands.offered(DOOR)
        ]
        try:
            await bot.set_my_commands(menu, language_code=lang)
        except TelegramError as failure:
            LOG.warning("the menu of commands could not be set (%s)", type(failure).__name__)
            return
