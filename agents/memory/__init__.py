"""The database: checkpoints, long-term items, inbox, transcript, notices, notes and done writes."""

import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import Op, Result

from agents.errors import BrokenState, ContractError, Undeleted, UsageError
from agents.foreign import contained
from agents.memory import deletions, feedback, gate_log, ledger, notes, notices, store, transcript, undo_log, updates
from agents.memory.checkpointer import TABLES as CHECKPOINTS
from agents.memory.checkpointer import WITHIN, Keep, Saver
from agents.memory.connection import ENGINE, Connection, Session, Tables, migrate
from agents.memory.deletions import Forgettings
from agents.memory.digests import KEYED, Digests
from agents.memory.feedback import Feedback
from agents.memory.inbox import TO, TranscriptLine, storable
from agents.memory.ledger import Ledger
from agents.memory.locks import ThreadLocks
from agents.memory.notes import NoteStore
from agents.memory.notices import Notices
from agents.memory.store import Store, namespace_of, namespace_of_thread
from agents.memory.thread_list import ThreadList
from agents.memory.transcript import Transcript
from agents.memory.undo_log import UndoLog
from agents.memory.updates import Updates

LOG = logging.getLogger(__name__)
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
    "keep_forgettings": deletions.TABLES,
    "index_people": INDEXES,
    "index_newest": NEWEST,
    "page_messages": RECENT,
    "pack_records": PACKED,
}
TABLES = (Tables(ENGINE, MIGRATIONS),)
Eraser = Callable[[str, Collection[str]], Awaitable[None]]
"""Deletes the rows of a thread (empty: of no thread) and of users."""


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
    threads: ThreadList
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
        """Return the beginning of a turn, in one trip: the results of the store's `reads`, the thread's last line."""

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
            await self.store.aput(place, dialog, {name: value for name, value in item.value.items() if name != field})
        await self.undo.erase_kind(user, "form")
        await self.undo.erase_kind(user, "facts")
        await self._scrub()

    async def forget_setting(self, user: str, name: str) -> None:
        """Remove a user's setting: "zone" or "language". Raises the same as `forget`."""
        await self.store.adelete(namespace_of(user, "settings"), name)
        await self.undo.erase_kind(user, "settings")
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
    """Open the database of a storage; see `Backend.open`. Raises ConfigError, DatabaseError or OSError."""
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
            threads=ThreadList(database),
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
