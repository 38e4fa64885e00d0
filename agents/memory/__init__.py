"""The database: checkpoints, long-term items, inbox, transcript, notices, notes and done writes."""

import logging
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import Op, Result

from agents.errors import (
    BrokenState,
    ConfigError,
    ContractError,
    DatabaseError,
    Undeleted,
    UnusableDatabase,
    UsageError,
)
from agents.foreign import contained
from agents.memory import feedback, forgettings, gate_log, ledger, notes, notices, store, transcript, undo_log, updates
from agents.memory.checkpointer import KEPT_TURNS, WITHIN, Keep, Saver
from agents.memory.checkpointer import TABLES as CHECKPOINTS
from agents.memory.connection import ENGINE, PLAIN, Connection, Driver, Session, Tables, connect, migrate
from agents.memory.digests import KEYED, Digests, key_beside, secret_file
from agents.memory.feedback import Feedback
from agents.memory.forgettings import Forgettings
from agents.memory.inbox import TO, TranscriptLine, storable
from agents.memory.ledger import Ledger
from agents.memory.locks import ThreadLocks
from agents.memory.notes import NoteStore
from agents.memory.notices import Notices
from agents.memory.store import Store, namespace_of, namespace_of_thread
from agents.memory.transcript import Transcript
from agents.memory.undo_log import UndoLog
from agents.memory.updates import Updates

LOG = logging.getLogger(__name__)
PREFIX = "sqlite:///"
PARTS = (transcript, gate_log, updates, store, ledger, undo_log, notes, notices, feedback)
INDEXES = """
CREATE INDEX inbox_user ON inbox (user, thread);
CREATE INDEX updates_message ON updates (thread, message_id) WHERE body IS NOT NULL;
CREATE INDEX ledger_thread ON ledger (thread);
CREATE INDEX ledger_user ON ledger (user);
CREATE INDEX undo_log_user ON undo_log (user);
CREATE INDEX notices_thread ON notices (thread);
CREATE INDEX feedback_user ON feedback (user);
CREATE INDEX shown_messages_thread ON shown_messages (thread);
CREATE INDEX shown_messages_user ON shown_messages (user);
"""
"""Indexes for deleting a thread or a user: the statements must not read the rows of all others."""
NEWEST = """
DROP INDEX inbox_thread;
DROP INDEX transcript_thread;
CREATE INDEX inbox_thread ON inbox (thread, id);
CREATE INDEX transcript_thread ON transcript (thread, id);
"""
"""Indexes for the newest row of a thread; without the id PostgreSQL looks through all threads, newest first."""
RECENT = """
CREATE INDEX inbox_recent ON inbox (user, id);
ALTER TABLE feedback ADD COLUMN word TEXT NOT NULL DEFAULT '';
"""
"""An index for a page of a user's messages, newest first. A column for the word beside a sign."""
PACKED = """
ALTER TABLE records ADD COLUMN packed BLOB;
CREATE INDEX notices_told ON notices (told_ms);
CREATE INDEX updates_closed ON updates (received_ms) WHERE body IS NULL;
"""
"""A column for packed records of turns: a text took half a page. Indexes for deleting old notices and updates."""
MIGRATIONS = {
    "make_tables": "".join(part.TABLES for part in PARTS),
    "keep_forgettings": forgettings.TABLES,
    "index_people": INDEXES,
    "index_newest": NEWEST,
    "page_messages": RECENT,
    "pack_records": PACKED,
}
TABLES = (Tables(ENGINE, MIGRATIONS),)
SMALL = 16 * 1024 * 1024
"""The most bytes of a file to write anew at a deletion: others cannot write for a fraction of a second."""
Eraser = Callable[[str, Collection[str]], Awaitable[None]]
"""Deletes the rows of a thread (empty: of no thread) and of users."""
HINTS = {
    ("locked",): "Another program holds it; try again when that has ended.",
    ("full", "I/O"): "See whether the disk is full or damaged.",
    ("malformed", "not a database"): "It is damaged, or no database; restore a copy, or name another file.",
    ("hard link",): "Nothing was changed.",
    ("already exists",): "A version from before 23 November 2026 (83065eb8) made it, and it was left as it was."
    " Name another file; what that version exports as JSON, `python -m app import` takes.",
}


