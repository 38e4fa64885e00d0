"""Answers that are being made: their events, for everybody who reads along, also after a lost connection."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Self

from agents.errors import UsageError
from agents.events import CUT, REBUILT, RETRY, Error, Event
from agents.memory.inbox import storable
from app.assistant import Assistant, Turn
from app.doors.visit import stop_when_begun
from app.process.tasks import TaskSet, wait_for_event
from app.security.audit import deed
from app.security.rates import HourlyCount
from prompts import FALLBACK, phrase

LOG = logging.getLogger(__name__)
MOST_KEPT = 1_000
"""Answers that are over and can be read again."""
RECONNECT = 5.0
"""Seconds for which an answer goes on that nobody reads: a client may come back."""
DRAIN = 10.0
"""Seconds that answers have to end when the server stops."""


class Busy(Exception):
    """So many turns are played here that no other one of this user is taken on."""


class TurnLimitReached(Busy):
    """The users of a key have begun as many turns within an hour as the key may."""


class Answer:
    """The answer to one message; `left` is called when its last reader goes before it is over."""

    def __init__(self, turn: Turn, left: Callable[["Answer"], None]) -> None:
        self.turn, self._left = turn, left
        self.events: list[Event] = []
        self.is_over, self.readers = False, 0
        self.remarks: Sequence[str] = ()
        """What the user is told of the files beside the message."""
        self.continues = ""
        """The id of the call that it goes on with; an earlier answer has announced it."""
        self._news = asyncio.Event()

    @classmethod
    def over(cls, turn: Turn, events: Sequence[Event] = ()) -> Self:
        """Return an answer that is there already."""
        answer = cls(turn, lambda _: None)
        answer.events = [event.model_copy(update={"seq": place}) for place, event in enumerate(events, 1)]
        answer.is_over = True
        return answer

    @property
    def has_failed(self) -> bool:
        """Whether it ended in an error, so that its message is still to be answered."""
        mended = (RETRY, REBUILT, *CUT)
        errors = (event for event in self.events if isinstance(event, Error))
        return self.is_over and any(error.code not in mended for error in errors)

    async def read(self) -> AsyncIterator[Event]:
        """Yield the events, those to come as they come."""
        async for batch in self.batches():
            for event in batch:
                yield event

    async def batches(self, seconds: float | None = None) -> AsyncIterator[Sequence[Event]]:
        """Yield the events as they come, several at a time; none where nothing comes for so many seconds."""
        place = 0
        self.readers += 1
        try:
            while True:
                if place == len(self.events) and not self.is_over:
                    await wait_for_event(self._news, seconds)
                batch, is_over = self.events[place:], self.is_over
                place += len(batch)
                if batch or not is_over:
                    yield batch
                if is_over:
                    return
        finally:
            self.readers -= 1
            if not (self.readers or self.is_over):
                self._left(self)

    async def play(self, assistant: Assistant) -> None:
        """Play the turn to its end."""
        try:
            async for event in assistant.play(self.turn):
                self._add(event)
        except Exception:
            LOG.exception("thread %s: something went wrong", self.turn.thread)
            number = self.events[-1].seq + 1 if self.events else 1
            text = phrase("sorry_internal", self.turn.lang or FALLBACK)
            self._add(Error(seq=number, thread=self.turn.thread, code="internal", text=text))
        finally:
            self.is_over = True
            self._news.set()

    def _add(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()
        self._news = asyncio.Event()


class Answers:
    """The answers of this process, by thread and message."""

    def __init__(self, assistant: Assistant, operators: Collection[str] = ()) -> None:
        """`operators` hold keys by which they may speak as anybody."""
        self._assistant, self._operators = assistant, operators
        self._noted = HourlyCount(1)
        self._answers: dict[tuple[str, str], Answer] = {}
        self._tasks = TaskSet()
        self._of_keys = HourlyCount(assistant.limits.key_turns_per_hour)
        self.changed: Callable[[str], None] = lambda thread: None
        """Is called with the thread when an answer begins and when it is over."""

    @property
    def running(self) -> int:
        """How many answers are being made."""
        return sum(not answer.is_over for answer in self._answers.values())

    async def to(self, turn: Turn, holder: str = "") -> Answer:
        """Return the answer to a message of the holder of a key; it begins if it is neither kept nor being made.

        An answer that failed is made again, and so is one whose message was forgotten, here or by another process.
        An answer that nobody reads is stopped after a while.

        Raises:
            Busy: no further turn of the user, or of the key (TooMany), is taken on now.
            UsageError: the message's id belongs to another text, or to somebody else's message.
        """
        await self._note_speaker(turn, holder)
        stored = await self._assistant.message(turn.thread, turn.id)
        kept = self._answers.get((turn.thread, turn.id))
        if kept and kept.is_over and (kept.has_failed or stored is None):
            kept = None
        if kept and kept.turn.owner != turn.owner:
            raise UsageError(f"The id {turn.id!r} belongs to another message of this thread.")
        texts = [message.text for message in (stored, kept.turn if kept else None) if message]
        # A text is stored without the signs that the database cannot keep.
        if any((text and storable(text)) != (turn.text and storable(turn.text)) for text in texts):
            raise UsageError(f"The id {turn.id!r} belongs to another message of this thread.")
        return kept or self._begun(turn, holder)

    def admit(self, turn: Turn, holder: str) -> None:
        """Count a turn that begins for the holder of a key, unless its user may begin none. Raises Busy: not now."""
        if self._assistant.is_crowded(turn.owner):
            raise Busy
        if self._of_keys.is_reached(holder):
            raise TurnLimitReached("Too many messages were sent by this key; come again later.")
        if not self._assistant.refuses(turn):
            self._of_keys.admits(holder)

    def of(self, thread: str, id: str) -> Answer | None:
        """Return the answer to a message; None if it was not made here, or is no longer kept."""
        return self._answers.get((thread, id))

    def kept_of(self, thread: str) -> list[Answer]:
        """Return the answers of a thread that can be read, oldest first."""
        return [answer for (name, _), answer in self._answers.items() if name == thread]

    def running_in(self, thread: str, user: str | None = None) -> list[Answer]:
        """Return the answers that are being made in a thread, those to one user if one is named."""
        running = [answer for answer in self.kept_of(thread) if not answer.is_over]
        return [answer for answer in running if user in (None, answer.turn.owner)]

    async def stop(self, thread: str, user: str | None = None) -> bool:
        """Stop what is being answered in a thread, to one user if one is named; False if nothing is."""
        running = self.running_in(thread, user)
        return await stop_when_begun(self._assistant, thread, lambda: all(answer.is_over for answer in running), user)

    def keep(self, answer: Answer) -> None:
        """Keep the answer to a message that is not played."""
        self._answers[answer.turn.thread, answer.turn.id] = answer

    async def close(self) -> None:
        """Give the answers that run a while, then break them off: their messages are answered when they come again."""
        await self._tasks.close(DRAIN)

    async def _note_speaker(self, turn: Turn, holder: str) -> None:
        """Write down that an operator speaks as somebody else: for each person and thread once an hour."""
        is_another = holder in self._operators and turn.owner != holder
        if is_another and self._noted.admits(f"{holder}\0{turn.thread}\0{turn.owner}"):
            services = self._assistant.services
            async with deed(services, f"http:{holder}", "spoke_as", turn.thread, turn.owner):
                pass

    def _begun(self, turn: Turn, holder: str) -> Answer:
        self.admit(turn, holder)
        over = [key for key, answer in self._answers.items() if answer.is_over]
        for key in over[: max(0, len(over) - MOST_KEPT)]:
            del self._answers[key]
        answer = self._answers[turn.thread, turn.id] = Answer(turn, self._watch)
        playing = self._tasks.start(answer.play(self._assistant))
        playing.add_done_callback(lambda _: self.changed(turn.thread))
        self.changed(turn.thread)
        self._watch(answer)
        return answer

    def _watch(self, answer: Answer) -> None:
        """Have an answer stopped that nobody reads after a while."""
        asyncio.get_running_loop().call_later(RECONNECT, self._stop_unread, answer)

    def _stop_unread(self, answer: Answer) -> None:
        if not (answer.readers or answer.is_over):
            thread, user = answer.turn.thread, answer.turn.owner
            self._tasks.start(stop_when_begun(self._assistant, thread, lambda: answer.is_over, user))
