"""The locks of threads in PostgreSQL, and the lease under which this process holds them."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

import psycopg

from agents.errors import DatabaseError
from agents.memory.locks import FIRST_WAIT, LONGEST_WAIT, ThreadLocks, number_of
from app.plugins.postgres.session import BROKEN, Lease, patiently, reason
from app.process.tasks import TaskSet, cancel

BEAT = 1.0
"""Seconds between two signs of life of the connection that holds the locks."""
SILENCE = 5
"""The number of looks, a `BEAT` apart, after which a silent server counts as lost."""
FROZEN = 15.0
"""Seconds without a sign of life after which a process loses its locks to one that waits for them."""
LOCK = "SELECT pg_try_advisory_lock(key) FROM unnest(%s::bigint[]) AS key"
UNLOCK = "SELECT pg_advisory_unlock(key) FROM unnest(%s::bigint[]) AS key"
HOLDER = """
SELECT pid, application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE application_name LIKE 'dialogs %%' AND locktype = 'advisory' AND granted AND objsubid = 1
AND classid::bigint << 32 | objid::bigint = %s
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND clock_timestamp() - state_change > %s * interval '1 second'
"""
# The locks come last: while they are held, nobody writes beside a late statement of the frozen process.
END_WRITERS = """
SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE application_name = %s AND pid <> %s
"""
END_HOLDER = "SELECT pg_terminate_backend(%s, 1000)"


@dataclass(eq=False)
class Hold:
    """The lock of a thread, as long as its block runs."""

    lease: Lease
    is_over: bool = False

    @property
    def is_lost(self) -> bool:
        """Whether another process may have the thread before the block has ended."""
        return self.lease.is_lost and not self.is_over


_HOLD: ContextVar[Hold | None] = ContextVar("hold", default=None)


def present_hold() -> Hold | None:
    """Return the lock under which the present task works."""
    return _HOLD.get()


class _Holder:
    """The connection that holds the locks of this process under one lease."""

    def __init__(self, connection: psycopg.AsyncConnection, lease: Lease) -> None:
        self.connection = connection
        self.lease = lease
        self._answers = 0
        """The number of the server's answers."""
        self._requests: dict[str, list[tuple[int, asyncio.Future[bool]]]] = {LOCK: [], UNLOCK: []}
        """The locks that wait for a statement, with the futures for its results."""
        self._turn = asyncio.Lock()
        self._tasks = [asyncio.create_task(work) for work in (self._beat(), self._watch())]

    async def does(self, sql: str, key: int) -> bool:
        """Run a statement on a lock; return whether it succeeded. Requests that wait meanwhile share the next one."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._requests[sql].append((key, done))
        async with self._turn:
            if not done.done():
                await self._run(sql)
        return await done

    async def _run(self, sql: str) -> None:
        requests, self._requests[sql] = self._requests[sql], []
        waiting = [done for _, done in requests]
        try:
            rows = await (await self.connection.execute(sql.encode(), ([key for key, _ in requests],))).fetchall()
        except psycopg.Error as failure:
            for done in waiting:
                done.set_exception(failure)
        else:
            self._answers += 1
            for done, (is_so,) in zip(waiting, rows, strict=True):
                done.set_result(bool(is_so))
        finally:
            # Nobody waits for a statement that was cancelled.
            for done in waiting:
                done.cancel()

    async def _beat(self) -> None:
        """Give signs of life until the connection is lost."""
        with suppress(psycopg.Error):
            while not self.lease.is_lost:
                await self.connection.execute("SELECT 1")
                self._answers += 1
                await asyncio.sleep(BEAT)
        self.lease.is_lost = True

    async def _watch(self) -> None:
        """Count the connection as lost when the server is silent.

        A busy process reads timely answers of the server late, and a sign of life waits behind requests for locks. So
        silence is counted in looks, and every answer ends it.
        """
        silent_looks = 0
        while silent_looks < SILENCE:
            answers = self._answers
            await asyncio.sleep(BEAT)
            silent_looks = silent_looks + 1 if self._answers == answers else 0
        self.lease.is_lost = True

    async def close(self) -> None:
        """Free all locks."""
        self.lease.is_lost = True
        await cancel(self._tasks)
        await self.connection.close()


class AdvisoryLocks(ThreadLocks):
    """Lets one turn of a thread run at a time, on all machines; the server frees the locks of a lost process.

    `place` names the tables that the locks belong to: other ones in the same database have locks of their own.
    """

    def __init__(self, conninfo: str, place: str) -> None:
        super().__init__(None)
        self._conninfo, self._place = conninfo, place
        self._holder: _Holder | None = None
        self._opening = asyncio.Lock()
        self._tasks = TaskSet()

    @asynccontextmanager
    async def hold(self, thread: str) -> AsyncIterator[None]:
        """See `ThreadLocks`. Raises DatabaseError when the server cannot be reached, or an outer lock is lost."""
        async with super().hold(thread):
            key, outer = number_of(f"{self._place}\0{thread}"), _HOLD.get()
            holder = await self._locked(key)
            hold = Hold(holder.lease)
            try:
                if outer and not outer.is_over:
                    if outer.lease is not holder.lease:
                        raise DatabaseError("the lock of the thread was lost")
                else:
                    _HOLD.set(hold)
                yield
            finally:
                hold.is_over = True
                await asyncio.shield(self._tasks.start(self._unlock(holder, key)))

    def lose(self) -> None:
        """End the present lease, from any thread: where one connection was lost the others may be lost as well."""
        if self._holder:
            self._holder.lease.is_lost = True

    async def close(self) -> None:
        """Free all locks."""
        await self._tasks.close()
        if self._holder:
            await self._holder.close()

    async def _locked(self, key: int) -> _Holder:
        """Wait for a lock; return its holder."""
        wait, looked = FIRST_WAIT, time.monotonic()
        while True:
            try:
                holder = await self._connected()
            except BROKEN as fault:
                raise DatabaseError(reason(fault)) from fault
            try:
                if await self._tried(holder, key):
                    return holder
                if time.monotonic() - looked > BEAT:
                    looked = time.monotonic()
                    await self._end_frozen(holder, key)
            except BROKEN:
                # The server has restarted, perhaps long ago: the next connection will tell.
                holder.lease.is_lost = True
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _tried(self, holder: _Holder, key: int) -> bool:
        """Try to lock; a task that is cancelled meanwhile does not keep the lock."""
        attempt = self._tasks.start(holder.does(LOCK, key))
        try:
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            attempt.add_done_callback(lambda _: self._tasks.start(self._unlock(holder, key)) and None)
            raise

    async def _unlock(self, holder: _Holder, key: int) -> bool:
        # A lost lock is free.
        with suppress(psycopg.Error):
            return await holder.does(UNLOCK, key)
        return False

    async def _end_frozen(self, holder: _Holder, key: int) -> None:
        """End the connections of a process that holds a lock and gives no sign of life."""
        frozen = await (await holder.connection.execute(HOLDER, (key, FROZEN))).fetchone()
        if frozen:
            pid, process = frozen
            ended = await (await holder.connection.execute(END_WRITERS, (process, pid))).fetchall()
            if all(is_over for (is_over,) in ended):
                await holder.connection.execute(END_HOLDER, (pid,))

    async def _connected(self) -> _Holder:
        async with self._opening:
            if self._holder and self._holder.lease.is_lost:
                await self._holder.close()
                self._holder = None
            if self._holder is None:
                lease = Lease(number_of(f"lease\0{uuid.uuid4().hex}"))
                self._holder = _Holder(await self._connect(lease), lease)
            return self._holder

    @patiently
    async def _connect(self, lease: Lease) -> psycopg.AsyncConnection:
        connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
        await connection.execute("SELECT pg_advisory_lock(%s)", (lease.key,))
        return connection