class Storage(Protocol):
    """The place of a database, and the operations that differ between kinds of databases."""

    path: Path
    """The database file, or a path in its place; the index of documents and the prompt's history lie beside it."""
    locks: ThreadLocks

    def connect(self, synchronous: Literal["FULL", "NORMAL"]) -> AbstractAsyncContextManager[Connection]:
        """Open a connection; with "NORMAL" a power cut may lose the last commits. Raises DatabaseError."""

    def digests(self) -> Digests:
        """Return the maker of digests; all users of the database share its key. Raises OSError."""

    def check(self) -> None:
        """Raise OSError when the database is not there any more, or is another one than was opened."""

    async def scrub(self, connection: Connection) -> bool:
        """Overwrite the deleted rows, as far as this kind of database can; False if somebody prevents it."""


@dataclass(eq=False)
class Memory:
    """The parts of one database."""

    storage: Storage
    locks: ThreadLocks
    saver: Saver
    store: Store
    transcript: Transcript
    notices: Notices
    ledger: Ledger
    notes: NoteStore
    undo: UndoLog
    updates: Updates
    feedback: Feedback
    digests: Digests
    forgettings: Forgettings
    database: Connection
    """A connection for tools that keep tables of their own in the database."""
    now: Callable[[], float]
    erasers: list[Eraser] = field(default_factory=list)
    """Delete the rows of a thread and its users from the tables of dialogs."""

    async def opening(self, thread: str, reads: Sequence[Op]) -> tuple[list[Result], list[TranscriptLine]]:
        """Return what a turn begins with, in one trip: the results of the store's `reads`, the thread's last line."""

        def read(session: Session) -> tuple[list[Result], list[TranscriptLine]]:
            return store.done(reads, session), transcript.last_lines(session, storable(thread), None, limit=1)

        return await self.database.read(read)

    async def forget(self, thread: str, *, keeps_people: bool = False) -> bool:
        """Remove every trace of a thread from the database's files; return False if there was none.

        If one person wrote in the thread, their items, notices and done writes go with it, unless it `keeps_people`. If
        several wrote, each of them keeps these. Waits for a running turn, so the caller must not hold the thread.
        Raises UsageError when another process prevents the log from being emptied. All rows are gone then, and their
        bytes go when that process closes the file. Raises Undeleted when a plug-in fails to delete its rows.
        """
        async with self.locks.hold(thread):
            config: RunnableConfig = {"configurable": {"thread_id": thread}}
            messages: object = await self.transcript.last(thread)
            try:
                messages = messages or await self.saver.aget_tuple(config)
            except BrokenState:
                messages = True
            users = await self.transcript.users_of(thread)
            alone = users if len(users) == 1 and not keeps_people else set()
            # In LangGraph's server a thread has nothing else in this file.
            notes, writes = await self.notes.erase(thread), await self.ledger.erase(thread, alone)
            await store.erase_linked(self.store, thread)
            items = await self.store.erase(namespace_of_thread(thread))
            if not (messages or notes or writes or items):
                # Rows may be left where a plug-in has failed before.
                if not await self._erase_rows(thread, set()):
                    raise Undeleted
                return False
            for user in alone:
                await self.store.erase(namespace_of(user))
            await self.undo.erase(thread, alone)
            await self.feedback.erase(thread)
            is_whole = await self._erase_rows(thread, alone)
            await self.saver.adelete_thread(thread)
            # This comes last: a removal that was killed half-way finds its thread again by the transcript.
            await self.transcript.erase(thread)
            await self._scrub(is_whole=is_whole)
        return True

    async def forget_part(self, thread: str, user: str) -> bool:
        """Remove a user's messages in a thread, the answers to them, and the records of writes for the user there.

        Returns False if there was nothing. The caller holds the thread. Raises the same as `forget`.
        """
        await store.erase_linked(self.store, thread)
        was_said = await self.transcript.erase_part(thread, user, TO)
        await self.saver.adelete_thread(f"{thread}{WITHIN}{user}")
        await self.ledger.erase_part(thread, user)
        await self.undo.erase_part(thread, user)
        await self.feedback.erase(thread, user)
        await self._scrub()
        return was_said

    async def forget_person(self, user: str) -> None:
        """Remove a user's items, notices and done writes. Raises the same as `forget`."""
        await self.store.erase(namespace_of(user))
        await self.ledger.erase("", {user})
        await self.undo.erase("", {user})
        await self.feedback.erase_person(user)
        await self._scrub(is_whole=await self._erase_rows("", {user}))

    async def forget_form(self, user: str, dialog: str, field: str | None) -> None:
        """Remove a user's form of a dialog and the facts that observers noted, or one field of the form.

        Raises the same as `forget`.
        """
        place = namespace_of(user, "forms")
        if field is None:
            await self.store.adelete(place, dialog)
            await self.store.erase(namespace_of(user, "facts"))
        elif item := await self.store.aget(place, dialog):
            await self.store.aput(place, dialog, {name: it for name, it in item.value.items() if name != field})
        await self.undo.erase_forms(user)
        await self._scrub()

    async def forget_setting(self, user: str, name: str) -> None:
        """Remove a user's setting: "zone" or "language". Raises the same as `forget`."""
        await self.store.adelete(namespace_of(user, "settings"), name)
        await self.undo.erase_settings(user)
        await self._scrub()

    async def _erase_rows(self, thread: str, users: set[str]) -> bool:
        """Delete the rows of plug-ins and dialogs; tell whether each of them could delete its own."""
        await self.notices.erase(thread, users)
        is_whole = True
        for erase in self.erasers:
            try:
                with contained():
                    await erase(thread, users)
            except Exception:
                LOG.exception("thread %r, users %r: a plug-in could not delete its rows", thread, sorted(users))
                is_whole = False
        return is_whole

    async def _scrub(self, *, is_whole: bool = True) -> None:
        is_scrubbed = await self.storage.scrub(self.database)
        if not is_whole:
            # Rows that are left weigh more than bytes of deleted ones.
            raise Undeleted
        if not is_scrubbed:
            raise UsageError("Another process is reading the database; the thread's last bytes go when it closes.")


