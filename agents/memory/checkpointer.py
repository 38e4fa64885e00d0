"""The checkpointer: LangGraph's interface over three tables; it loses no turn, grows little, runs no stored code."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    copy_checkpoint,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.types import ERROR, TASKS
from langgraph.checkpoint.sqlite.utils import search_where
from langgraph.constants import START

from agents.errors import BrokenState
from agents.memory.connection import Connection, Row, Session, Tables
from agents.memory.history_blocks import Block, HistoryBlocks, references
from agents.memory.serializer import Packing

Keep = int | Literal["all"]
"""The number of turns of a thread that a user can go back to; "all" keeps every step of every turn."""
KEPT_TURNS = 50
ROUNDS = 4
"""Rounds of the event loop for which the writes of a task wait for the checkpoint of its step."""
WITHIN = "\x1f"
"""Separates a thread's name from the rest of the name of a thread within it."""
READ, ENDING = "read", "ending "
"""Keys in a run's configuration. `READ` has the latest checkpoint by thread and namespace, or None where there is none:
the holder of the thread has read it, nobody writes. `ENDING` with the thread's name has a list for the steps that save
the last checkpoint together with the outcome."""
LEADS_ON = ("branch:to:", "join:", START, TASKS)
"""Prefixes of channels: while a turn has further steps, a channel with one of them has a value."""
BEGUN = {START, "branch:to:route"}
"""Channels: one of them has a value until `route` ends. A turn can repeat the steps until then from its input."""

TABLES = Tables(
    "checkpoints",
    {
        "make_tables": """
CREATE TABLE checkpoints (
    position INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL, checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, source TEXT, run_id TEXT, root_id TEXT,
    type TEXT NOT NULL, checkpoint BLOB NOT NULL, metadata TEXT NOT NULL,
    UNIQUE (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL, checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL,
    task_path TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
""",
        "keep_blocks": """
CREATE TABLE blocks (
    thread_id TEXT NOT NULL, digest BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (thread_id, digest));
""",
        # It changes nothing. But a version that knows no preset dictionary may not open the file: it would take values
        # that were packed with the dictionary for broken.
        "refuse_versions_without_dictionary": "DELETE FROM blocks WHERE digest IS NULL;",
    },
)
Stored = tuple[Row, list[Row]]
Step = Callable[[Session], object]
"""A part of a transaction."""
COLUMNS = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
HERE = "thread_id = ?1 AND checkpoint_ns = ?2"
LATEST = f"SELECT {COLUMNS} FROM checkpoints WHERE position = (SELECT max(position) FROM checkpoints WHERE {HERE})"
NAMED = f"SELECT {COLUMNS} FROM checkpoints WHERE {HERE} AND checkpoint_id = ?3"
PENDING = """
SELECT task_id, channel, type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
ORDER BY task_id, idx
"""
REPLACE = """
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE
SET parent_checkpoint_id = excluded.parent_checkpoint_id, type = excluded.type, checkpoint = excluded.checkpoint,
metadata = excluded.metadata, source = excluded.source, run_id = excluded.run_id, root_id = excluded.root_id
"""
REPLACE_WRITE = """
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE
SET task_path = excluded.task_path, channel = excluded.channel, type = excluded.type, value = excluded.value
"""
PUT = f"""
INSERT INTO checkpoints ({COLUMNS}, source, run_id, root_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {REPLACE}
"""
PUT_WRITE = "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
STEPS = f"""
DELETE FROM checkpoints WHERE {HERE} AND checkpoint_id IN (
    SELECT parent_checkpoint_id FROM checkpoints WHERE {HERE} AND source = 'loop')
"""
# The last checkpoint of a turn takes the place of all its steps.
ONLY = f"UPDATE checkpoints SET source = 'input' WHERE {HERE} AND checkpoint_id = ?3"
OLD = f"""
DELETE FROM checkpoints WHERE {HERE} AND position <= (
    SELECT position FROM checkpoints WHERE {HERE} ORDER BY position DESC LIMIT 1 OFFSET ?3)
"""
# A nested graph has a namespace that ends in the id of its task, and lives as long as that task.
INNER = """
DELETE FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns LIKE '%:%' AND root_id NOT IN (
    SELECT checkpoint_id FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = '')
"""
ORPHANS = """
DELETE FROM writes WHERE thread_id = ?1 AND (checkpoint_ns, checkpoint_id) NOT IN (
    SELECT checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?1)
"""
LAST_TURN = f"""
DELETE FROM checkpoints WHERE {HERE} AND position >= (
    SELECT coalesce(max(position) FILTER (WHERE source = 'input'), max(position)) FROM checkpoints WHERE {HERE})
"""
SUPERSEDED = """
DELETE FROM checkpoints WHERE thread_id = ?1 AND position NOT IN (
    SELECT max(position) FROM checkpoints WHERE thread_id = ?1 GROUP BY checkpoint_ns)
"""
# The name of a thread within another begins with that one's name and `WITHIN`; it is deleted with that one.
DELETE_THREAD = f"""
DELETE FROM checkpoints WHERE thread_id = ?1 OR (thread_id > ?1 || '{WITHIN}' AND thread_id < ?1 || ' ')
"""
DELETE_ALL = [DELETE_THREAD.replace("checkpoints", table, 1) for table in ("checkpoints", "writes", "blocks")]
DIGESTS = "SELECT digest FROM blocks WHERE thread_id = ?"
BLOCKS_OF = "SELECT digest, value FROM blocks WHERE thread_id = ?"
PUT_BLOCK = "INSERT INTO blocks VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
DELETE_BLOCK = "DELETE FROM blocks WHERE thread_id = ? AND digest = ?"
REFERRING = "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ?"
COPY_BLOCKS = """
INSERT INTO blocks SELECT ?2, digest, value FROM blocks WHERE thread_id = ?1 ON CONFLICT DO NOTHING
"""
DELETE_RUN = "DELETE FROM checkpoints WHERE run_id = ? RETURNING thread_id"
COPY = f"""
INSERT INTO checkpoints ({COLUMNS}, source, run_id, root_id)
SELECT ?2, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, source, run_id, root_id
FROM checkpoints WHERE thread_id = ?1 ORDER BY position {REPLACE}
"""
COPY_WRITES = f"""
INSERT INTO writes
SELECT ?2, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value FROM writes WHERE thread_id = ?1
{REPLACE_WRITE}
"""


