"""The checkpointer: LangGraph's own for SQLite, changed to lose no turn, to grow little and to run no stored code."""

import asyncio
import json
import sqlite3
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Self, cast

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
from langgraph.checkpoint.sqlite.utils import load_pending_writes, search_where

from agents.errors import BrokenState
from agents.memory import checkpoint_rows as rows
from agents.memory.checkpoint_rows import Keep, Place
from agents.memory.connection import Connection, Row, T, connect, writing
from agents.memory.serializer import Serializer

KEPT = 50
"""Turns that are kept if nobody says otherwise."""
PAGE = 64
"""Checkpoints that are listed in one trip to the database."""
ROUNDS = 4
"""Rounds of the event loop for which the writes of a task wait for the checkpoint of its step."""


class Saver(AsyncSqliteSaver):
    """Keep the checkpoints of the last turns of each thread; the latest is the one that was written last.

    With `keep="all"` every checkpoint stays, as in the stock saver. With a number of turns, a step of a turn replaces
    the step before it, and when the next turn begins, the oldest turn goes. So what waits at the end of a turn stays
    with it. Graphs with a `DeltaChannel` need "all", because such a channel is read from the steps.

    The stock saver takes the highest id for the latest checkpoint. Ids come from the clock: a process whose clock is
    behind answers a turn and the next turn no longer knows it.

    The tables are the stock saver's, but each is read and written in one trip to the connection's thread, and what
    a task wrote is not written when the checkpoint of its step, which holds it, follows at once.
    """

    conn: Connection

    def __init__(self, conn: Connection, *, serde: SerializerProtocol | None = None, keep: Keep = KEPT) -> None:
        super().__init__(conn, serde=serde or Serializer())
        self.keep = keep
        self._replaced: dict[Place, str | None] = {}
        """For each place that a checkpoint is being written to: the id of the one before."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, keep: Keep = KEPT) -> AsyncIterator[Self]:
        """Open the database file at `conn_string` with its settings; close it at the end.

        `keep` is how many turns of a thread can be gone back to, or "all" for every step of every turn.
        Raises ValueError when it is neither.
        """
        if keep != "all" and keep < 1:
            raise ValueError(f'keep must be "all" or a number of turns, found {keep!r}')
        async with connect(conn_string, synchronous="NORMAL", implicit=True) as connection:
            yield cls(connection, keep=keep)

    async def setup(self) -> None:
        """Create the tables, and drop the rule of older versions that one checkpoint replaces those before."""
        if self.is_setup:
            return
        await super().setup()
        async with self.lock, writing(self.conn):
            await self.conn.execute("DROP TRIGGER IF EXISTS keep_latest")

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint of a thread with its pending writes: that of the id in `config`, or the latest.

        Raises:
            BrokenState: what is stored there cannot be read.
        """
        await self.setup()
        place = _place(config)
        try:
            stored = await self.conn.read(partial(_in_one_view, partial(rows.read, place, get_checkpoint_id(config))))
        except zlib.error as broken:
            raise BrokenState(place[0]) from broken
        return self._tuple(place, *stored) if stored else None

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
        await self.setup()
        where, values = search_where(config, filter)
        before_id = get_checkpoint_id(before) if before else None
        last: int | None = None
        left = limit
        while left is None or left > 0:
            size = PAGE if left is None else min(left, PAGE)
            query = partial(rows.page, where, values, before_id, last, size)
            page = await self.conn.read(partial(_in_one_view, query))
            for _, place, row, writes in page:
                with suppress(BrokenState):
                    yield self._tuple(place, row, writes)
            if len(page) < size:
                return
            last, left = page[-1][0], None if left is None else left - size

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint in one transaction; the first one of a turn drops what earlier turns need no more."""
        await self.setup()
        place, parent = _place(config), get_checkpoint_id(config)
        about = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False).encode("utf-8", "ignore")
        row = (*place, checkpoint["id"], parent, *self.serde.dumps_typed(checkpoint), about)
        self._replaced[place] = parent
        try:
            await self.conn.write(partial(rows.add, row, metadata.get("source"), self.keep))
        finally:
            self._replaced.pop(place, None)
        return _config(place, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save the writes of a task in one transaction; skip it if the step's checkpoint follows at once."""
        await self.setup()
        place, checkpoint_id = _place(config), get_checkpoint_id(config)
        if self.keep != "all" and await self._is_replaced(place, checkpoint_id):
            return
        # Of a task that is cancelled at its very end LangGraph saves what it had written so far, its edges
        # not among it, and would take it for done. So beside an error only what is no result counts.
        if any(channel == ERROR for channel, _ in writes):
            writes = [write for write in writes if write[0] in WRITES_IDX_MAP]
        head = (*place, checkpoint_id, task_id, task_path)
        added = [
            (*head, WRITES_IDX_MAP.get(channel, index), channel, *self.serde.dumps_typed(value))
            for index, (channel, value) in enumerate(writes)
        ]
        # As the stock saver has it: an error or an interrupt replaces the one before, a result is never replaced.
        sql = rows.PUT_WRITES % ("REPLACE" if all(channel in WRITES_IDX_MAP for channel, _ in writes) else "IGNORE")
        await self.conn.write(partial(rows.put_writes, sql, added))

    async def drop_latest(self, thread: str) -> None:
        """Delete the latest checkpoint of a thread, because it cannot be read."""
        await self.conn.write(partial(rows.drop_latest, (thread, "")))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread."""
        await self.aprune([thread_id], strategy="delete")

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what the runs of these ids have saved, in all threads."""
        await self.setup()
        await self.conn.write(partial(rows.delete_runs, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another thread."""
        await self.setup()
        await self.conn.write(partial(rows.copy, source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace of the threads ("keep_latest"), or nothing ("delete").

        Raises ValueError when the strategy is another one.
        """
        strategies = {"keep_latest": rows.keep_latest, "delete": rows.delete}
        if strategy not in strategies:
            raise ValueError(f"strategy must be one of {', '.join(strategies)}, found {strategy!r}")
        await self.setup()
        await self.conn.write(partial(strategies[strategy], [str(thread) for thread in thread_ids]))

    def _tuple(self, place: Place, row: Row, writes: Sequence[Row]) -> CheckpointTuple:
        checkpoint_id, parent, kind, checkpoint, metadata = row
        try:
            unpacked = self.serde.loads_typed((kind, checkpoint))
            about = json.loads(metadata) if metadata is not None else {}
            pending = load_pending_writes(writes, self.serde)
            values = [unpacked[name] for name in ("channel_values", "channel_versions", "versions_seen")]
            if unpacked["id"] != checkpoint_id or not all(isinstance(value, dict) for value in [*values, about]):
                raise TypeError("no checkpoint")
        # Whatever bytes may stand there.
        except Exception as broken:
            raise BrokenState(place[0]) from broken
        return CheckpointTuple(
            _config(place, checkpoint_id),
            unpacked,
            cast(CheckpointMetadata, about),
            _config(place, parent) if parent else None,
            pending,
        )

    async def _is_replaced(self, place: Place, checkpoint_id: str | None) -> bool:
        # The checkpoint holds what the tasks of its step wrote. Of most steps, which have one task, it is begun a
        # few rounds of the loop later: sooner than a row would be committed.
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
            if self._replaced.get(place) == checkpoint_id is not None:
                return True
        return False


def _in_one_view(work: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    """Read in one view of the file: between two statements another process might write."""
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        connection.rollback()


def _place(config: RunnableConfig) -> Place:
    fields = config["configurable"]
    return str(fields["thread_id"]), str(fields.get("checkpoint_ns", ""))


def _config(place: Place, checkpoint_id: str) -> RunnableConfig:
    thread, namespace = place
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}
