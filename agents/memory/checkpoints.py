"""The checkpointer: LangGraph's own for SQLite, mended where it loses turns, grows or trusts its rows."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agents.memory.connection import connect, writing

KEEP_LATEST = """
CREATE TRIGGER IF NOT EXISTS keep_latest AFTER INSERT ON checkpoints BEGIN
    DELETE FROM checkpoints WHERE thread_id = NEW.thread_id AND checkpoint_ns = NEW.checkpoint_ns
        AND checkpoint_id <> NEW.checkpoint_id;
    DELETE FROM writes WHERE thread_id = NEW.thread_id AND checkpoint_ns = NEW.checkpoint_ns
        AND checkpoint_id <> NEW.checkpoint_id;
END
"""


class Saver(AsyncSqliteSaver):
    """Keep the checkpoint of each thread that was written last, and only that one.

    The stock saver keeps them all, which grows without bound, and takes the highest id for the latest. Ids
    come from the clock: a process whose clock is behind answers a turn and the next turn no longer knows it.
    A checkpoint holds the whole state and replaces the one before in the transaction that writes it, so the
    pending writes of a thread that waits for an answer are never touched.
    """

    def __init__(self, conn: aiosqlite.Connection, *, serde: SerializerProtocol | None = None) -> None:
        # None allows LangChain's and LangGraph's own types only. The default lets a forged row run code
        # unless an environment variable was set before the first import.
        super().__init__(conn, serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))

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

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, whole or not at all."""
        async with self._undone_on_failure():
            return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote, all of it or nothing."""
        # Of a task that is cancelled at its very end LangGraph saves what it had written so far, its edges
        # not among it, and would take it for done.
        if any(channel == ERROR for channel, _ in writes):
            writes = [write for write in writes if write[0] == ERROR]
        async with self._undone_on_failure():
            await super().aput_writes(config, writes, task_id, task_path)

    @asynccontextmanager
    async def _undone_on_failure(self) -> AsyncIterator[None]:
        # The stock saver, cancelled between insert and commit, would keep the file locked for everybody.
        try:
            yield
        except BaseException:
            async with self.lock:
                await self.conn.rollback()
            raise
