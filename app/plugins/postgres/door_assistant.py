"""The assistant of a door that does not play its turns: it hands them to workers, and passes on their events."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from agents.errors import DatabaseError
from agents.events import RETRY, Error, Event, Message, ModelEnd, ModelStart, Token, ToolEnd, ToolStart, TurnEnd
from agents.toolkit.context import Budgets
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant, Turn
from app.assistant.turn_player import TurnPlayer
from app.plugins.postgres.queue import ChannelListener, EventPage, JobQueue
from app.process.tasks import wait_for_event

LOOK = 2.0
"""Seconds after which a door looks for news without a notification."""
UNREPEATED = (Token, ModelStart, ModelEnd, ToolStart, ToolEnd)
"""Events that are always new, also when they equal an earlier one."""


class WorkerFailed(Exception):
    """A worker could not play a turn, by a fault of ours; its log has the fault."""


class HandingAssistant(Assistant):
    """The conversation for doors whose turns workers play; all other work is done here, on the same database."""

    def __init__(self, player: TurnPlayer, speakers: Speakers, *, queue: JobQueue) -> None:
        super().__init__(player, speakers)
        self._queue = queue
        self._door = f"door_{uuid.uuid4().hex}"
        self._news: dict[str, asyncio.Event] = {}
        self._stored: set[tuple[str, str]] = set()
        """Threads and ids of turns that are in the queue, though the database fails."""

    def listener(self) -> ChannelListener:
        """Return the listener to the workers' news, for a block."""
        return self._queue.listener(self._door, self._heard)

    async def stop(self, thread: str, user: str | None = None, *, after_tools: bool = False) -> bool:
        """See `Assistant.stop`; the worker that plays gets the order."""
        return await self._queue.stop(thread, user, after_tools=after_tools)

    async def _play(self, turn: Turn) -> AsyncGenerator[Event, None]:
        if self.refuses(turn):
            async with aclosing(super()._play(turn)) as events:
                async for event in events:
                    yield event
            return
        request, number = uuid.uuid4().hex, 0
        await self._queue.put(request, turn, self._door)
        self._news[request] = asyncio.Event()
        try:
            async with aclosing(self._events(request)) as events:
                async for event in events:
                    number += 1
                    yield event.model_copy(update={"seq": number})
            await self._queue.drop(request)
        except DatabaseError:
            self._stored.add((turn.thread, turn.id))
            raise
        finally:
            # A closing door leaves the turn to the worker; the same message again gets its outcome.
            del self._news[request]

    async def _is_stored(self, turn: Turn) -> bool:
        if (key := (turn.thread, turn.id)) in self._stored:
            self._stored.remove(key)
            return True
        return await super()._is_stored(turn)

    async def _events(self, request: str) -> AsyncGenerator[Event, None]:
        """Yield the workers' events of a turn, each once; the usage of their models is counted here as well."""
        retelling = Retelling()
        async with aclosing(self._pages(request)) as pages:
            async for page in pages:
                for event in retelling.new_in(page):
                    if isinstance(event, ModelEnd):
                        for budgets in self.services.every(Budgets):
                            budgets.count(event)
                    yield event
                if page.state == "failed":
                    raise WorkerFailed

    async def _pages(self, request: str) -> AsyncGenerator[EventPage, None]:
        """Yield the pages that workers write of a turn, to its end."""
        news, place = self._news[request], (0, 0)
        is_open = True
        while True:
            news.clear()
            for page in await self._queue.read(request, place):
                place = page.place
                yield page
                if page.state != "open":
                    return
            if not is_open:
                # The rest of its events was forgotten.
                return
            if not await wait_for_event(news, LOOK):
                is_open = await self._queue.is_open(request)

    def _heard(self, request: str) -> None:
        for name, news in self._news.items():
            if request in ("", name):
                news.set()


class Retelling:
    """The events of a turn that a door has got: a worker that begins the turn anew brings none of them twice."""

    def __init__(self) -> None:
        self._attempt = 0
        self._told = Counter[str]()
        self._known = Counter[str]()
        """The events from before the present attempt that it has not repeated."""
        self._pieces: Event | None = None
        """The last piece of an answer that is not complete."""

    def new_in(self, page: EventPage) -> Iterator[Event]:
        """Yield the events that are new to the door; a half answer of another worker is taken back."""
        if page.place[0] > self._attempt:
            self._attempt = page.place[0]
            self._known = self._told.copy()
            if self._pieces:
                yield Error(code=RETRY, text="", thread=self._pieces.thread, turn=self._pieces.turn)
                self._pieces = None
        for event in page.events:
            name = _name(event)
            if self._known[name]:
                self._known[name] -= 1
                continue
            if not isinstance(event, UNREPEATED):
                self._told[name] += 1
            if isinstance(event, Token | Message):
                self._pieces = event if isinstance(event, Token) else None
            yield event


def _name(event: Event) -> str:
    """Return the identity of an event: two events with the same text are the same."""
    what = event.text if isinstance(event, Message) else "" if isinstance(event, TurnEnd) else event.body()
    return f"{event.type} {event.turn} {what}"
