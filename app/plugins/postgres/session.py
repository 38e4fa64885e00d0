"""A session with PostgreSQL that works like one with SQLite, and the lease that limits its writes."""

import select
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from typing import TypeVar

import psycopg
from psycopg import Pipeline, RawCursor
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow
from psycopg.types.string import StrDumperUnknown
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_exponential

from agents.memory.connection import BUSY_MS, Session, Values
from app.plugins.postgres.dialect import Statement, translated

FROZEN_MS = 15_000
"""The longest idle time of an open transaction, before the server ends it."""
PATIENCE = 10.0
"""Seconds of waiting for a database that restarts."""
# With these, a vanished machine is noticed after seconds, not after two hours.
NETWORK = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2}
NETWORK |= {"tcp_user_timeout": 15_000}
SETTINGS = f"""
SET timezone = 'UTC'; SET lock_timeout = {BUSY_MS}; SET idle_in_transaction_session_timeout = {FROZEN_MS};
"""
IMMEDIATE = "BEGIN IMMEDIATE"
# The lock of a lease is free once its process is gone. Other processes ask for it only to look.
FENCE = "1 / (NOT pg_try_advisory_xact_lock_shared({}))::integer"
T = TypeVar("T")
BROKEN = (psycopg.OperationalError, psycopg.InternalError)
"""The errors of a lost connection: the second where it dies amid a query, whose answer then has no end."""


class Lost(psycopg.OperationalError):
    """The connection was lost, and with it a transaction or the lock of a thread."""


def reason(fault: Exception) -> str:
    """Return the reason of a server's refusal, on a line; its further quotations of a row are left out."""
    primary = fault.diag.message_primary if isinstance(fault, psycopg.Error) else None
    return primary or " ".join(str(fault).split()) or type(fault).__name__


class Lease:
    """The time for which this process holds locks of threads: it ends with the loss of one of its connections.

    A task that has taken a lock within a lease writes nothing after its end: another process may have the thread then.
    `key` is the number of a lock that the same connection holds until its end.
    """

    def __init__(self, key: int) -> None:
        self.key = key
        self.is_lost = False


class LooseNumber(Dumper):
    """Sends a number without a type, for comparisons with texts as in SQLite; a truth value is 0 or 1."""

    oid = 0

    def dump(self, obj: int) -> Buffer:
        """Return the digits of a number."""
        return str(int(obj)).encode()


class Rows(RawCursor[TupleRow]):
    """A cursor that treats a statement without a result as one with no rows, as SQLite does."""

    pipeline: Pipeline | None = None
    """The pipeline of statements that were sent without waiting for their outcomes."""

    def fetchone(self) -> TupleRow | None:
        """Return the next row, or None."""
        return super().fetchone() if self.has_columns else None

    def fetchall(self) -> list[TupleRow]:
        """Return the remaining rows."""
        return super().fetchall() if self.has_columns else []

    @property
    def has_columns(self) -> bool:
        """Whether the statement returns rows; `description` would make a list of them each time."""
        self._wait()
        return self.pgresult is not None and self.pgresult.nfields > 0

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement has changed or found."""
        self._wait()
        return super().rowcount

    def _wait(self) -> None:
        if self.pipeline and self.pgresult is None:
            self.pipeline.sync()


def conninfo_of(url: str, process: str) -> str:
    """Return the connection string of a database; `process` is the server's name for the session."""
    return make_conninfo(url, client_encoding="utf8", application_name=process, **NETWORK)


patiently = retry(
    retry=retry_if_exception_type(BROKEN),
    wait=wait_exponential(0.05, max=1),
    stop=stop_after_delay(PATIENCE),
    reraise=True,
)


