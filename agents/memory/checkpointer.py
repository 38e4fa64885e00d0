"""The checkpointer: LangGraph's own for SQLite, changed to lose no turn, not to grow and to run no stored code."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import load_pending_writes

from agents.memory.connection import Connection, Row, connect, writing
from agents.memory.serializer import Serializer

KEEP_LATEST = """
CREATE TRIGGER IF NOT EXISTS keep_latest AFTER INSERT ON checkpoints BEGIN
    DELETE FROM checkpoints WHERE thread_id = NEW.thread_id AND checkpoint_ns = NEW.checkpoint_ns
        AND checkpoint_id <> NEW.checkpoint_id;
    DELETE FROM writes WHERE thread_id = NEW.thread_id AND checkpoint_ns = NEW.checkpoint_ns
        AND checkpoint_id <> NEW.checkpoint_id;
END
"""
CHECKPOINT = """
SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints
WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND (?3 IS NULL OR checkpoint_id = ?3)
"""
WRITES = """
SELECT task_id, channel, type, value, task_path, idx FROM writes
WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
"""
PUT = """
INSERT OR REPLACE INTO checkpoints
(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
PUT_WRITES = """
INSERT OR %s INTO writes
(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
ROUNDS = 4
"""Rounds of the event loop for which the writes of a task wait for the checkpoint of its step."""


class Saver(AsyncSqliteSaver):
    """Keep only the checkpoint of each thread that was written last.

    The stock saver keeps them all, which grows without bound, and takes the highest id for the latest. Ids
    come from the clock: a process whose clock is behind answers a turn and the next turn no longer knows it.
    A checkpoint holds the whole state and replaces the one before in the transaction that writes it, so the
    pending writes of a thread that waits for an answer are never touched.

    The tables are the stock saver's, but each is read and written in one trip to the connection's thread, and what
    a task wrote is not written when the checkpoint of its step, which holds it, follows at once.
    """

    conn: Connection

    def __init__(self, conn: Connection, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(conn, serde=serde or Serializer())
        self._replaced: dict[tuple[str, str], str | None] = {}
        """For each place that a checkpoint is being written to: the id of the one before."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str) -> AsyncIterator[Self]:
        """Open the database file at `conn_string` with its settings; close it at the end."""
        async with connect(conn_string, synchronous="NORMAL", implicit=True) as connection:
            yield cls(connection)

    async def setup(self) -> None:
        """Create the tables, and the rule that the latest checkpoint replaces those before."""
        if self.is_setup:
            return
        await super().setup()
        async with self.lock, writing(self.conn):
            await self.conn.execute(KEEP_LATEST)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint of a thread with its pending writes; an id in `config` must be its id."""
        await self.setup()
        place = _place(config)
        rows = await self.conn.read(partial(_read, place, get_checkpoint_id(config)))
        if rows is None:
            return None
        (checkpoint_id, parent, kind, checkpoint, metadata), writes = rows
        return CheckpointTuple(
            _config(place, checkpoint_id),
            self.serde.loads_typed((kind, checkpoint)),
            json.loads(metadata) if metadata is not None else {},
            _config(place, parent) if parent else None,
            load_pending_writes(writes, self.serde),
        )

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint in one transaction."""
        await self.setup()
        place, parent = _place(config), get_checkpoint_id(config)
        about = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False).encode("utf-8", "ignore")
        row = (*place, checkpoint["id"], parent, *self.serde.dumps_typed(checkpoint), about)
        self._replaced[place] = parent
        try:
            await self.conn.write(partial(_write, PUT, [row]))
        finally:
            self._replaced.pop(place, None)
        return _config(place, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save the writes of a task in one transaction; skip it if the step's checkpoint follows at once."""
        await self.setup()
        place, checkpoint_id = _place(config), get_checkpoint_id(config)
        # The checkpoint holds what the tasks of its step wrote, and `KEEP_LATEST` deletes the rows. Of most steps,
        # which have one task, it is begun a few rounds of the loop later: sooner than a row would be committed.
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
            if self._replaced.get(place) == checkpoint_id is not None:
                return
        # Of a task that is cancelled at its very end LangGraph saves what it had written so far, its edges
        # not among it, and would take it for done.
        if any(channel == ERROR for channel, _ in writes):
            writes = [write for write in writes if write[0] == ERROR]
        head = (*place, checkpoint_id, task_id, task_path)
        rows = [
            (*head, WRITES_IDX_MAP.get(channel, index), channel, *self.serde.dumps_typed(value))
            for index, (channel, value) in enumerate(writes)
        ]
        # As the stock saver has it: an error or an interrupt replaces the one before, a result is never replaced.
        sql = PUT_WRITES % ("REPLACE" if all(channel in WRITES_IDX_MAP for channel, _ in writes) else "IGNORE")
        await self.conn.write(partial(_write, sql, rows))


def _write(sql: str, rows: Sequence[Row], connection: sqlite3.Connection) -> None:
    connection.executemany(sql, rows)


def _read(place: tuple[str, str], id: str | None, connection: sqlite3.Connection) -> tuple[Row, list[Row]] | None:
    # In one view of the file: between the two another process might write a later checkpoint.
    connection.execute("BEGIN")
    try:
        row = connection.execute(CHECKPOINT, (*place, id)).fetchone()
        return row and (row, connection.execute(WRITES, (*place, row[0])).fetchall())
    finally:
        connection.rollback()


def _place(config: RunnableConfig) -> tuple[str, str]:
    fields = config["configurable"]
    return str(fields["thread_id"]), str(fields.get("checkpoint_ns", ""))


def _config(place: tuple[str, str], checkpoint_id: str) -> RunnableConfig:
    thread, namespace = place
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}
