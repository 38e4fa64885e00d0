"""The checkpointer: LangGraph's own for SQLite, mended where it loses turns, grows or trusts its rows."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import search_where

from agents.memory.connection import connect, writing

LATEST = """
SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1
"""
WAITING = f"""
SELECT 1 FROM writes WHERE thread_id = ? AND checkpoint_ns = '' AND channel = '__interrupt__'
AND checkpoint_id = ({LATEST}) LIMIT 1
"""
DROP_CHECKPOINTS = """
DELETE FROM checkpoints WHERE thread_id = ?
AND rowid NOT IN (SELECT max(rowid) FROM checkpoints WHERE thread_id = ? GROUP BY checkpoint_ns)
"""
DROP_WRITES = """
DELETE FROM writes WHERE thread_id = ? AND NOT EXISTS (
    SELECT 1 FROM checkpoints AS kept WHERE kept.thread_id = writes.thread_id
    AND kept.checkpoint_ns = writes.checkpoint_ns AND kept.checkpoint_id = writes.checkpoint_id)
"""


class Saver(AsyncSqliteSaver):
    """Keep checkpoints in SQLite; the latest is the one written last.

    The stock saver takes the highest id, and ids come from the clock: a process whose clock is behind
    answers a turn and the next turn no longer knows it.
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

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint `config` names, or else the one written last."""
        if get_checkpoint_id(config):
            return await super().aget_tuple(config)
        await self.setup()
        place = str(config["configurable"]["thread_id"]), config["configurable"].get("checkpoint_ns", "")
        # Another process may prune between the two look-ups; then there is a later one.
        while rows := await self._rows(LATEST, place):
            if found := await super().aget_tuple(_config(*place, rows[0][0])):
                return found
        return None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, the one written last first."""
        await self.setup()
        where, values = search_where(config, filter)
        if before and (earlier := get_checkpoint_id(before)):
            where += " AND " if where else "WHERE "
            where += "rowid < (SELECT max(rowid) FROM checkpoints WHERE checkpoint_id = ?)"
            values = [*values, earlier]
        places = f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints {where}"
        values = [*values, -1 if limit is None else limit]
        for row in await self._rows(f"{places} ORDER BY rowid DESC LIMIT ?", values):
            if found := await super().aget_tuple(_config(*row)):
                yield found

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

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Drop the checkpoints of these threads: all ("delete") or all but the latest of each namespace.

        "keep_latest" leaves a thread alone that waits for an answer. Not for graphs with delta channels,
        whose latest checkpoint needs its ancestors.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"strategy is {strategy!r}; it must be 'keep_latest' or 'delete'")
        await self.setup()
        async with self.lock, writing(self.conn):
            for thread in thread_ids:
                if strategy == "delete":
                    await self.conn.execute("DELETE FROM checkpoints WHERE thread_id = ?", (thread,))
                elif list(await self.conn.execute_fetchall(WAITING, (thread, thread, ""))):
                    continue
                else:
                    await self.conn.execute(DROP_CHECKPOINTS, (thread, thread))
                await self.conn.execute(DROP_WRITES, (thread,))

    async def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        async with self.lock:
            return list(await self.conn.execute_fetchall(sql, values))

    @asynccontextmanager
    async def _undone_on_failure(self) -> AsyncIterator[None]:
        # The stock saver, cancelled between insert and commit, would keep the file locked for everybody.
        try:
            yield
        except BaseException:
            async with self.lock:
                await self.conn.rollback()
            raise


def _config(thread: str, namespace: str, checkpoint: str) -> RunnableConfig:
    place = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
    return {"configurable": place}