class Saver(BaseCheckpointSaver[int]):
    """Keep the checkpoints of the last turns of each thread; the latest is the one that was written last.

    With `keep="all"` every checkpoint stays. With a number of turns, the steps of a turn go at its end, or when the
    next one begins, and then the oldest turn goes, too. So pending work at the end of a turn stays with it. Graphs with
    a `DeltaChannel` need "all", because such a channel is read from the steps. Raises ValueError for any other `keep`.

    The latest checkpoint is not the one with the highest id: ids come from the clock, and a process whose clock is
    behind would answer a turn that the next turn does not know.
    """

    def __init__(self, connection: Connection, *, keep: Keep = KEPT_TURNS) -> None:
        if keep != "all" and keep < 1:
            raise ValueError(f'keep must be "all" or a number of turns, found {keep!r}')
        super().__init__(serde=(packing := Packing()))
        self._blocks = HistoryBlocks(packing)
        self.connection = connection
        self.keep = keep
        self.version_types: tuple[type, ...] = (int,)
        """The types of channel versions that the saver's user counts in."""
        self._followed = set[tuple[str, str, str | None]]()
        """The places and ids of checkpoints while their next checkpoint is being written."""
        self._unsaved = dict[tuple[str, str], tuple[str, Callable[[], Iterator[Step]]]]()
        """By place, the id of a turn's first checkpoint, and the steps that save it: only an error needs it."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint of a thread with its pending writes: that of the id in `config`, or the latest.

        Raises:
            BrokenState: the stored checkpoint cannot be read.
        """
        place, id = _place(config), get_checkpoint_id(config)
        read: Mapping[tuple[str, str], CheckpointTuple | None] = config["configurable"].get(READ) or {}
        if place in read and not id:
            latest = read[place]
            # LangGraph changes the versions of a checkpoint.
            return latest and latest._replace(checkpoint=copy_checkpoint(latest.checkpoint))

        def select(database: Session) -> tuple[Stored, list[Block | bytes]] | None:
            row = database.execute(NAMED if id else LATEST, (*place, id) if id else place).fetchone()
            if row is None:
                return None
            return (row, database.execute(PENDING, row[:3]).fetchall()), self._selected_blocks(row, database)

        selected = await self.connection.read(select)
        if selected is None:
            return None
        stored, blocks = selected
        return self._unpack(*stored, blocks)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, object] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the readable checkpoints, the one written last first; without a `config` those of all threads."""
        # The stock saver's condition holds for these tables, too.
        where, values = search_where(config, filter)
        sql = f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints {where} ORDER BY position DESC"
        rows = await self.connection.execute(sql, values)
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
        """Save a checkpoint; the first one of a turn drops needless parts of earlier turns, the last one its steps."""
        place, parent = _place(config), get_checkpoint_id(config)
        # The first checkpoint of a turn that is saved takes the place of its input.
        unsaved, _ = self._unsaved.pop(place, ("", None))
        source = "input" if unsaved and unsaved == parent else metadata.get("source")
        about, root = dict(get_checkpoint_metadata(config, metadata)), metadata.get("parents", {}).get("")
        is_last = self.keep != "all" and not place[1] and not _leads_on(checkpoint)
        ending: list[Step] | None = config["configurable"].get(ENDING + place[0])

        def steps() -> Iterator[Step]:
            kind, packed, blocks = self._blocks.pack(checkpoint, self.serde)
            row = (*place, checkpoint["id"], parent, kind, packed, json.dumps(about))
            yield _statement(PUT, *row, source, about.get("run_id"), root)
            if self.keep != "all" and source == "input":
                yield _statement(STEPS, *place)
                yield _statement(OLD, *place, self.keep + 1)
                yield from (_statement(sql, place[0]) for sql in (INNER, ORPHANS))
            elif is_last:
                yield _statement(STEPS, *place)
                yield _statement(ONLY, *place, checkpoint["id"])
            if blocks:
                yield partial(self._put_blocks, place[0], blocks)

        self._followed.add(followed := (*place, parent))
        try:
            if self.keep != "all" and source == "input" and not BEGUN.isdisjoint(checkpoint["channel_values"]):
                self._unsaved[place] = checkpoint["id"], steps
                await asyncio.sleep(0)
            elif is_last and ending is not None:
                ending[:] = steps()
                await asyncio.sleep(0)
            else:
                await self.save(*steps())
        finally:
            self._followed.discard(followed)
        return _config(*place, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, object]], task_id: str, task_path: str = ""
    ) -> None:
        """Save the writes of a task, unless the checkpoint of its step, which holds them, follows at once.

        An error or an interrupt replaces the one before, a result is never replaced.
        """
        place = (*_place(config), get_checkpoint_id(config))
        if self.keep != "all" and await self._is_followed(place):
            return
        # LangGraph saves the writes of a task that is cancelled at its very end, without its edges, and would take the
        # task for done. So beside an error only errors and interrupts count.
        if any(channel == ERROR for channel, _ in writes):
            writes = [write for write in writes if write[0] in WRITES_IDX_MAP]
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        put = PUT_WRITE + (REPLACE_WRITE if replaces else "ON CONFLICT DO NOTHING")
        rows = [
            (*place, task_id, task_path, WRITES_IDX_MAP.get(channel, index), channel, *self.serde.dumps_typed(value))
            for index, (channel, value) in enumerate(writes)
        ]
        unsaved, _ = self._unsaved.get(place[:2], ("", None))
        begun = self._unsaved.pop(place[:2])[1]() if unsaved and unsaved == place[2] else ()
        await self.save(*begun, *(_statement(put, *row) for row in rows))

    async def drop_last_turn(self, thread: str) -> None:
        """Delete the checkpoints of a thread's last turn, because the latest one cannot be read."""
        await self.save(_statement(LAST_TURN, thread, ""), *_clearing(thread))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all that is stored of a thread and of the threads within it."""
        await self.save(*(_statement(sql, thread_id) for sql in DELETE_ALL))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that the runs with these ids have saved, in all threads."""
        for run in run_ids:
            threads = {thread for (thread,) in await self.connection.execute(DELETE_RUN, (run,))}
            await self.save(*(step for thread in threads for step in _clearing(thread)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all that is stored of a thread to another thread."""
        copies = (COPY, COPY_WRITES, COPY_BLOCKS)
        await self.save(*(_statement(sql, source_thread_id, target_thread_id) for sql in copies))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace of the threads ("keep_latest"), or nothing ("delete").

        Raises ValueError when the strategy is another one.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"strategy must be one of keep_latest, delete, found {strategy!r}")
        for thread in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread)
            else:
                await self.save(_statement(SUPERSEDED, thread), *_clearing(thread))

    async def _is_followed(self, place: tuple[str, str, str | None]) -> bool:
        # For most steps LangGraph begins the checkpoint a few rounds of the loop later.
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
            if place in self._followed:
                return True
        return False

    async def save(self, *steps: Step) -> None:
        """Do all steps in one transaction, or none."""

        def run(database: Session) -> None:
            for step in steps:
                step(database)

        if steps:
            await self.connection.write(run)

    def _selected_blocks(self, row: Row, database: Session) -> list[Block | bytes]:
        """Return the blocks that a row refers to; a block that is not remembered comes packed."""
        digests = references(row[4], row[5])
        held = [self._blocks.remembered(digest) for digest in digests]
        stored = {} if all(held) else dict(database.execute(BLOCKS_OF, row[:1]).fetchall())
        # Checkpoints of older versions have the packed blocks in place of their digests.
        return [block or stored.get(digest, digest) for block, digest in zip(held, digests, strict=True)]

    def _put_blocks(self, thread: str, blocks: Sequence[Block], database: Session) -> None:
        """Store a checkpoint's blocks that the thread lacks; beside new ones, delete those that nothing refers to."""
        packed = {block.digest: block.packed for block in blocks}
        stored = {digest for (digest,) in database.execute(DIGESTS, (thread,))}
        if missing := packed.keys() - stored:
            database.executemany(PUT_BLOCK, [(thread, digest, packed[digest]) for digest in missing])
            if self.keep != "all" and stored - packed.keys():
                _drop_blocks(thread, database)

    def _unpack(self, row: Row, pending: list[Row], blocks: Sequence[Block | bytes]) -> CheckpointTuple:
        thread, namespace, id, parent, kind, packed, about = row
        try:
            checkpoint = self._blocks.unpack(kind, packed, blocks, self.serde)
            metadata = cast(CheckpointMetadata, json.loads(about))
            parts = [checkpoint["channel_values"], checkpoint["channel_versions"], checkpoint["versions_seen"]]
            if checkpoint["id"] != id or not all(isinstance(part, dict) for part in [*parts, metadata]):
                raise ValueError("no checkpoint")
            if not all(isinstance(version, self.version_types) for version in checkpoint["channel_versions"].values()):
                raise ValueError("its versions cannot be counted on")
            writes = [(task, channel, self.serde.loads_typed((kind, value))) for task, channel, kind, value in pending]
        # The stored bytes may be anything.
        except Exception as broken:
            raise BrokenState(thread) from broken
        before = _config(thread, namespace, parent) if parent else None
        return CheckpointTuple(_config(thread, namespace, id), checkpoint, metadata, before, writes)


def _statement(sql: str, *values: object) -> Step:
    return lambda database: database.execute(sql, values)


def _leads_on(checkpoint: Checkpoint) -> bool:
    """Tell whether a step follows a checkpoint."""
    channels = checkpoint["channel_values"].items()
    # The value of an edge to a node is None.
    return any(name.startswith(LEADS_ON) and (value or value is None) for name, value in channels)


def _clearing(thread: str) -> tuple[Step, Step]:
    """Return the steps that delete a thread's writes and blocks without a checkpoint."""
    return _statement(ORPHANS, thread), partial(_drop_blocks, thread)


def _drop_blocks(thread: str, database: Session) -> None:
    """Delete the blocks of a thread that no checkpoint refers to."""
    used = {digest for row in database.execute(REFERRING, (thread,)) for digest in references(*row)}
    stored = database.execute(DIGESTS, (thread,)).fetchall()
    database.executemany(DELETE_BLOCK, [(thread, digest) for (digest,) in stored if digest not in used])


def _written_before(rows: list[Row], before: RunnableConfig | None) -> list[Row]:
    """Return the rows after the checkpoint `before`; if it does not exist, those with a lower id."""
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
