"""Slash commands in a Telegram chat: those of the one registry, and buttons that confirm and choose."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from agents.events import Event
from agents.memory.updates import StoredUpdate
from app.assistant import Turn
from app.doors import slash_commands
from app.doors.slash_commands.command import Command
from app.doors.telegram.delivery.buttons import OF
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import DOOR, Place
from app.doors.telegram.updates.answers import Answer, give
from app.doors.visit import Visit, stop_when_begun
from prompts import sentence

KEEP = "-"
"""What the button sends that only takes the buttons away."""


class CommandDoor:
    """A chat as the door of a visit that lasts for one command."""

    name = DOOR
    is_traced, has_pages = False, True

    def __init__(self, door: TelegramDoor, place: Place, stored: StoredUpdate) -> None:
        self._door, self._place, self._stored = door, place, stored
        self.document: tuple[str, str] | None = None
        """The name of a file that belongs to the answer, and what stands in it."""
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
    return place.is_group and command.concerns_all(argument)


async def begin(door: TelegramDoor, place: Place, name: str, argument: str, stored: StoredUpdate) -> None:
    """Run a command that begins a turn, unless it was run before a restart; what it answers instead is sent in order.

    Raises:
        sqlite3.Error: the turn could not be stored.
    """
    if stored.answer is None:
        answer = await run(door, place, name, argument, stored)
        if answer is None:
            return
        await door.assistant.memory.updates.answer(stored.id, answer.stored())
        stored = replace(stored, answer=answer.stored())
    door.attend(place, partial(give, door, place, stored, partial(run, door, place, name, argument, stored)))


async def run(door: TelegramDoor, place: Place, name: str, argument: str, stored: StoredUpdate) -> Answer | None:
    """Run a command and return its answer, None if a turn brings it; `stored` is the row that asked for it."""
    command = slash_commands.commands().get(name)
    if command and is_for_administrators(command, argument, place) and not await door.rights.administers(place):
        return Answer(sentence("telegram", "for_administrators", await door.lang(place)))
    here = CommandDoor(door, place, stored)
    visit = Visit(door.assistant, here, place.thread, place.user)
    visit.is_shared = place.is_group
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
    if words and " ".join(words) not in await command.choices(visit):
        return {}
    sent = {"yes": " ".join([f"/{name}", *words, command.yes]), "no": KEEP}
    return {data: sentence("telegram", key, lang) for key, data in sent.items()}