@asynccontextmanager
async def open_memory(
    url: str,
    now: Callable[[], float] = time.time,
    *,
    keep: Keep = KEPT_TURNS,
    reads: bool = False,
    tables: Sequence[Tables] = (),
    driver: Driver = PLAIN,
) -> AsyncIterator[Memory]:
    """Open the database at `sqlite:///path` and create the missing tables; close it at the end.

    `now` tells the Unix time in seconds that notices and the ledger go by; `keep` is how many turns of a thread
    a user can go back to, or "all" for every step of every turn. With `reads`, a file that cannot be written to is
    copied, and none is made. `tables` are those of other owners than the engine; `driver` opens the file. Raises
    ConfigError when the address is of another kind, the file cannot be opened or is no database, or a newer version of
    this program has made its tables.
    """
    path = database_path(url)
    is_absent = not path.exists() and next(place for place in path.parents if place.exists()).is_dir()
    async with AsyncExitStack() as stack:
        try:
            try:
                if reads and is_absent:
                    raise FileNotFoundError
                _prepare(path)
                memory = await stack.enter_async_context(memory_in(SqliteFile(path, driver), now, keep, tables))
            except (OSError, DatabaseError):
                if not reads or not (is_absent or path.is_file()):
                    raise
                copy = SqliteFile(path, driver, _copy(path, stack))
                memory = await stack.enter_async_context(memory_in(copy, now, keep, tables))
        except (OSError, DatabaseError) as error:
            raise unusable(path, error) from error
        yield memory


def unusable(path: Path, fault: object) -> UnusableDatabase:
    """Return the error that names the fault of a database file and the remedy."""
    return UnusableDatabase(f"DATABASE_URL: cannot use {path} ({fault}). {_hint(str(fault))}")


def _hint(fault: str) -> str:
    for signs, advice in HINTS.items():
        if any(sign in fault for sign in signs):
            return advice
    return f"Name a file in a folder that can be written to, as in {PREFIX}var/dialogs.db."


