"""Answers that are being made: their events, for everybody who reads along, also after a lost connection."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from agents.errors import UsageError
from agents.events import Error, Event
from agents.memory.inbox import clean
from app.assistant import Assistant, Turn
from app.doors.visit import stop_when_begun
from app.tasks import cancel
from prompts import FALLBACK, phrase

LOG = logging.getLogger(__name__)
INTERNAL = "internal"
"""The code of the error that ends an answer which failed for a fault of ours."""
MOST_ANSWERS = 500
"""Answers that are made at a time."""
MOST_KEPT = 1_000
"""Answers that are over and can be read again."""
RECONNECT = 5.0
"""Seconds for which an answer goes on that nobody reads: a client may come back."""
DRAIN = 10.0
"""Seconds that answers have to end when the server stops."""


class Busy(Exception):
    """So many answers are being made that no other one can begin."""


class Answer:
    """The answer to one message."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.events: list[Event] = []
        self.is_over = False
        self.readers = 0
        self._news = asyncio.Event()

    @classmethod
    def over(cls, turn: Turn, events: Sequence[Event]) -> Self:
        """Return an answer that is there already."""
        answer = cls(turn)
        answer.events = [event.model_copy(update={"seq": place}) for place, event in enumerate(events, 1)]
        answer.is_over = True
        return answer

    async def read(self, after: int = 0) -> AsyncIterator[Event]:
        """Yield the events with a higher number than `after`, those to come as they come."""
        place = 0
        while True:
            news = self._news
            while place < len(self.events):
                event = self.events[place]
                place += 1
                if event.seq > after:
                    yield event
            if self.is_over:
                return
            await news.wait()

    async def change(self) -> None:
        """Wait for the next event, or the end."""
        await self._news.wait()

    async def play(self, assistant: Assistant) -> None:
        """Play the turn to its end."""
        try:
            async for event in assistant.play(self.turn):
                self._add(event)
        except Exception:
            LOG.exception("thread %s: something went wrong", self.turn.thread)
            number = self.events[-1].seq + 1 if self.events else 1
            text = phrase("sorry_internal", self.turn.lang or FALLBACK)
            self._add(Error(seq=number, thread=self.turn.thread, code=INTERNAL, text=text))
        finally:
            self.is_over = True
            self._news.set()

    def _add(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()
        self._news = asyncio.Event()


def _kept(text: str | None) -> str | None:
    """Return a message's text as the database keeps it."""
    return None if text is None else clean(text)


class Answers:
    """The answers of this process, by thread and message."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._answers: dict[tuple[str, str], Answer] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        """How many answers are being made."""
        return sum(not answer.is_over for answer in self._answers.values())

    @asynccontextmanager
    async def reading(self, turn: Turn) -> AsyncIterator[Answer]:
        """Give the answer to a message, which begins if it is not being made already.

        An answer that nobody reads any more is stopped after a while.

        Raises:
            Busy: too many answers are being made.
            UsageError: the message's id belongs to another text.
        """
        stored = await self._assistant.message(turn.thread, turn.id)
        running = self._answers.get((turn.thread, turn.id))
        messages = (stored, running.turn if running else None)
        if any(_kept(message.text) != _kept(turn.text) for message in messages if message):
            raise UsageError(f"The id {turn.id!r} belongs to another message of this thread.")
        answer = running or self._begun(turn)
        answer.readers += 1
        try:
            yield answer
        finally:
            answer.readers -= 1
            if not (answer.readers or answer.is_over):
                self._start(self._stop_unread(answer))

    def of(self, thread: str, id: str) -> Answer | None:
        """Return the answer to a message; None if it was not made here, or is no longer kept."""
        return self._answers.get((thread, id))

    def running_in(self, thread: str) -> list[Answer]:
        """Return the answers that are being made in a thread."""
        return [answer for (name, _), answer in self._answers.items() if name == thread and not answer.is_over]

    def is_running(self, thread: str) -> bool:
        """Tell whether an answer is being made in a thread."""
        return bool(self.running_in(thread))

    def drop(self, thread: str, id: str) -> None:
        """Drop an answer that is over, so that its message is tried again."""
        if (answer := self.of(thread, id)) and answer.is_over:
            del self._answers[thread, id]

    async def close(self) -> None:
        """Give the answers that run a while, then break them off: their messages are answered when they come again."""
        running = [task for task in self._tasks if not task.done()]
        if running:
            await asyncio.wait(running, timeout=DRAIN)
        await cancel(self._tasks)

    def _begun(self, turn: Turn) -> Answer:
        if self.running >= MOST_ANSWERS:
            raise Busy
        over = [key for key, answer in self._answers.items() if answer.is_over]
        for key in over[: max(0, len(over) - MOST_KEPT)]:
            del self._answers[key]
        answer = self._answers[turn.thread, turn.id] = Answer(turn)
        self._start(answer.play(self._assistant))
        return answer

    async def _stop_unread(self, answer: Answer) -> None:
        await asyncio.sleep(RECONNECT)
        if not answer.readers:
            turn = answer.turn
            await stop_when_begun(self._assistant, turn.thread, lambda: answer.is_over, turn.owner)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
