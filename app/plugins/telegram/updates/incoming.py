"""Messages on their way to a turn: parts of one message are joined, and a new message ends the running answer."""

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial

from agents.state.person import FORWARDED, Quoted
from app.assistant import Turn
from app.plugins.telegram.delivery.pages import LIMIT, utf16_length
from app.plugins.telegram.delivery.screen import ChatScreen
from app.plugins.telegram.door import TelegramDoor
from app.plugins.telegram.messages import LONGEST_QUOTE
from app.plugins.telegram.place import TelegramPlace
from app.plugins.telegram.updates.row import UpdateRow
from app.process.tasks import loop_time

WINDOW = 0.4
"""Seconds in which a second message is a part of the first: a comment and a forwarded message, two quick messages."""
LONG_WINDOW = 1.0
"""Seconds for a forwarded message, or for one as long as the parts of a long text that Telegram has cut."""
ALBUM_WINDOW = 1.0
"""Seconds for the next part of an album."""
LONG_PART = LIMIT - 300
"""The least UTF-16 units of such a part; Telegram cuts between words."""
APART = 2.0
"""The most seconds between two parts of one message, by Telegram's clock of whole seconds."""
JOINED_SOURCES = ("message", FORWARDED)


@dataclass
class Gathering:
    """A stored message that takes further parts until its turn begins."""

    turn: Turn
    sent: float
    until: float
    last: str
    updates: list[int]
    """The rows of the messenger's updates that are its parts."""
    album: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_open: bool = True


class Incoming:
    """Takes in the messages of a door's users; raises DatabaseError where one cannot be stored."""

    def __init__(self, door: TelegramDoor) -> None:
        self._door = door
        self._gathered: dict[tuple[str, str], Gathering] = {}
        self._waiting: dict[str, Gathering] = {}
        """The messages whose turns have not begun, by their ids."""

    async def take(self, row: UpdateRow, turn: Turn, album: str | None = None) -> bool:
        """Store a message and queue its answer, or make it a part of the one before; False if it was answered before.

        All parts of an album are one message. `row` is the message's update.
        """
        place, update = row.place, row.stored.id
        if await self._joins(place, turn, update, album):
            return True
        until = loop_time() + await self._window(turn, album)
        gathering = Gathering(turn, place.sent, until, turn.text or "", [update], album)
        if not await row.receive(turn, partial(self._play, place, gathering)):
            return False
        self._gathered[turn.thread, turn.owner] = self._waiting[turn.id] = gathering
        self.make_room(place)
        return True

    async def revise(self, turn: Turn) -> bool:
        """Replace a message whose turn has not begun; False if there is none, or it has several parts."""
        gathering = self._waiting.get(turn.id)
        if gathering is None or len(gathering.updates) > 1:
            return False
        async with gathering.lock:
            revised = replace(gathering.turn, text=turn.text, quoted=turn.quoted)
            if not gathering.is_open or not await self._door.assistant.extend(revised):
                return False
            gathering.turn, gathering.last = revised, turn.text or ""
            return True

    def seal(self, place: TelegramPlace) -> None:
        """Close a user's message for further parts, because something else came after it."""
        self._gathered.pop((place.thread, place.owner), None)

    async def _joins(self, place: TelegramPlace, turn: Turn, update: int, album: str | None) -> bool:
        gathering = self._gathered.get((turn.thread, turn.owner))
        if gathering is None or turn.source not in JOINED_SOURCES:
            return False
        # After a time without a connection, all messages come at once.
        is_apart = loop_time() > gathering.until or abs(place.sent - gathering.sent) > APART
        if not (album and album == gathering.album) and (WINDOW == 0 or is_apart):
            return False
        async with gathering.lock:
            if not gathering.is_open:
                return False
            between = "\n" if utf16_length(gathering.last) >= LONG_PART else "\n\n"
            joined = together(gathering.turn, turn, between)
            if not await self._door.assistant.extend(joined, [update]):
                if not self._door.assistant.is_too_long(joined):
                    return False
                # The rest is not answered by itself: the writer gets the remark that the whole message is too long.
                await self._door.assistant.memory.transcript.withdraw(turn.thread, joined.id)
            gathering.turn, gathering.last, gathering.sent = joined, turn.text or "", place.sent
            gathering.updates.append(update)
            gathering.until = loop_time() + await self._window(turn, album)
            return True

    async def _window(self, turn: Turn, album: str | None) -> float:
        text = turn.text or ""
        if album:
            return ALBUM_WINDOW
        if WINDOW == 0 or turn.source not in JOINED_SOURCES:
            return 0.0
        if await self._door.assistant.fits(turn.thread, turn.owner, text):
            # An answer to a question is whole.
            return 0.0
        return LONG_WINDOW if turn.source == FORWARDED or utf16_length(text) >= LONG_PART else WINDOW

    def make_room(self, place: TelegramPlace, *, is_asked: bool = False) -> None:
        """End the running answer to the same user, in the way that the user has set, or at once with `is_asked`."""
        answer = self._door.answers.get(place.queue)
        # A message from the bot's absence was not meant to end an earlier answer.
        is_backlog = answer and answer.place.late - place.late > APART and place.late > APART
        if answer and answer.turn.owner == place.owner and not is_backlog:
            self._door.chats.start(self._end(answer, is_asked=is_asked))

    async def _end(self, answer: ChatScreen, *, is_asked: bool) -> None:
        preferences = await self._door.assistant.preferences(answer.turn.owner)
        busy = "interrupt" if is_asked else preferences.busy
        if busy != "queue":
            answer.is_followed = True
            await self._door.stop(answer, after_tools=busy == "steer")

    async def _play(self, place: TelegramPlace, gathering: Gathering) -> None:
        async def whole() -> Turn:
            while (seconds := gathering.until - loop_time()) > 0:  # noqa: ASYNC110  # further parts may come
                await asyncio.sleep(seconds)
            async with gathering.lock:
                gathering.is_open = False
            self._waiting.pop(gathering.turn.id, None)
            key = gathering.turn.thread, gathering.turn.owner
            if self._gathered.get(key) is gathering:
                del self._gathered[key]
            return gathering.turn

        await self._door.play(place, gathering.turn, gathering.updates, whole)


def together(first: Turn, second: Turn, between: str) -> Turn:
    """Return two parts as one message with the first one's id. Other people's texts do not become the user's words."""
    if first.source == second.source:
        text = between.join(filter(None, (first.text, second.text)))
        return replace(first, text=text, quoted=[*first.quoted, *second.quoted])
    own, passed = (first, second) if second.source == FORWARDED else (second, first)
    beside = [_beside(quoted, passed.text or "") for quoted in passed.quoted]
    return replace(first, text=own.text, source=own.source, quoted=[*own.quoted, *beside])


def _beside(quoted: Quoted, text: str) -> Quoted:
    if quoted["kind"] != "forward":
        return quoted
    return Quoted(kind="forward_beside", by=quoted["by"], text=text[:LONGEST_QUOTE], origin=quoted["origin"])