class PostgresSession(Session):
    """One connection, opened by its first use and anew after it was lost; used in one thread.

    A write takes the lock `writers` first, unless the session is `parallel`: statements that look first and then write
    assume one writer at a time. `lost` is called when the connection is lost. The statements of a transaction are sent
    without waiting, until one needs an outcome or the piece of work ends.
    """

    def __init__(self, conninfo: str, writers: int, lost: Callable[[], None], *, parallel: bool) -> None:
        self._conninfo, self._lost, self._parallel = conninfo, lost, parallel
        self._first = [] if parallel else [f"pg_advisory_xact_lock({writers})"]
        self._connection: psycopg.Connection[TupleRow] | None = None
        self._pipeline: Pipeline | None = None
        self._piped = ExitStack()
        self._begun = False
        self.lease: Lease | None = None
        """The lease of the present work; None for work that needs no lock of a thread."""

    def work(self, work: Callable[["PostgresSession"], T]) -> T:
        """Do a piece of work. The server's quotations of rows stay out of the error."""
        try:
            outcome = work(self)
            self._end_pipeline()
        except psycopg.errors.DivisionByZero:
            self._lost()
            raise Lost("the lock of the thread was lost") from None
        except psycopg.Error as fault:
            if self._connection and self._connection.closed:
                self._lost()
            raise type(fault)(reason(fault)) from fault
        return outcome

    @property
    def in_transaction(self) -> bool:
        """See `Session`; a lost transaction is open until its rollback."""
        return self._begun

    def execute(self, sql: str, values: Values = (), /) -> Rows:
        """See `Session`."""
        if sql == IMMEDIATE:
            return self._started()
        if sql == "COMMIT":
            return self._committed()
        statement = translated(sql)
        return self._run(statement, lambda rows: rows.execute(statement.sql, statement.values(values)))

    def executemany(self, sql: str, rows: Iterable[Values], /) -> Rows:
        """See `Session`."""
        statement = translated(sql)
        ordered = [statement.values(row) for row in rows]
        return self._run(statement, lambda rows: rows.executemany(statement.sql, ordered))

    def executescript(self, script: str, /) -> None:
        """See `Session`; a script that begins a transaction leaves it open."""
        if script.startswith(IMMEDIATE):
            self._started()
            script = script.removeprefix(IMMEDIATE).removeprefix(";")
        # Several statements in one text cannot be part of a pipeline.
        self._end_pipeline()
        self._do(lambda rows: rows.execute(translated(script).sql))

    def rollback(self) -> None:
        """See `Session`."""
        self._begun = False
        with suppress(psycopg.Error):
            self._end_pipeline()
        if self._connection and not self._connection.closed:
            self._connection.rollback()

    def close(self) -> None:
        """See `Session`."""
        if self._connection:
            self._connection.close()

    def _run(self, statement: Statement, work: Callable[[Rows], object]) -> Rows:
        if self._begun or not statement.writes:
            return self._do(work)
        self._started()
        try:
            rows = self._do(work)
            self._committed()
        except BaseException:
            self.rollback()
            raise
        return rows

    def _started(self) -> Rows:
        if self._begun:
            raise psycopg.ProgrammingError("a transaction is begun already")
        connection = self._opened()
        # Another process may have the thread's lock before this one notices that its own is lost.
        first = [*self._first, *([FENCE.format(self.lease.key)] if self.lease else [])]
        statements = ["BEGIN", *([f"SELECT {', '.join(first)}"] if first else [])]
        try:
            self._pipeline, self._begun = self._piped.enter_context(connection.pipeline()), True
            return [self._do(partial(Rows.execute, query=statement.encode())) for statement in statements][-1]
        except BaseException:
            self.rollback()
            raise

    def _committed(self) -> Rows:
        rows = self._do(lambda rows: rows.execute(b"COMMIT"))
        self._end_pipeline()
        if rows.statusmessage != "COMMIT":
            raise psycopg.ProgrammingError("a statement of the transaction had failed")
        self._begun = False
        return rows

    def _end_pipeline(self) -> None:
        """Wait for the outcomes of all statements."""
        self._pipeline = None
        self._piped.close()

    def _do(self, work: Callable[[Rows], object]) -> Rows:
        rows = Rows(self._opened())
        rows.pipeline = self._pipeline
        work(rows)
        return rows

    def _opened(self) -> psycopg.Connection[TupleRow]:
        if self._connection is None or self._connection.closed or (not self._begun and _was_ended(self._connection)):
            if self._begun:
                raise Lost("the connection was lost in a transaction")
            self._connection = self._connect()
        return self._connection

    @patiently
    def _connect(self) -> psycopg.Connection[TupleRow]:
        connection = psycopg.connect(self._conninfo, autocommit=True)
        connection.adapters.register_dumper(str, StrDumperUnknown)
        for kind in (int, bool):
            connection.adapters.register_dumper(kind, LooseNumber)
        connection.execute(SETTINGS + ("SET synchronous_commit = off" if self._parallel else ""))
        return connection


def _was_ended(connection: psycopg.Connection[TupleRow]) -> bool:
    """Tell whether the server has ended an idle connection, as a restarting server does."""
    heard = select.poll()
    heard.register(connection.fileno(), select.POLLIN)
    try:
        while heard.poll(0):
            connection.pgconn.consume_input()
    except psycopg.OperationalError:
        connection.close()
    return connection.closed
