"""The queue of turns in PostgreSQL: doors put turns in and read their events, workers take turns and write events.

procrastinate gives turns to workers and orders them; its jobs hold only the number of a request. The turn and the
events stand in tables of their own, and `NOTIFY` carries only the number of a request with news.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import procrastinate
import psycopg
from procrastinate.exceptions import ProcrastinateException
from procrastinate.jobs import Job, Status
from psycopg import sql
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from agents.errors import DatabaseError
from agents.events import Event
from agents.memory.connection import Values
from agents.memory.locks import number_of
from app.assistant import Turn
from app.plugins.postgres.session import BROKEN, PATIENCE, conninfo_of, patiently, reason
from app.plugins.postgres.wire import events_as_json, events_of, turn_as_json, turn_of
from app.process.tasks import BackgroundTask

LOG = logging.getLogger(__name__)
QUEUE, PLAY = "turns", "play"
STOPS = "dialogs_stops"
"""The channel of the orders to stop an answer."""
MOST_CONNECTIONS = 4
"""The most connections of a process to the queue, besides those that listen."""
UNREAD = 600
"""Seconds for which unread events are kept."""
AHEAD = 1
"""The priority of a turn whose worker has died: it comes before the later turns of its thread."""
FAULTS = (psycopg.Error, ProcrastinateException)
IS_MISSING = "SELECT to_regclass(quote_ident(current_schema()) || '.procrastinate_jobs') IS NULL"
ADD = """
INSERT INTO worker_turns (request, thread, "user", door, turn)
VALUES (%(request)s, %(thread)s, %(user)s, %(door)s, %(turn)s)
ON CONFLICT DO NOTHING RETURNING request
"""
TAKE = """
UPDATE worker_turns SET attempt = attempt + 1 WHERE request = %s RETURNING turn, door, attempt, stop IS NOT NULL
"""
# A frozen worker cannot end a turn that another one plays meanwhile.
WRITE = """
WITH written AS (INSERT INTO worker_events (request, attempt, number, thread, events, state, at)
    VALUES (%(request)s, %(attempt)s, %(number)s, %(thread)s, %(events)s, %(state)s,
        extract(epoch FROM clock_timestamp()))),
ended AS (DELETE FROM worker_turns WHERE request = %(request)s AND attempt = %(attempt)s AND %(state)s <> 'open')
SELECT pg_notify(%(door)s, %(request)s)
"""
READ = """
SELECT attempt, number, events, state FROM worker_events
WHERE request = %(request)s AND (attempt, number) > (%(attempt)s, %(number)s) ORDER BY attempt, number
"""
IS_OPEN = "SELECT 1 FROM worker_turns WHERE request = %s"
READ_THROUGH = "DELETE FROM worker_events WHERE request = %s"
PRUNE = f"DELETE FROM worker_events WHERE at < extract(epoch FROM clock_timestamp()) - {UNREAD}"
STOP = f"""
WITH stopped AS (UPDATE worker_turns SET stop = %(wish)s
    WHERE thread = %(thread)s AND attempt > 0 AND (%(user)s::text IS NULL OR "user" = %(user)s) RETURNING request)
