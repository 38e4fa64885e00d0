"""The SQLite file: checkpoints, long-term items, inbox, transcript, notices, notes and done writes."""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from langchain_core.runnables import RunnableConfig

from agents.errors import BrokenState, ConfigError, UnusableDatabase, UsageError
from agents.memory import feedback, forgettings, gate_log, ledger, notes, notices, store, transcript, undo_log, updates
from agents.memory.checkpointer import KEPT_TURNS, Keep, Saver
from agents.memory.connection import ENGINE, Connection, Tables, connect, migrate
from agents.memory.feedback import Feedback
from agents.memory.forgettings import Forgettings
from agents.memory.inbox import TO
from agents.memory.ledger import Ledger
from agents.memory.locks import ThreadLocks
from agents.memory.notes import Notes
from agents.memory.notices import Notices
from agents.memory.store import Store, namespace_of, namespace_of_thread
from agents.memory.transcript import Transcript
from agents.memory.undo_log import UndoLog
from agents.memory.updates import Updates

PREFIX = "sqlite:///"
PARTS = (transcript, gate_log, updates, store, ledger, undo_log, notes, notices, feedback)
TABLES = (Tables(ENGINE, ("".join(part.TABLES for part in PARTS), forgettings.TABLES)),)
Eraser = Callable[[str, Collection[str]], Awaitable[None]]
"""Takes a thread (empty: none in particular) and users; deletes the rows that are theirs."""
HINTS = {
    ("locked",): "Another program holds it; try again when that has ended.",
    ("full", "I/O"): "See whether the disk is full or damaged.",
    ("malformed", "not a database"): "It is damaged, or no database; restore a copy, or name another file.",
    ("hard link",): "Nothing was changed.",
    ("already exists",): "It was made by a version before the first release; name another file.",
}


