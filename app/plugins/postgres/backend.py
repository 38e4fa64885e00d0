"""A PostgreSQL database for the conversations."""

import hashlib
import time
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

from agents.errors import ConfigError, DatabaseError, UnusableDatabase, UsageError
from agents.memory import TABLES, Memory, Storage, memory_in
from agents.memory.backend import Backend
from agents.memory.checkpointer import KEPT_TURNS, Keep
from agents.memory.checkpointer import TABLES as CHECKPOINTS
from agents.memory.connection import Connection, Session, Tables, Work, missing_migrations
from agents.memory.digests import Digests, key_beside
from agents.memory.locks import number_of
from app.plugins.postgres import handed_turns
from app.plugins.postgres.dialect import FUNCTIONS, LAST_FUNCTION, RENUMBER
from app.plugins.postgres.locks import AdvisoryLocks, present_hold
from app.plugins.postgres.session import Lost, PostgresSession, conninfo_of, reason

T = TypeVar("T")
FOLDER = Path("var")
"""The folder of the files beside a database."""
ADVICE = "See whether the server runs, and whether this user may make tables in this database."


class LeasedConnection(Connection):
    """A connection that refuses the work of a task that has lost the lock of its thread."""

    async def read(self, work: Work[T]) -> T:
        """See `Connection`."""
        hold = present_hold()

        def leased(session: PostgresSession) -> T:
            if hold and hold.is_lost:
                raise Lost("the lock of the thread was lost")
            session.lease = hold.lease if hold and not hold.is_over else None
            return session.work(work)

        return await super().read(cast("Work[T]", leased))

    async def truncate(self) -> bool:
        """Return True: the server cuts its log by itself."""
        return True


class PostgresDatabase(Storage):
    """The database at `postgresql://…`; the first schema of its search path holds the tables."""

    def __init__(self, conninfo: str, schema: str, password: str, path: Path) -> None:
        self.path, self._password = path, password
        self._conninfo, self._schema = conninfo, schema
        self.locks: AdvisoryLocks = AdvisoryLocks(conninfo, schema)

    @asynccontextmanager
    async def connect(self, synchronous: Literal["FULL", "NORMAL"]) -> AsyncIterator[Connection]:
        """See `Storage`."""
        # A checkpoint belongs to one thread, which is locked during the write.
        is_parallel = synchronous == "NORMAL"
        session = PostgresSession(
            self._conninfo, number_of(f"writers\0{self._schema}"), self.locks.lose, parallel=is_parallel
        )
        async with LeasedConnection(session, psycopg.Error).opened() as connection:
            yield connection

    def digests(self) -> Digests:
        """See `Storage`: the key is made of the password, or lies beside on this machine where there is none."""
        if not self._password:
            return Digests(key_beside(self.path))
        # A thief of the rows must not be able to try passwords quickly.
        return Digests(hashlib.scrypt(self._password.encode(), salt=b"digests", n=1 << 14, r=8, p=1))

    def check(self) -> None:
        """See `Storage`: the server checks by itself."""

    async def scrub(self, connection: Connection) -> bool:
        """Leave it to the server: its vacuum overwrites deleted rows in time."""
        return True


class PostgresBackend(Backend):
    """Opens the database of a server."""

    @property
    def path(self) -> Path:
        """See `Backend`."""
        return files_beside(self.url)

    @asynccontextmanager
    async def open(
        self,
        now: Callable[[], float] = time.time,
        *,
        keep: Keep = KEPT_TURNS,
        reads: bool = False,
        tables: Sequence[Tables] = (),
    ) -> AsyncIterator[Memory]:
        """See `Backend`."""
        path = self.path
        conninfo = conninfo_of(self.url, f"dialogs {uuid.uuid4().hex}")
        async with AsyncExitStack() as stack:
            try:
                storage = PostgresDatabase(conninfo, *await _prepared(conninfo), path)
                stack.push_async_callback(storage.locks.close)
                own = [*tables, handed_turns.TABLES]
                memory = await stack.enter_async_context(memory_in(storage, now, keep, own))
                memory.erasers.append(partial(handed_turns.erase, memory.database))
            except (psycopg.Error, DatabaseError) as fault:
                raise _unusable(self.url, fault) from fault
            yield memory

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """See `Backend`."""
        async with self._connection().opened() as connection:
            try:
                await connection.execute("SELECT 1 FROM owners")
            except DatabaseError as fault:
                raise _unusable(self.url, fault) from fault
            yield connection

    async def check(self, tables: Sequence[Tables]) -> None:
        """See `Backend`."""

        def look(session: Session) -> None:
            (is_made,) = session.execute("SELECT to_regclass('owners') IS NOT NULL").fetchone()
            for each in (*TABLES, CHECKPOINTS, *tables) if is_made else ():
                missing_migrations(each, session)

        async with self._connection().opened() as connection:
            try:
                await connection.read(look)
            except DatabaseError as fault:
                raise _unusable(self.url, fault) from fault

    async def compact(self) -> tuple[int, int]:
        """See `Backend`: the server does it."""
        raise ConfigError("DATABASE_URL: PostgreSQL does this by itself; VACUUM FULL does it at once.")

    async def owners_left(self, connection: Connection) -> Collection[str]:
        """See `Backend`: no other kind of database has turns for workers."""
        owners = await connection.execute("SELECT 1 FROM owners WHERE owner = ?", (handed_turns.TABLES.owner,))
        if owners and await connection.execute("SELECT 1 FROM worker_turns LIMIT 1"):
            raise UsageError("Turns wait for a worker; stop the doors and let workers play them first.")
        return {handed_turns.TABLES.owner}

    async def filled(self, connection: Connection, table: str, column: str) -> None:
        """See `Backend`: the server counts on from the largest number."""
        await connection.execute(RENUMBER.format(table=table, column=column))

    def _connection(self) -> Connection:
        session = PostgresSession(conninfo_of(self.url, "dialogs"), 0, lambda: None, parallel=True)
        return LeasedConnection(session, psycopg.Error)


def _unusable(url: str, fault: Exception) -> UnusableDatabase:
    return UnusableDatabase(f"DATABASE_URL: cannot use {files_beside(url).stem} ({reason(fault)}). {ADVICE}")


async def _prepared(conninfo: str) -> tuple[str, str]:
    """Make the functions if they are missing; return the schema, and the password of this user."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        # Two processes that create the same function at once would disturb each other.
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (number_of("functions"),))
        place = await connection.execute("SELECT current_schema(), to_regprocedure(%s) IS NULL", (LAST_FUNCTION,))
        [(schema, is_new)] = await place.fetchall()
        password = connection.info.password
        if is_new:
            await connection.execute(FUNCTIONS)
    return str(schema), password


def files_beside(url: str) -> Path:
    """Return the path in place of a database file: the index of documents and the prompt's history lie beside it.

    Raises:
        ConfigError: the address cannot be read.
    """
    try:
        name = conninfo_to_dict(url).get("dbname") or "postgres"
    except psycopg.ProgrammingError:
        # Not the address itself: it may hold a password.
        raise ConfigError("DATABASE_URL: the address cannot be read; it is postgresql://USER@HOST/DATABASE") from None
    return FOLDER.resolve() / f"{Path(str(name)).name}.db"