SELECT pg_notify('{STOPS}', request) FROM stopped
"""
TO_STOP = "SELECT stop FROM worker_turns WHERE request = %s AND stop IS NOT NULL"


@dataclass(frozen=True)
class TakenTurn:
    """A turn that a worker plays; `attempt` is the number of the present attempt, from 1."""

    request: str
    turn: Turn
    door: str
    attempt: int
    is_stopped: bool


@dataclass(frozen=True)
class EventPage:
    """Some events of a turn, with its state: more will come, it is over, or it failed by a fault of ours."""

    place: tuple[int, int]
    """The attempt and the number within it."""
    events: Sequence[Event]
    state: Literal["open", "over", "failed"]


class ChannelListener(BackgroundTask):
    """Listens on a channel; `heard` gets each notification, and an empty one when some may have been missed."""

    def __init__(self, conninfo: str, channel: str, heard: Callable[[str], None]) -> None:
        self._conninfo, self._channel, self._heard = conninfo, channel, heard

    async def run(self) -> None:
        """Listen until cancelled, also after a restart of the server."""
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                    self._heard("")
                    async for notice in connection.notifies():
                        self._heard(notice.payload)
            except BROKEN as fault:
                LOG.warning("the queue cannot be heard (%s)", type(fault).__name__)
                await asyncio.sleep(1)


class JobQueue:
    """The queue for doors and workers; every method raises DatabaseError when the server stays away."""

    def __init__(self, conninfo: str, pool: AsyncConnectionPool, tasks: procrastinate.App) -> None:
        self.tasks = tasks
        """The application of procrastinate."""
        self._conninfo, self._pool = conninfo, pool
        self._order = asyncio.Lock()

    def listener(self, channel: str, heard: Callable[[str], None]) -> ChannelListener:
        """Return a listener on a channel."""
        return ChannelListener(self._conninfo, channel, heard)

    async def put(self, request: str, turn: Turn, door: str) -> None:
        """Queue a turn behind those of its thread; `door` is the channel for its news."""
        with _as_database_fault():
            # The queue keeps the door's order of turns.
            async with self._order:
                await self._put(request, turn, door)

    @patiently
    async def _put(self, request: str, turn: Turn, door: str) -> None:
        values = {"request": request, "thread": turn.thread, "user": turn.owner, "door": door}
        async with self._pool.connection() as connection, connection.transaction():
            if await (await connection.execute(ADD, {**values, "turn": turn_as_json(turn)})).fetchone():
                job = self.tasks.configure_task(PLAY, queue=QUEUE, lock=turn.thread, connection=connection)
                await job.defer_async(request=request)

    async def take(self, request: str) -> TakenTurn | None:
        """Return a turn to play; None if it was played to its end."""
        rows = await self._rows(TAKE, (request,))
        return TakenTurn(request, turn_of(rows[0][0]), *rows[0][1:]) if rows else None

    async def write(self, taken: TakenTurn, page: EventPage) -> None:
        """Write events of a turn and wake its door; the last ones take the turn out of the queue."""
        attempt, number = page.place
        values = {"request": taken.request, "attempt": attempt, "number": number, "thread": taken.turn.thread}
        values |= {"events": events_as_json(page.events), "state": page.state}
        with _as_database_fault():
            async with self._pool.connection() as connection:
                await connection.execute(WRITE, {**values, "door": taken.door})

    async def read(self, request: str, place: tuple[int, int]) -> list[EventPage]:
        """Return the events behind a place, oldest first."""
        rows = await self._rows(READ, {"request": request, "attempt": place[0], "number": place[1]})
        return [EventPage((attempt, number), events_of(events), state) for attempt, number, events, state in rows]

    async def is_open(self, request: str) -> bool:
        """Tell whether a turn waits or is played."""
        return bool(await self._rows(IS_OPEN, (request,)))

    async def drop(self, request: str) -> None:
        """Drop the events of a turn, which the door has read."""
        await self._rows(READ_THROUGH, (request,))

    async def stop(self, thread: str, user: str | None, **how: bool) -> bool:
        """Order the worker of a thread to stop its answers, as `Assistant.stop` does."""
        wish = json.dumps({"thread": thread, "user": user, **how})
        return bool(await self._rows(STOP, {"wish": wish, "thread": thread, "user": user}))

    async def wanted_stop(self, request: str) -> dict[str, Any] | None:
        """Return the arguments of `Assistant.stop` for a turn; None if there is no order to stop it."""
        rows = await self._rows(TO_STOP, (request,))
        return dict(json.loads(rows[0][0])) if rows else None

    async def hand_on_stalled(self, silence: float) -> None:
        """Give the turns of workers that were silent for so many seconds to others; drop unread events.

        A turn gets a new job: reports of its former worker on the old one then have no effect.
        """
        with _as_database_fault():
            for job in await self.tasks.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=silence):
                LOG.warning("job %s: its worker gives no sign of life; another one takes it", job.id)
                await self._hand_on(job)
        await self._rows(PRUNE)

    async def _hand_on(self, job: Job) -> None:
        again = self.tasks.configure_task(PLAY, queue=QUEUE, lock=job.lock, priority=AHEAD)
        await again.defer_async(**job.task_kwargs)
        await self.tasks.job_manager.finish_job(job, Status.FAILED, delete_job=True)

    async def _rows(self, statement: str, values: Values = ()) -> list[TupleRow]:
        with _as_database_fault():
            return await self._answered(statement, values)

    @patiently
    async def _answered(self, statement: str, values: Values) -> list[TupleRow]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(statement.encode(), values)
            return await cursor.fetchall() if cursor.description else []


@asynccontextmanager
async def open_queue(url: str) -> AsyncIterator[JobQueue]:
    """Connect to the queue of a database that has the engine's tables, and create procrastinate's own tables.

    Raises:
        DatabaseError: the server cannot be reached.
    """
    conninfo = conninfo_of(url, f"queue {uuid.uuid4().hex}")
    pool = AsyncConnectionPool(
        conninfo,
        configure=_configure,
        min_size=1,
        max_size=MOST_CONNECTIONS,
        timeout=PATIENCE,
        check=AsyncConnectionPool.check_connection,
        open=False,
    )
    tasks = procrastinate.App(connector=procrastinate.PsycopgConnector())
    async with AsyncExitStack() as stack:
        with _as_database_fault():
            async with await psycopg.AsyncConnection.connect(conninfo) as connection:
                # Two processes that create the same tables at once would disturb each other.
                await connection.execute("SELECT pg_advisory_xact_lock(%s)", (number_of("procrastinate"),))
                [(is_missing,)] = await (await connection.execute(IS_MISSING)).fetchall()
                if is_missing:
                    await connection.execute(tasks.schema_manager.get_schema())
            await stack.enter_async_context(pool)
            await tasks.open_async(pool)
        yield JobQueue(conninfo, pool, tasks)


async def _configure(connection: psycopg.AsyncConnection) -> None:
    # procrastinate's own connections use the pool's arguments, and commit by themselves already.
    await connection.set_autocommit(True)


@contextmanager
def _as_database_fault() -> Iterator[None]:
    """Raise a fault of the queue as a DatabaseError."""
    try:
        yield
    except FAULTS as fault:
        raise DatabaseError(reason(fault)) from fault
