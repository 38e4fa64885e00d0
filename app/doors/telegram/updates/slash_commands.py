"""Slash commands in a Telegram chat: those of the one registry, and buttons that confirm and choose."""

from collections.abc import Callable, Mapping

from agents.events import Event
from agents.memory.store import namespace_of
from agents.memory.updates import StoredUpdate
from app.assistant import Turn
from app.doors import slash_commands
from app.doors.telegram.delivery.buttons import OF
from app.doors.telegram.door import TelegramDoor
from app.doors.telegram.place import DOOR, Place
from app.doors.telegram.updates.answers import Answer
from app.doors.visit import Visit, stop_when_begun
from prompts import sentence

KEEP = "-"
"""What the button sends that only takes the buttons away."""
NEW = "new"


class CommandDoor:
    """A chat as the door of a visit that lasts for one command."""

    name = DOOR
    is_traced, has_pages = False, True

    def __init__(self, door: TelegramDoor, place: Place, lang: str | None, stored: StoredUpdate) -> None:
        self._door, self._place, self._lang, self._stored = door, place, lang, stored
        self.document: tuple[str, str] | None = None
        """The name of a file that belongs to the answer, and what stands in it."""
        self._has_played = False

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Show a turn in the chat, as the turn of the command's message."""
        self._has_played = True
        # A message that failed is played again under its own id.
        failed = await self._door.assistant.memory.transcript.entry(turn.thread, turn.id)
        id = failed.message_id if failed else ""
        own = self._place.turn(turn.text, id=id, lang=self._lang, source=turn.source, quoted=turn.quoted)
        await self._door.assistant.receive(own, [self._stored.id])
        await self._door.play(self._place, own)
        return True

    async def stop(self, thread: str) -> bool:
        """Stop the answer that is being made or about to be; False if there is none."""
        door, queue = self._door, self._place.queue
        return await stop_when_begun(door.assistant, thread, lambda: not door.chats.is_busy(queue), self._place.owner)

    async def begin(self, visit: Visit, name: str) -> str:
        """Return the thread that the chat holds: it was changed before the visit."""
        return self._place.thread

    def named(self, thread: str) -> str:
        """Return the number of a conversation of this chat."""
        return self._door.names.number(thread, self._place.chat, self._place.topic)

    def here(self, thread: str, lang: str) -> str:
        """Say that the chat holds another conversation now; one that has begun has greeted."""
        return "" if self._has_played else sentence("telegram", "conversation", lang, number=self.named(thread))

    async def hand(self, name: str, content: str, lang: str) -> str:
        """Send a document with the answer; in a group to the user's own chat."""
        self.document = name, content
        return sentence("telegram", "document_privately" if self._place.is_group else "document", lang)


async def run(door: TelegramDoor, place: Place, name: str, argument: str, stored: StoredUpdate) -> Answer:
    """Run a command and return its answer; one that asks first gets buttons. `stored` is the row that asked for it.

    Raises:
        Gone: the chat cannot be written to.
    """
    command = slash_commands.commands().get(name)
    if command and command.concerns_all(argument) and not await door.rights.administers(place):
        return Answer(sentence("telegram", "for_administrators", await door.lang(place)))
    if name == NEW:
        place = await door.conversations.begin(place, argument, stored.id)
    is_new = await door.assistant.state(place.thread, place.owner) is None
    here = CommandDoor(door, place, place.lang if is_new else None, stored)
    visit = Visit(door.assistant, here, place.thread, place.user)
    visit.is_shared = place.is_group
    await visit.state()
    lang = await door.lang(place)
    answer = await slash_commands.run(name, argument, visit, lang)
    if visit.lang:
        settings = namespace_of(visit.owner, "settings")
        await door.assistant.memory.store.aput(settings, "language", {"lang": visit.lang})
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
