"""Makes the tables of a new database once in a process; each further new database begins as a copy of them."""

import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import agents.memory
from agents.memory import Memory, Storage
from agents.memory.checkpointer import KEPT_TURNS, Keep
from agents.memory.connection import PLAIN, Tables
from agents.memory.sqlite_file import SqliteFile

Open = Callable[[Storage, Callable[[], float], Keep, Sequence[Tables]], AbstractAsyncContextManager[Memory]]


def tables_copied(memory_in: Open, folder: Path) -> Open:
    """Return a replacement for `memory_in` that keeps a file for each set of tables in a folder.

    An encrypted file gets its tables in the usual way, and so does any database that is no file.
    """
    made: dict[tuple[tuple[str, ...], ...], Path] = {}

    async def begin(storage: SqliteFile, tables: Sequence[Tables]) -> None:
        sets = tuple((each.owner, *each.migrations.values()) for each in (*agents.memory.TABLES, *tables))
        if sets not in made:
            file = folder / f"{len(made)}.db"
            async with memory_in(SqliteFile(file), time.time, KEPT_TURNS, tables):
                pass
            made[sets] = file
        async with storage.locks.hold(""):
            if not storage.file.stat().st_size:
                shutil.copyfile(made[sets], storage.file)

    @asynccontextmanager
    async def opening(
        storage: Storage, now: Callable[[], float], keep: Keep, tables: Sequence[Tables]
    ) -> AsyncIterator[Memory]:
        if isinstance(storage, SqliteFile) and storage.driver is PLAIN and not storage.file.stat().st_size:
            await begin(storage, tables)
        async with memory_in(storage, now, keep, tables) as memory:
            yield memory

    return opening
