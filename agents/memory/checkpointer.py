"""The checkpointer: LangGraph's own for SQLite, changed to lose no turn, to grow little and to run no stored code."""

import logging
import sqlite3
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, Self

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import search_where

from agents.errors import BrokenState
from agents.memory.connection import BUSY_MS, PRAGMAS, TRUNCATE, Row

Keep = int | Literal["all"]
"""How many turns of a thread can be gone back to; "all" keeps every step of every turn."""
KEPT_TURNS = 50
PACKED = "zlib "
LEAST_PACKED = 1000
"""Bytes from which on a value is packed."""
LONGEST_VALUE = 64 * 1024 * 1024
"""Bytes that a value may unpack to: a forged one must not fill the memory."""

HERE = "thread_id = ?1 AND checkpoint_ns = ?2"
NEWEST = f"SELECT checkpoint_id FROM checkpoints WHERE {HERE} ORDER BY rowid DESC LIMIT 1"
# Metadata that are no JSON would end every query that looks into them.
ABOUT = "CASE WHEN json_valid(CAST(metadata AS TEXT)) THEN json_extract(CAST(metadata AS TEXT), '$.{}') END"
SOURCE = ABOUT.format("source")
STEPS = f"""
DELETE FROM checkpoints WHERE {HERE} AND checkpoint_id IN (
    SELECT parent_checkpoint_id FROM checkpoints WHERE {HERE} AND {SOURCE} = 'loop')
"""
OLD = f"""
DELETE FROM checkpoints WHERE {HERE} AND rowid <= (
    SELECT rowid FROM checkpoints WHERE {HERE} ORDER BY rowid DESC LIMIT 1 OFFSET ?3)
"""
# A graph within a graph has a namespace that ends in the id of its task, and lives as long as that.
INNER = f"""
DELETE FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns LIKE '%:%' AND {ABOUT.format('parents.""')} NOT IN (
    SELECT checkpoint_id FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = '')
"""
ORPHANS = """
DELETE FROM writes WHERE thread_id = ?1 AND (checkpoint_ns, checkpoint_id) NOT IN (
    SELECT checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?1)
"""
LAST_TURN = f"""
DELETE FROM checkpoints WHERE {HERE} AND rowid >= (
    SELECT coalesce(max(rowid) FILTER (WHERE {SOURCE} = 'input'), max(rowid))
    FROM checkpoints WHERE {HERE})
"""
SUPERSEDED = """
DELETE FROM checkpoints WHERE thread_id = ?1 AND rowid NOT IN (
    SELECT max(rowid) FROM checkpoints WHERE thread_id = ?1 GROUP BY checkpoint_ns)
"""
THREADS_OF_RUN = f"SELECT DISTINCT thread_id FROM checkpoints WHERE {ABOUT.format('run_id')} = ?"
DELETE_RUN = f"DELETE FROM checkpoints WHERE {ABOUT.format('run_id')} = ?"
COPIES = (
    """INSERT OR REPLACE INTO checkpoints
    SELECT ?2, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
    FROM checkpoints WHERE thread_id = ?1 ORDER BY rowid""",
    """INSERT OR REPLACE INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
    SELECT ?2, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value
    FROM writes WHERE thread_id = ?1""",
)


class Packing(JsonPlusSerializer):
    """LangGraph's serializer for its own and LangChain's types, and zlib around it."""

    def __init__(self) -> None:
        # None allows those types only. The default lets a forged row run code unless an environment variable was set
        # before the first import.
        super().__init__(allowed_msgpack_modules=None)

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        """Return the kind and the bytes of `obj`."""
        kind, data = super().dumps_typed(obj)
        # Most values are the writes of a step, of some bytes. A higher level takes twice the time for a tenth less.
        return (kind, data) if len(data) < LEAST_PACKED else (PACKED + kind, zlib.compress(data, 1))

    def loads_typed(self, data: tuple[str, bytes]) -> object:
        """Return what `dumps_typed` made a kind and bytes of. Raises zlib.error or ValueError if they are broken."""
        kind, packed = data
        if not kind.startswith(PACKED):
            return super().loads_typed(data)
        stream = zlib.decompressobj()
        plain = stream.decompress(packed, LONGEST_VALUE)
        if not stream.eof:
            raise ValueError("a value that is cut off, or too long")
        return super().loads_typed((kind.removeprefix(PACKED), plain))


