"""A PostgreSQL database as the place of the conversations."""

import hashlib
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

from agents.errors import ConfigError, DatabaseError, UnusableDatabase
from agents.memory import TABLES, Memory, Storage, memory_in
from agents.memory.checkpointer import TABLES as CHECKPOINTS
from agents.memory.checkpointer import Keep
from agents.memory.connection import Connection, Session, Tables, Work, missing_steps
from agents.memory.digests import Digests, key_beside
from agents.memory.locks import number_of
from app.postgres import handed_turns
from app.postgres.dialect import FUNCTIONS, LAST_FUNCTION
from app.postgres.locks import AdvisoryLocks, present_hold
from app.postgres.session import Lost, PostgresSession, conninfo_of, reason

T = TypeVar("T")
FOLDER = Path("var")
"""Where the files lie that stand beside a database."""
ADVICE = "See whether the server runs, and whether this user may make tables in this database."


class _LeasedConnection(Connection):
    """A connection by which nothing is done for whoever has lost the lock of a thread."""

    async def read(self, work: Work[T]) -> T:
        hold = present_hold()

        def leased(session: PostgresSession) -> T:
            if hold and hold.is_lost:
                raise Lost("the lock of the thread was lost")
            session.lease = hold.lease if hold and not hold.is_over else None
            return work(session)

        return await super().read(cast(Work[T], leased))

    async def truncate(self) -> bool:
        """Tell that nobody prevents it: the server cuts its log by itself."""
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
        # Checkpoints belong to one thread each, which is locked while it is written.
        is_parallel = synchronous == "NORMAL"
        session = PostgresSession(
            self._conninfo, number_of(f"writers\0{self._schema}"), self.locks.lose, parallel=is_parallel
        )
        async with _LeasedConnection(session, psycopg.Error).opened() as connection:
            yield connection

    def digests(self) -> Digests:
        """See `Storage`: the key is made of the password, or lies beside on this machine where there is none."""
        if not self._password:
            return Digests(key_beside(self.path))
        # Whoever has the rows must not be able to try passwords quickly.
        return Digests(hashlib.scrypt(self._password.encode(), salt=b"digests", n=1 << 14, r=8, p=1))

    def check(self) -> None:
        """See `Storage`: the server knows by itself."""

    async def scrub(self, connection: Connection) -> bool:
        """Leave it to the server: its vacuum overwrites what was deleted, by and by."""
        return True


@asynccontextmanager
async def open_postgres(
    url: str, now: Callable[[], float], keep: Keep, tables: Sequence[Tables]
) -> AsyncIterator[Memory]:
    """Open the database at `url` and make what is missing; close it at the end.

    Raises ConfigError when the address is wrong, the server cannot be reached, or a newer version of this program has
    made the tables.
    """
    path = files_beside(url)
    conninfo = conninfo_of(url, f"dialogs {uuid.uuid4().hex}")
    async with AsyncExitStack() as stack:
        try:
            storage = PostgresDatabase(conninfo, *await _prepared(conninfo), path)
            stack.push_async_callback(storage.locks.close)
            memory = await stack.enter_async_context(memory_in(storage, now, keep, [*tables, handed_turns.TABLES]))
            memory.erasers.append(partial(handed_turns.erase, memory.database))
        except (psycopg.Error, DatabaseError) as fault:
            raise _unusable(url, fault) from fault
        yield memory


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    """Connect to the database at `url`; nothing is made in it. Raises UnusableDatabase."""
    session = PostgresSession(conninfo_of(url, "dialogs"), 0, lambda: None, parallel=True)
    async with Connection(session, psycopg.Error).opened() as connection:
        try:
            await connection.execute("SELECT 1 FROM owners")
        except DatabaseError as fault:
            raise _unusable(url, fault) from fault
        yield connection


async def check(url: str, tables: Sequence[Tables]) -> None:
    """Look whether an opening could use the database at `url`; one without tables is made later.

    Raises ConfigError: it cannot be reached, or a newer version of this program has made its tables.
    """

    def look(session: Session) -> None:
        (is_made,) = session.execute("SELECT to_regclass('owners') IS NOT NULL").fetchone()
        for each in (*TABLES, CHECKPOINTS, *tables) if is_made else ():
            missing_steps(each, session)

    session = PostgresSession(conninfo_of(url, "dialogs"), 0, lambda: None, parallel=True)
    async with Connection(session, psycopg.Error).opened() as connection:
        try:
            await connection.read(look)
        except DatabaseError as fault:
            raise _unusable(url, fault) from fault


def _unusable(url: str, fault: Exception) -> UnusableDatabase:
    return UnusableDatabase(f"DATABASE_URL: cannot use {files_beside(url).stem} ({reason(fault)}). {ADVICE}")


async def _prepared(conninfo: str) -> tuple[str, str]:
    """Make the functions if they are missing; return the schema, and the password of this user."""
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        # Two processes that make the same function at once would disturb each other.
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (number_of("functions"),))
        place = await connection.execute("SELECT current_schema(), to_regprocedure(%s) IS NULL", (LAST_FUNCTION,))
        [(schema, is_new)] = await place.fetchall()
        password = connection.info.password
        if is_new:
            await connection.execute(FUNCTIONS)
    return str(schema), password


def files_beside(url: str) -> Path:
    """Return the path that stands for a database: the index of documents and the prompt's history lie beside it.

    Raises:
        ConfigError: the address cannot be read.
    """
    try:
        name = conninfo_to_dict(url).get("dbname") or "postgres"
    except psycopg.ProgrammingError:
        # Not the address itself: it may hold a password.
        raise ConfigError("DATABASE_URL: the address cannot be read; it is postgresql://USER@HOST/DATABASE") from None
    return FOLDER.resolve() / f"{Path(str(name)).name}.db"