def _copy(path: Path, stack: AsyncExitStack) -> Path:
    """Return a copy of the database with its log and key, deleted at the end; only its owner may read it.

    The copy of a database that does not exist is empty.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    for file in (path, path.with_name(f"{path.name}-wal"), secret_file(path)):
        if file.exists():
            shutil.copyfile(file, folder / file.name)
    if not path.exists():
        (folder / path.name).touch()
    return folder / path.name


def _prepare(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError("it is a directory")
    # Earlier versions kept what was typed at the prompt, and no deletion would reach it now.
    path.with_name(f"{path.name}.typed").unlink(missing_ok=True)
    # Nobody else may read what people said; SQLite gives its log the mode of its file.
    path.touch(0o600)
    if path.stat().st_nlink > 1:
        # Each further name would have a log and a lock of its own.
        raise OSError("the file has a second name, a hard link, under which it could be damaged; remove one of them")


def make_tables(session: Session, tables: Sequence[Tables]) -> None:
    """Make all tables that are missing: the engine's, and those of plug-ins and dialogs.

    Raises:
        ConfigError: as `migrate` does.
        ContractError: the SQL of a plug-in or a dialog is wrong.
    """
    for each in (*TABLES, CHECKPOINTS):
        migrate(each, session)
    for each in tables:
        try:
            migrate(each, session)
        except sqlite3.Error as failure:
            if getattr(failure, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR:
                raise
            raise ContractError(f"the tables of {each.owner!r} cannot be made: {failure}") from failure


@asynccontextmanager
async def memory_in(
    storage: Storage, now: Callable[[], float], keep: Keep, tables: Sequence[Tables]
) -> AsyncIterator[Memory]:
    """Open the database of a storage; see `open_memory`. Raises ConfigError, DatabaseError or OSError."""
    locks = storage.locks
    async with AsyncExitStack() as stack:
        # Two processes that open a new database at once would run the same migrations.
        async with locks.hold(""):
            # A power cut may lose a step. The step is done again, because the turn's message is stored elsewhere.
            checkpoints = await stack.enter_async_context(storage.connect("NORMAL"))
            database = await stack.enter_async_context(storage.connect("FULL"))
            await database.read(lambda session: make_tables(session, tables))
            digests = storage.digests()
            if await database.write(digests.adopt):
                await database.read(lambda session: migrate(KEYED, session))
            for_writes = await stack.enter_async_context(storage.connect("FULL"))
        yield Memory(
            storage=storage,
            locks=locks,
            saver=Saver(checkpoints, keep=keep),
            store=Store(database),
            transcript=Transcript(database),
            ledger=Ledger(for_writes, locks, now),
            notes=NoteStore(database, digests),
            undo=UndoLog(database, now),
            updates=Updates(database, digests),
            feedback=Feedback(database),
            digests=digests,
            forgettings=Forgettings(database, digests),
            notices=Notices(database, now),
            database=database,
            now=now,
        )


class SqliteFile(Storage):
    """One SQLite file, with the lock file beside it, or the `copy` that is opened in its place."""

    def __init__(self, path: Path, driver: Driver = PLAIN, copy: Path | None = None) -> None:
        self.path, self.file, self.driver = path, copy or path, driver
        self.locks = ThreadLocks(self.file)
        self._inode: tuple[int, int] | None = None
        """The opened file; another file may later have its name."""

    @asynccontextmanager
    async def connect(self, synchronous: Literal["FULL", "NORMAL"]) -> AsyncIterator[Connection]:
        """See `Storage`."""
        async with connect(str(self.file), synchronous, self.driver) as connection:
            self._inode = _inode(self.file)
            try:
                yield connection
            finally:
                if synchronous == "NORMAL":
                    # Another process that reads the log empties it, and nobody waits.
                    await connection.execute("PRAGMA busy_timeout=1000")
                    await connection.truncate()

    def digests(self) -> Digests:
        """See `Storage`."""
        return Digests(key_beside(self.file))

    def check(self) -> None:
        """See `Storage`."""
        if not self.file.exists() or _inode(self.file) != self._inode:
            raise FileNotFoundError(f"{self.path} was deleted or replaced while it was in use; start again")

    async def scrub(self, connection: Connection) -> bool:
        """Empty the log, and write a small file anew; in a large one deleted rows are overwritten where they stood.

        SQLite leaves pieces of rows that it once moved within a page. `compact` takes them out of a large file.
        """
        [(pages,)], [(page_bytes,)] = [await connection.execute(f"PRAGMA page_{it}") for it in ("count", "size")]
        if pages * int(page_bytes) <= SMALL:
            await connection.execute("VACUUM")
        return await connection.truncate()


def database_path(url: str) -> Path:
    """Return the file that a database's address names. Raises ConfigError: the address is of another kind."""
    name = url.removeprefix(PREFIX)
    if name == url or name in ("", ":memory:"):
        # Not the whole address: it may hold a password.
        raise ConfigError(
            f"DATABASE_URL must be {PREFIX}path/to/file.db, found one that begins with"
            f" {url.partition(':')[0]!r}; set it so or leave it out."
        )
    # A symbolic link is another name of the same file, and log and locks lie beside the file.
    return Path(name).resolve()


def _inode(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
