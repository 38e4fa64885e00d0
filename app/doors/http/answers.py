"""Running answers: their events for all readers, also after a lost connection."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from typing import Self

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

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
"""Number of finished answers that can be read again."""
RECONNECT = 5.0
"""Seconds that an answer goes on without a reader: a client may come back."""
DRAIN = 10.0
"""Seconds that answers have to end when the server stops."""


class Busy(Exception):
    """This process plays so many turns that it accepts no further one of this user."""


class TurnLimitReached(Busy):
    """The users of a key have begun as many turns within an hour as the key may."""


def _watch_nothing(_: "Answer") -> None:
    """Let an answer go on without a reader."""


class Answer:
    """The answer to one message; it calls `left` when its last reader goes before its end."""

    def __init__(self, turn: Turn, left: Callable[["Answer"], None]) -> None:
        self.turn, self._left = turn, left
        self.events: list[Event] = []
        self.is_over, self.readers = False, 0
        self.remarks: Sequence[str] = ()
        """Remarks for the user about the files of the message."""
        self.continues = ""
        """The id of the call that this answer continues; an earlier answer has announced the call."""
        self._news = asyncio.Event()

    @classmethod
    def over(cls, turn: Turn, events: Sequence[Event] = ()) -> Self:
        """Return a finished answer with these events."""
        answer = cls(turn, _watch_nothing)
        answer.events = [event.model_copy(update={"seq": place}) for place, event in enumerate(events, 1)]
        answer.is_over = True
        return answer

    @property
    def has_failed(self) -> bool:
        """Whether the answer ended in an error, so that its message still needs an answer."""
        mended = (RETRY, REBUILT, *CUT)
        errors = (event for event in self.events if isinstance(event, Error))
        return self.is_over and any(error.code not in mended for error in errors)

    async def read(self) -> AsyncIterator[Event]:
        """Yield the past events, then each new event as it comes."""
        async for batch in self.batches():
            for event in batch:
                yield event

    async def batches(self, seconds: float | None = None) -> AsyncIterator[Sequence[Event]]:
        """Yield the events in batches as they come; an empty batch after so many seconds without an event."""
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
        """`operators` are the holders of keys with which they may speak as anybody."""
        self._assistant, self._operators = assistant, operators
        self._noted = HourlyCount(1)
        self._answers: dict[tuple[str, str], Answer] = {}
        self._tasks = TaskSet()
        self._of_keys = HourlyCount(assistant.limits.key_turns_per_hour)
        self.changed: Callable[[str], None] = lambda thread: None
        """A function that gets the thread when an answer begins and when it ends."""

    @property
    def running(self) -> int:
        """The number of running answers."""
        return sum(not answer.is_over for answer in self._answers.values())

    async def to(self, turn: Turn, holder: str = "", *, outlives_readers: bool = False) -> Answer:
        """Return the answer to a message of the holder of a key; begin it if it is neither kept nor running.

        A failed answer begins again, and so does one whose message this or another process has forgotten.
        An answer without readers stops after a while, unless it outlives its readers.

        Raises:
            Busy: the process accepts no further turn of the user, or of the key (TurnLimitReached), now.
            UsageError: the message's id belongs to another text, or to somebody else's message.
        """
        await self._note_speaker(turn, holder)
        stored = await self._assistant.message(turn.thread, turn.id)
        earlier = self._answers.get((turn.thread, turn.id))
        if earlier and earlier.is_over and (earlier.has_failed or stored is None):
            earlier = None
        if earlier and earlier.turn.owner != turn.owner:
            raise UsageError(f"The id {turn.id!r} belongs to another message of this thread.")
        texts = [message.text for message in (stored, earlier.turn if earlier else None) if message]
        # The stored text lacks the characters that the database cannot keep.
        if any((text and storable(text)) != (turn.text and storable(turn.text)) for text in texts):
            raise UsageError(f"The id {turn.id!r} belongs to another message of this thread.")
        return earlier or self._begun(turn, holder, outlives_readers)

    def admit(self, turn: Turn, holder: str) -> None:
        """Count a new turn for the holder of a key, unless the assistant refuses it. Raises Busy: not now."""
        if self._assistant.is_crowded(turn.owner):
            raise Busy
        if self._of_keys.is_reached(holder):
            raise TurnLimitReached("Too many messages were sent by this key; come again later.")
        if not self._assistant.refuses(turn):
            self._of_keys.admits(holder)

    def of(self, thread: str, id: str) -> Answer | None:
        """Return the answer to a message; None if this process has not made it, or no longer keeps it."""
        return self._answers.get((thread, id))

    def kept_of(self, thread: str) -> list[Answer]:
        """Return the answers of a thread that can be read, oldest first."""
        return [answer for (name, _), answer in self._answers.items() if name == thread]

    def running_in(self, thread: str, user: str | None = None) -> list[Answer]:
        """Return the running answers of a thread; with `user`, those to this user alone."""
        running = [answer for answer in self.kept_of(thread) if not answer.is_over]
        return [answer for answer in running if user in (None, answer.turn.owner)]

    async def stop(self, thread: str, user: str | None = None) -> bool:
        """Stop the running answers of a thread, or those to one `user`. Returns False if nothing runs."""
        running = self.running_in(thread, user)
        return await stop_when_begun(self._assistant, thread, lambda: all(answer.is_over for answer in running), user)

    def keep(self, answer: Answer) -> None:
        """Keep an answer whose message the assistant does not play."""
        self._answers[answer.turn.thread, answer.turn.id] = answer

    async def close(self) -> None:
        """Give the running answers a while, then break them off: a message that comes again gets its answer then."""
        await self._tasks.close(DRAIN)

    async def _note_speaker(self, turn: Turn, holder: str) -> None:
        """Audit that an operator speaks as somebody else: once an hour for each person and thread."""
        is_another = holder in self._operators and turn.owner != holder
        if is_another and self._noted.admits(f"{holder}\0{turn.thread}\0{turn.owner}"):
            services = self._assistant.services
            async with deed(services, f"http:{holder}", "spoke_as", turn.thread, turn.owner):
                pass

    def _begun(self, turn: Turn, holder: str, outlives_readers: bool) -> Answer:
        self.admit(turn, holder)
        over = [key for key, answer in self._answers.items() if answer.is_over]
        for key in over[: max(0, len(over) - MOST_KEPT)]:
            del self._answers[key]
        watch = _watch_nothing if outlives_readers else self._watch
        answer = self._answers[turn.thread, turn.id] = Answer(turn, watch)
        playing = self._tasks.start(answer.play(self._assistant))
        playing.add_done_callback(lambda _: self.changed(turn.thread))
        self.changed(turn.thread)
        watch(answer)
        return answer

    def _watch(self, answer: Answer) -> None:
        """Stop an answer that has no reader after a while."""
        asyncio.get_running_loop().call_later(RECONNECT, self._stop_unread, answer)

    def _stop_unread(self, answer: Answer) -> None:
        if not (answer.readers or answer.is_over):
            thread, user = answer.turn.thread, answer.turn.owner
            self._tasks.start(stop_when_begun(self._assistant, thread, lambda: answer.is_over, user))


class Measures(Collector):
    """The current numbers of this process."""

    def __init__(self, assistant: Assistant, answers: Answers) -> None:
        self._queue, self._answers = assistant.queue, answers

    def collect(self) -> Iterator[Metric]:
        """Yield the numbers of running answers, running turns and waiting turns."""
        yield GaugeMetricFamily("answers_running", "Answers that are being made, or wait.", self._answers.running)
        yield GaugeMetricFamily("turns_running", "Turns that run.", self._queue.running)
        yield GaugeMetricFamily("turns_waiting", "Turns that wait until they may run.", self._queue.waiting)
