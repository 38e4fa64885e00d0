"""The ledger of done writes: a tool's write is done once, however often and wherever it is asked for.

While a write runs its lock is held, and the kernel frees the lock of a process that dies. So an entry without an
outcome, whose lock is free, belongs to a write that was cut off: it may have taken effect or not.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal

from agents.errors import ContractError
from agents.memory.connection import Connection, Session, T, Work
from agents.memory.inbox import storable
from agents.memory.locks import ThreadLocks

# An entry holds for the message that asked for the write, and until `until_ms` for every other message. `told` has by
# thread the reply of the model that was told: nobody knows whether the write took effect.
TABLES = """
CREATE TABLE ledger (
    key TEXT PRIMARY KEY, thread TEXT NOT NULL, user TEXT NOT NULL, message TEXT NOT NULL, outcome TEXT,
    told TEXT NOT NULL, at_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX ledger_time ON ledger (max(until_ms, at_ms));
"""
ENTER = """
INSERT INTO ledger (key, thread, user, message, outcome, told, at_ms, until_ms)
VALUES (:key, :thread, :user, :message, :outcome, '{}', :at_ms, :until_ms)
ON CONFLICT (key) DO UPDATE SET thread = excluded.thread, user = excluded.user, message = excluded.message,
outcome = excluded.outcome, told = excluded.told, at_ms = excluded.at_ms, until_ms = excluded.until_ms
"""
HOLDS = "key = :key AND (until_ms > :at_ms OR (thread = :thread AND message = :message))"
TELL = "UPDATE ledger SET told = json_patch(told, ?) WHERE key = ?"
OUTLIVED = "DELETE FROM ledger WHERE thread = ? AND message <> ? AND until_ms <= ?"
OLD = "DELETE FROM ledger WHERE max(until_ms, at_ms) <= ?"
LEFT_MS = 30 * 24 * 3600 * 1000
"""The time for which an expired entry is left for its own message: a crash may have cut off that turn."""
How = Literal["once", "again", "transaction"]
"""A write that was cut off: a new wish repeats it; it is repeated; it left nothing and is repeated."""
LONGEST_WAIT = 30
"""Seconds to wait for another turn that does the same write."""
Perform = Callable[[], Awaitable[str | None]]
Ready = Callable[[], Awaitable[None]]
_MARK: ContextVar[str] = ContextVar("mark", default="")


@dataclass(frozen=True, kw_only=True)
class Write:
    """One write: its key, its user, and the message and the model's reply that asked for it."""

    key: str
    thread: str
    user: str
    message: str
    reply: str
    how: How = "once"
    lasts: float = 0
    """Seconds in which a later message that asks for it means the same write; with 0 it means a new one."""


def _outcome_of(write: Write, at_ms: int, database: Session) -> str | None:
    entry = _entry("outcome", write, at_ms, database)
    return str(entry) if entry is not None else None


def _claim(write: Write, at_ms: int, database: Session) -> bool:
    """Enter that a write is begun; return False if it was begun before and the asking model does not know that.

    The model is then told so, and its reply is noted: when another reply in the same thread asks again, the write is
    begun anew.
    """
    replies = _entry("told", write, at_ms, database)
    if replies is not None and json.loads(str(replies)).get(write.thread, write.reply) == write.reply:
        _tell(write, database)
        return False
    _enter(write, None, at_ms, database)
    return True


def _begin(write: Write, at_ms: int, database: Session) -> tuple[int, bool]:
    """Enter that a write is begun, unless it was; return when it first began (Unix ms), and whether that is now."""
    first_ms = _entry("at_ms", write, at_ms, database)
    if first_ms is not None:
        return int(first_ms), False
    _enter(write, None, at_ms, database)
    return at_ms, True


def _tell(write: Write, database: Session) -> None:
    """Note that the asking model is told: nobody knows whether the write took effect."""
    database.execute(TELL, (json.dumps({write.thread: write.reply}), write.key))


def _enter(write: Write, outcome: str | None, at_ms: int, database: Session) -> None:
    until_ms = at_ms + round(write.lasts * 1000) if write.lasts else 0
    row = {**asdict(write), "outcome": outcome, "at_ms": at_ms, "until_ms": until_ms}
    database.execute(OUTLIVED, (write.thread, write.message, at_ms))
    database.execute(OLD, (at_ms - LEFT_MS,))
    database.execute(ENTER, row)


def _erase(thread: str, users: Collection[str], database: Session) -> bool:
    """Delete the entries of a thread, and all those of the users; return False if the thread had none."""
    deleted = database.execute("DELETE FROM ledger WHERE thread = ?", (storable(thread),)).rowcount
    database.executemany("DELETE FROM ledger WHERE user = ?", [(user,) for user in users])
    return deleted > 0


def _entry(column: str, write: Write, at_ms: int, database: Session) -> str | int | None:
    """Return a column of the entry that holds for a write; None if there is no entry, or nothing in it."""
    about = {**asdict(write), "at_ms": at_ms}
    row = database.execute(f"SELECT {column} FROM ledger WHERE {HOLDS}", about).fetchone()
    return row[0] if row else None


class Doubtful(Exception):
    """The write was begun and cut off, so nobody can tell whether it took effect."""


class WriteBusy(Exception):
    """Another turn has been doing the same write for too long."""


class Ledger:
    """Let every write be done once, across all processes of the machine.

    `connection` is the ledger's alone, since a transaction of a tool is open while the tool runs. `now` tells the Unix
    time in seconds.
    """

    def __init__(self, connection: Connection, locks: ThreadLocks, now: Callable[[], float]) -> None:
        self._connection, self._locks, self._now = connection, locks, now
        self._lock = asyncio.Lock()

    async def once(
        self, write: Write, perform: Perform, *, ready: Ready, harmless: tuple[type[Exception], ...] = ()
    ) -> str | None:
        """Do a write unless it is done; return the outcome that `perform` returns. An outcome of None is not stored.

        `ready` is awaited before, and may raise. The `harmless` errors of `perform` say that nothing was written.

        Raises:
            Doubtful: the write was cut off before, and the asking model has not been told so.
            Busy: another turn has been doing it for more than `LONGEST_WAIT` seconds.
        """
        async with self._alone(write.key):
            async with self._lock:
                former = await self._connection.read(partial(_outcome_of, write, self._ms()))
            if former:
                return former
            if write.how == "transaction":
                return await self._together(write, ready, perform)
            await ready()
            if write.how == "again":
                outcome = await self._repeated(write, perform, harmless)
            else:
                outcome = await self._claimed(write, perform, harmless)
            if outcome is not None:
                await self._write(partial(_enter, write, outcome, self._ms()))
            return outcome

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Give a tool with `transaction=True` its connection for writes; do not commit, the ledger does.

        The tool's writes and its answer are committed together when the tool returns; if it raises, both are undone.
        The file's write lock is held until then, so the tool must write to the database in no other way.
        A check that asks for the transaction begins it: the rows that the check has read cannot change before the tool
        writes.

        Raises:
            ContractError: the tool has no `transaction=True`, or asks twice.
        """
        effect = _EFFECT.get()
        if effect is None or effect.is_handed_out:
            raise ContractError("a tool has one transaction, and only with transaction=True in its traits")
        if not effect.begun:
            await effect.stack.enter_async_context(self._writing())
        effect.begun = effect.is_handed_out = True
        try:
            yield self._connection
        except BaseException:
            effect.undone = True
            raise

    def mark(self) -> str:
        """Return the mark of the write that runs, for a service that must do a repeated request only once.

        Every try of a write has the same mark, also after a crash. A write that counts as a new one has a new mark.
        """
        return _MARK.get()

    async def take_back(self, key: str) -> None:
        """Forget that a write was done: it was taken back, and may be done again."""
        await self._write(lambda database: database.execute("DELETE FROM ledger WHERE key = ?", (key,)).rowcount)

    async def erase(self, thread: str, users: Collection[str]) -> bool:
        """Forget the writes in a thread, and those of the users; return False if the thread had none."""
        return await self._write(partial(_erase, thread, users))

    async def erase_part(self, thread: str, user: str) -> None:
        """Forget the writes for a user in a thread."""
        sql, place = "DELETE FROM ledger WHERE thread = ? AND user = ?", (storable(thread), storable(user))
        await self._write(lambda database: database.execute(sql, place).rowcount)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Hold the file's write lock for a block; commit at its end, undo on any error."""
        async with self._lock, self._connection.transaction():
            yield

    async def _write(self, work: Work[T]) -> T:
        # The tool of another thread may be in the middle of its transaction.
        async with self._lock:
            return await self._connection.write(work)

    def _ms(self) -> int:
        return int(self._now() * 1000)

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(LONGEST_WAIT):
                    # The name of a thread, which is locked in the same way, has no NUL.
                    await stack.enter_async_context(self._locks.hold(f"\0{key}"))
            except TimeoutError:
                raise WriteBusy from None
            yield

    async def _claimed(self, write: Write, perform: Perform, harmless: tuple[type[Exception], ...]) -> str | None:
        """Do a write with an effect elsewhere; if it is cut off between claim and outcome, it is in doubt."""
        if not await self._write(partial(_claim, write, self._ms())):
            raise Doubtful
        try:
            outcome = await perform()
        except harmless:
            await self.take_back(write.key)
            raise
        except Exception:
            await self._write(partial(_tell, write))
            raise
        if outcome is None:
            await self.take_back(write.key)
        return outcome

    async def _repeated(self, write: Write, perform: Perform, harmless: tuple[type[Exception], ...]) -> str | None:
        """Do a write that may be done again; each try has the same mark."""
        at_ms, is_first = await self._write(partial(_begin, write, self._ms()))
        token = _MARK.set(str(at_ms))
        try:
            outcome = await perform()
        except harmless:
            # An earlier try may have taken effect, so the next one needs its mark.
            if is_first:
                await self.take_back(write.key)
            raise
        finally:
            _MARK.reset(token)
        if outcome is None and is_first:
            await self.take_back(write.key)
        return outcome

    async def _together(self, write: Write, ready: Ready, perform: Perform) -> str | None:
        """Do a write with its effect in this database: it is committed with its outcome, or neither is."""
        async with AsyncExitStack() as stack:
            effect = _Effect(stack)
            token = _EFFECT.set(effect)
            try:
                await ready()
                effect.is_handed_out = False
                outcome = await perform()
            finally:
                _EFFECT.reset(token)
            if not effect.begun:
                await stack.enter_async_context(self._writing())
            if outcome is None or effect.undone:
                await self._connection.rollback()
                return None
            await self._connection.read(partial(_enter, write, outcome, self._ms()))
        return outcome


@dataclass
class _Effect:
    """The transaction of the tool that runs; `stack` ends it."""

    stack: AsyncExitStack
    begun: bool = False
    is_handed_out: bool = False
    """Whether it is handed out; the check takes it once, and then the tool."""
    undone: bool = False


_EFFECT: ContextVar[_Effect | None] = ContextVar("effect", default=None)