@dataclass(eq=False)
class Memory:
    """The parts of one database."""

    path: Path
    """The database file; the lock file and the prompt's history lie beside it."""
    saver: Saver
    store: Store
    transcript: Transcript
    notices: Notices
    ledger: Ledger
    notes: Notes
    undo: UndoLog
    updates: Updates
    feedback: Feedback
    forgettings: Forgettings
    locks: ThreadLocks
    database: Connection
    """A connection for tools that keep tables of their own in the file."""
    inode: tuple[int, int]
    """The opened file; another file may later have its name."""
    now: Callable[[], float]
    erasers: list[Eraser] = field(default_factory=list)
    """Delete what the tables of dialogs hold of a thread and its users."""

    def check_file(self) -> None:
        """Raise FileNotFoundError when the database was deleted or replaced since it was opened."""
        if not self.path.exists() or _inode(self.path) != self.inode:
            raise FileNotFoundError(f"{self.path} was deleted or replaced while it was in use; start again")

    async def forget(self, thread: str, *, keeps_people: bool = False) -> bool:
        """Remove every trace of a thread from the database's files; return False if there was none.

        If one person wrote in the thread, their items, notices and done writes go with it, unless it `keeps_people`. If
        several wrote, each of them keeps these. Waits for a running turn, so the caller must not hold the thread.
        Raises UsageError when another process prevents the log from being emptied. All rows are gone then, and their
        bytes go when that process closes the file.
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
            items = await self.store.erase(namespace_of_thread(thread))
            if not (messages or notes or writes or items):
                return False
            for user in alone:
                await self.store.erase(namespace_of(user))
            await self.undo.erase(thread, alone)
            await self.feedback.erase(thread)
            await self._erase_rows(thread, alone)
            await self.saver.adelete_thread(thread)
            # This comes last: a removal that was killed half-way finds its thread again by the transcript.
            await self.transcript.erase(thread)
            await self._scrub()
        return True

    async def forget_part(self, thread: str, user: str) -> bool:
        """Remove what a user said in a thread, what they were answered, and what was written for them there.

        Returns False if there was nothing. The caller holds the thread. Raises the same as `forget`.
        """
        was_said = await self.transcript.erase_part(thread, user, TO)
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
        await self._erase_rows("", {user})
        await self._scrub()

    async def forget_form(self, user: str, dialog: str, field: str | None = None) -> None:
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

    async def _erase_rows(self, thread: str, users: set[str]) -> None:
        await self.notices.erase(thread, users)
        for erase in self.erasers:
            await erase(thread, users)

    async def _scrub(self) -> None:
        await self.database.execute("VACUUM")
        if not await self.database.truncate():
            raise UsageError("Another process is reading the database; the thread's last bytes go when it closes.")


@asynccontextmanager
async def open_memory(
    url: str,
    now: Callable[[], float] = time.time,
    *,
    keep: Keep = KEPT_TURNS,
    reads: bool = False,
    tables: Sequence[Tables] = (),
) -> AsyncIterator[Memory]:
    """Open the database at `sqlite:///path` and create what is missing; close it at the end.

    `now` tells the Unix time in seconds that notices and the ledger go by; `keep` is how many turns of a thread
    can be gone back to, or "all" for every step of every turn. With `reads`, a file that cannot be written to is
    copied. `tables` are those of other owners than the engine. Raises ConfigError when the address is of another kind,
    the file cannot be opened or is no database, or a newer version of this program has made its tables.
    """
    path = database_path(url)
    async with AsyncExitStack() as stack:
        copies = stack.enter_context(ExitStack())
        try:
            try:
                _prepare(path)
                memory = await _opened(path, stack, now, keep, tables)
            except (OSError, sqlite3.Error):
                if not reads or not path.is_file():
                    raise
                memory = await _opened(_copy(path, copies), stack, now, keep, tables)
        except (OSError, sqlite3.Error) as error:
            raise UnusableDatabase(f"DATABASE_URL: cannot use {path} ({error}). {_hint(str(error))}") from error
        yield memory


def _hint(fault: str) -> str:
    for signs, advice in HINTS.items():
        if any(sign in fault for sign in signs):
            return advice
    return f"Name a file in a folder that can be written to, as in {PREFIX}var/dialogs.db."


def _copy(path: Path, stack: ExitStack) -> Path:
    """Return a copy of the database with its log, which is deleted at the end; only its owner may read it."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    for file in (path, path.with_name(f"{path.name}-wal")):
        if file.exists():
            shutil.copyfile(file, folder / file.name)
    return folder / path.name


def _prepare(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError("it is a directory")
    # Nobody else may read what people said; SQLite gives its log the mode of its file.
    path.touch(0o600)
    if path.stat().st_nlink > 1:
        # Each further name would have a log and a lock of its own.
        raise OSError("the file has a second name, a hard link, under which it could be damaged; remove one of them")


async def _opened(
    path: Path, stack: AsyncExitStack, now: Callable[[], float], keep: Keep, tables: Sequence[Tables]
) -> Memory:
    locks = ThreadLocks(path)
    # Two processes that create the same file at once would run the same migrations.
    async with locks.hold(""):
        saver = await stack.enter_async_context(Saver.from_conn_string(str(path), keep))
        database = await stack.enter_async_context(connect(str(path)))
        for each in (*TABLES, *tables):
            await database.read(partial(migrate, each))
        for_writes = await stack.enter_async_context(connect(str(path)))
    stack.push_async_callback(_empty_log, saver.connection)
    return Memory(
        path=path,
        saver=saver,
        store=Store(database),
        transcript=Transcript(database),
        ledger=Ledger(for_writes, locks, now),
        notes=Notes(database),
        undo=UndoLog(database, now),
        updates=Updates(database),
        feedback=Feedback(database),
        forgettings=Forgettings(database),
        notices=Notices(database, now),
        locks=locks,
        database=database,
        inode=_inode(path),
        now=now,
    )


async def _empty_log(database: Connection) -> None:
    """Empty the log, unless another process reads it: then that process empties it, and nobody waits."""
    await database.execute("PRAGMA busy_timeout=1000")
    await database.truncate()


def database_path(url: str) -> Path:
    """Return the file that a database's address names.

    Raises:
        ConfigError: the address is of another kind.
    """
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