class Saver(AsyncSqliteSaver):
    """Keep the checkpoints of the last turns of each thread; the latest is the one that was written last.

    With `keep="all"` every checkpoint stays, as in the stock saver. With a number of turns, the steps of a turn go when
    the next one begins, and with them the oldest turn. So what waits at the end of a turn stays with it. Graphs with a
    `DeltaChannel` need "all", because such a channel is read from the steps.

    The stock saver takes the highest id for the latest checkpoint. Ids come from the clock: a process whose clock is
    behind answers a turn and the next turn no longer knows it.
    """

    def __init__(self, conn: aiosqlite.Connection, *, keep: Keep = KEPT_TURNS) -> None:
        super().__init__(conn, serde=Packing())
        self.keep = keep

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, keep: Keep = KEPT_TURNS) -> AsyncIterator[Self]:
        """Open the database file at `conn_string` with its settings; close it at the end.

        `keep` is how many turns of a thread can be gone back to, or "all" for every step of every turn.
        Raises ValueError when it is neither.
        """
        if keep != "all" and keep < 1:
            raise ValueError(f'keep must be "all" or a number of turns, found {keep!r}')
        # At DEBUG aiosqlite logs every statement with its values, which are people's words.
        logging.getLogger("aiosqlite").setLevel(logging.INFO)
        timeout = BUSY_MS / 1000
        async with aiosqlite.connect(conn_string, timeout=timeout, isolation_level="IMMEDIATE") as connection:
            await connection.executescript(f"{PRAGMAS} PRAGMA synchronous=NORMAL;")
            saver = cls(connection, keep=keep)
            await saver.setup()
            yield saver

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint of a thread with its pending writes: that of the id in `config`, or the latest.

        Raises:
            BrokenState: what is stored there cannot be read.
        """
        thread, namespace = place = _place(config)
        id = get_checkpoint_id(config)
        if id is None:
            async with self.lock:
                newest = list(await self.conn.execute_fetchall(NEWEST, place))
            if not newest:
                return None
            id = newest[0][0]
        try:
            stored = await super().aget_tuple(_config(thread, namespace, id))
            if stored and not _is_sound(stored, id):
                raise ValueError("no checkpoint")
        except (sqlite3.Error, BrokenState):
            raise
        # Whatever bytes may stand there.
        except Exception as broken:
            raise BrokenState(thread) from broken
        return stored

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the one written last first; without a `config` those of all threads.

        Those that cannot be read are left out.
        """
        where, values = search_where(config, filter)
        sql = f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints {where} ORDER BY rowid DESC"
        async with self.lock:
            rows = [tuple(row) for row in await self.conn.execute_fetchall(sql, values)]
        for thread, namespace, id in _written_before(rows, before)[:limit]:
            with suppress(BrokenState):
                if stored := await self.aget_tuple(_config(thread, namespace, id)):
                    yield stored

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; the first one of a turn drops what earlier turns need no more."""
        async with self._undoing():
            stored = await super().aput(config, checkpoint, metadata, new_versions)
        if self.keep != "all" and metadata.get("source") == "input":
            place = _place(config)
            await self._run((STEPS, place), (OLD, (*place, self.keep + 1)), (INNER, place[:1]), (ORPHANS, place[:1]))
        return stored

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save the writes of a task."""
        # Of a task that is cancelled at its very end LangGraph saves what it had written so far, its edges
        # not among it, and would take it for done. So beside an error only what is no result counts.
        if any(channel == ERROR for channel, _ in writes):
            writes = [write for write in writes if write[0] in WRITES_IDX_MAP]
        async with self._undoing():
            await super().aput_writes(config, writes, task_id, task_path)

    async def drop_last_turn(self, thread: str) -> None:
        """Delete the checkpoints of a thread's last turn, because the latest one cannot be read."""
        await self._run((LAST_TURN, (thread, "")), (ORPHANS, (thread,)))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread."""
        async with self._undoing():
            await super().adelete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what the runs of these ids have saved, in all threads."""
        for run in run_ids:
            async with self.lock:
                threads = list(await self.conn.execute_fetchall(THREADS_OF_RUN, (run,)))
            await self._run((DELETE_RUN, (run,)), *((ORPHANS, tuple(row)) for row in threads))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another thread."""
        await self._run(*((sql, (source_thread_id, target_thread_id)) for sql in COPIES))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace of the threads ("keep_latest"), or nothing ("delete").

        Raises ValueError when the strategy is another one.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"strategy must be keep_latest or delete, found {strategy!r}")
        for thread in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread)
            else:
                await self._run((SUPERSEDED, (thread,)), (ORPHANS, (thread,)))

    async def empty_log(self) -> None:
        """Empty the log if nobody else reads; then it is theirs to do, and nobody should wait for it."""
        async with self.lock:
            await self.conn.execute_fetchall("PRAGMA busy_timeout=1000")
            await self.conn.execute_fetchall(TRUNCATE)

    async def _run(self, *statements: tuple[str, Row]) -> None:
        async with self._undoing(), self.lock:
            for sql, values in statements:
                await self.conn.execute_fetchall(sql, values)
            await self.conn.commit()

    @asynccontextmanager
    async def _undoing(self) -> AsyncIterator[None]:
        """Undo what an error or a cancellation left uncommitted: it would keep all others from writing."""
        try:
            yield
        except BaseException:
            async with self.lock:
                await self.conn.rollback()
            raise


def _is_sound(stored: CheckpointTuple, id: str) -> bool:
    checkpoint = stored.checkpoint
    values = [checkpoint["channel_values"], checkpoint["channel_versions"], checkpoint["versions_seen"]]
    return checkpoint["id"] == id and all(isinstance(value, dict) for value in [*values, stored.metadata])


def _written_before(rows: list[Row], before: RunnableConfig | None) -> list[Row]:
    """Return the rows behind the checkpoint `before`; if it is gone, those with a lower id."""
    id = get_checkpoint_id(before) if before else None
    if id is None:
        return rows
    place = next((place for place, row in enumerate(rows) if row[2] == id), None)
    return [row for row in rows if row[2] < id] if place is None else rows[place + 1 :]


def _place(config: RunnableConfig) -> tuple[str, str]:
    fields = config["configurable"]
    return str(fields["thread_id"]), str(fields.get("checkpoint_ns", ""))


def _config(thread: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}
