"""The rows of checkpoints and pending writes, and what is done with them inside one transaction.

The tables are the stock saver's. Only the newest checkpoint of a thread is always stored whole: one of an earlier turn
may be stored as its difference to a later one. Its `type` says so, and to which.
The functions run in the thread of a connection, inside a transaction that is begun and ended for them.
"""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Literal, NamedTuple

from agents.memory import difference
from agents.memory.connection import Row

Keep = int | Literal["all"]
"""How many turns of a thread can be gone back to; "all" keeps every step of every turn."""
Place = tuple[str, str]
"""A thread and its checkpoint namespace."""
WHOLE = "msgpack"
DIFFERENCE = "zlib:"
"""The `type` of a difference begins with this; the id of the checkpoint that it differs from follows."""
ALONE = ""
"""In place of the id: the checkpoint is packed, and differs from nothing."""
HERE = "thread_id = ? AND checkpoint_ns = ?"
NEWEST = f"SELECT checkpoint_id FROM checkpoints WHERE {HERE} ORDER BY rowid DESC LIMIT 1"
CHECKPOINT = f"""
SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints WHERE {HERE} AND checkpoint_id
"""
WRITES = f"SELECT task_id, channel, type, value, task_path, idx FROM writes WHERE {HERE} AND checkpoint_id = ?"
PUT = """
INSERT OR REPLACE INTO checkpoints
(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
REPACK = f"UPDATE checkpoints SET type = ?, checkpoint = ? WHERE {HERE} AND checkpoint_id = ?"
PUT_WRITES = """
INSERT OR %s INTO writes
(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# Metadata that are no JSON would end every query that looks into them.
ABOUT = "CASE WHEN json_valid(CAST(metadata AS TEXT)) THEN json_extract(CAST(metadata AS TEXT), '$.%s') END"
HEADS = f"""
SELECT checkpoint_id, parent_checkpoint_id, type, {ABOUT % "source"} FROM checkpoints WHERE {HERE} ORDER BY rowid
"""
LISTED = """
SELECT rowid, thread_id, checkpoint_ns, checkpoint_id FROM checkpoints AS listed %s
AND (? IS NULL OR coalesce(
    rowid < (SELECT max(rowid) FROM checkpoints WHERE checkpoint_id = ? AND thread_id = listed.thread_id),
    checkpoint_id < ?))
AND (? IS NULL OR rowid < ?) ORDER BY rowid DESC LIMIT ?
"""
SUPERSEDED = """
DELETE FROM checkpoints WHERE thread_id = ?1 AND rowid NOT IN (
    SELECT max(rowid) FROM checkpoints WHERE thread_id = ?1 GROUP BY checkpoint_ns)
"""
OF_RUN = ABOUT % "run_id" + " = ?"
ORPHANS = """
DELETE FROM writes WHERE thread_id = ?1 AND (checkpoint_ns, checkpoint_id) NOT IN (
    SELECT checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?1)
"""
# The checkpoints of a graph within a graph that lives for one task: their namespace ends in the task's id.
PARTED = f"""
DELETE FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns LIKE '%:%' AND {ABOUT % 'parents.""'} NOT IN (
    SELECT checkpoint_id FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = '')
"""


class _Head(NamedTuple):
    """What is asked of a checkpoint to find out where it belongs."""

    id: str
    parent: str | None
    kind: str
    source: str | None

    @property
    def base(self) -> str | None:
        """The checkpoint that this one is stored as a difference to."""
        return self.kind.removeprefix(DIFFERENCE) if self.kind.startswith(DIFFERENCE) else None


def read(place: Place, id: str | None, connection: sqlite3.Connection) -> tuple[Row, list[Row]] | None:
    """Return a checkpoint, whole, and its pending writes; without an id the checkpoint that was written last."""
    row = connection.execute(f"{CHECKPOINT} = {'?' if id else f'({NEWEST})'}", (*place, *([id] if id else place)))
    if (columns := row.fetchone()) is None:
        return None
    writes = connection.execute(WRITES, (*place, columns[0])).fetchall()
    return (*columns[:2], *whole(place, columns[2:4], connection), columns[4]), writes


def page(
    where: str,
    values: Sequence[object],
    before: str | None,
    last: int | None,
    size: int,
    connection: sqlite3.Connection,
) -> list[tuple[int, Place, Row, list[Row]]]:
    """Return checkpoints that fit a condition, newest first: row id, place, the checkpoint whole, its pending writes.

    Only those are returned that were written before the checkpoint `before`, and before the row `last`.
    """
    bounds = (*values, before, before, before, last, last, size)
    heads = connection.execute(LISTED % (where or "WHERE true"), bounds).fetchall()
    rows: list[tuple[int, Place, Row, list[Row]]] = []
    for rowid, thread, namespace, id in heads:
        try:
            stored = read((thread, namespace), id, connection)
        except zlib.error:
            stored = (id, None, "broken", b"", None), []
        if stored:
            rows.append((rowid, (thread, namespace), *stored))
    return rows


def whole(place: Place, stored: tuple[str, bytes], connection: sqlite3.Connection) -> tuple[str, bytes]:
    """Return kind and bytes of a checkpoint that may be stored as a difference. Raises zlib.error if it is broken."""
    chain: list[bytes] = []
    kind, data = stored
    bases: set[str] = set()
    while kind.startswith(DIFFERENCE):
        chain.append(data)
        base = kind.removeprefix(DIFFERENCE)
        if base == ALONE:
            kind, data = WHOLE, b""
            break
        row = connection.execute(f"{CHECKPOINT} = ?", (*place, base)).fetchone()
        if row is None or base in bases:
            raise zlib.error("a checkpoint differs from one that is not there")
        bases.add(base)
        kind, data = row[2:4]
    for packed in reversed(chain):
        data = difference.unpack(packed, data)
    return kind, data


def add(row: Row, source: str | None, keep: Keep, connection: sqlite3.Connection) -> None:
    """Add a checkpoint, in place of the step before it; if it begins a turn, the turns beyond `keep` go."""
    place, id, parent = row[:2], row[2], row[3]
    newest = connection.execute(NEWEST, place).fetchone()
    if keep != "all" and newest:
        # A checkpoint whose parent is not the newest one is a fork: somebody went back.
        if source == "input" or newest[0] != parent:
            prune(place, keep, connection)
        else:
            # No other checkpoint is stored as a difference to the newest one.
            connection.execute(f"DELETE FROM checkpoints WHERE {HERE} AND checkpoint_id = ?", (*place, parent))
            connection.execute(ORPHANS, place[:1])
    if connection.execute(f"SELECT 1 FROM checkpoints WHERE {HERE} AND checkpoint_id = ?", (*place, id)).fetchone():
        _unpack_all(place, connection)
    connection.execute(PUT, row)


def put_writes(sql: str, rows: Sequence[Row], connection: sqlite3.Connection) -> None:
    """Add pending writes."""
    connection.executemany(sql, rows)


def prune(place: Place, keep: int, connection: sqlite3.Connection) -> None:
    """Keep the last checkpoint of each of the last turns, each as its difference to the next one.

    A checkpoint is added next, so the newest one is not read again soon; it is packed alone.
    """
    heads = [_Head(*row) for row in connection.execute(HEADS, place)]
    ends = [*_ends(heads)][-keep:]
    dropped = {head.id for head in heads} - {head.id for head in ends}
    packed: list[tuple[str, bytes, str]] = []
    for head, next_id in zip(ends, [*(end.id for end in ends[1:]), ALONE], strict=True):
        if head.kind == WHOLE or head.base in {ALONE, *dropped}:
            packed += _packed(place, head.id, next_id, connection)
    connection.executemany(REPACK, [(kind, data, *place, id) for kind, data, id in packed])
    if dropped:
        gone = [(*place, id) for id in dropped]
        connection.executemany(f"DELETE FROM checkpoints WHERE {HERE} AND checkpoint_id = ?", gone)
    parted = 0 if place[1] else connection.execute(PARTED, place[:1]).rowcount
    if dropped or parted:
        connection.execute(ORPHANS, place[:1])


def keep_latest(threads: Sequence[str], connection: sqlite3.Connection) -> None:
    """Keep the newest checkpoint of each namespace of the threads, with its pending writes."""
    for thread in threads:
        connection.execute(SUPERSEDED, (thread,))
        connection.execute(ORPHANS, (thread,))


def drop_latest(place: Place, connection: sqlite3.Connection) -> None:
    """Delete the newest checkpoint of a place, with its pending writes."""
    connection.execute(f"DELETE FROM checkpoints WHERE {HERE} AND checkpoint_id = ({NEWEST})", (*place, *place))
    connection.execute(ORPHANS, place[:1])


def delete(threads: Sequence[str], connection: sqlite3.Connection) -> None:
    """Delete all checkpoints and writes of the threads."""
    for table in ("checkpoints", "writes"):
        connection.executemany(f"DELETE FROM {table} WHERE thread_id = ?", [(thread,) for thread in threads])


def delete_runs(runs: Sequence[str], connection: sqlite3.Connection) -> None:
    """Delete the checkpoints, with their writes, that the runs of these ids have made, in all threads."""
    for run in runs:
        places = connection.execute(f"SELECT DISTINCT thread_id, checkpoint_ns FROM checkpoints WHERE {OF_RUN}", (run,))
        for place in places.fetchall():
            _unpack_all(place, connection)
            connection.execute(f"DELETE FROM checkpoints WHERE {HERE} AND {OF_RUN}", (*place, run))
            connection.execute(ORPHANS, place[:1])


def copy(source: str, target: str, connection: sqlite3.Connection) -> None:
    """Copy all checkpoints and writes of a thread to another thread, in their order."""
    for table in ("checkpoints", "writes"):
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "thread_id"]
        listed = ", ".join(names)
        connection.execute(
            f"INSERT OR REPLACE INTO {table} (thread_id, {listed})"
            f" SELECT ?, {listed} FROM {table} WHERE thread_id = ? ORDER BY rowid",
            (target, source),
        )


def _ends(heads: Sequence[_Head]) -> Iterator[_Head]:
    """Yield the last checkpoint of each turn: the next one is an input, or does not follow from it."""
    for head, next_one in pairwise(heads):
        if next_one.source == "input" or next_one.parent != head.id:
            yield head
    yield from heads[-1:]


def _packed(place: Place, id: str, base: str, connection: sqlite3.Connection) -> Iterator[tuple[str, bytes, str]]:
    """Yield kind, bytes and id of a checkpoint as its difference to another; nothing if one cannot be read."""
    with suppress(zlib.error):
        kind, data = _stored(place, id, connection)
        base_kind, base_data = _stored(place, base, connection) if base else (WHOLE, b"")
        if kind == base_kind == WHOLE:
            yield DIFFERENCE + base, difference.pack(data, base_data), id


def _unpack_all(place: Place, connection: sqlite3.Connection) -> None:
    """Store every checkpoint of a place whole, so that any of them may go."""
    heads = [_Head(*row) for row in connection.execute(HEADS, place)]
    unpacked: list[Row] = []
    for head in heads:
        with suppress(zlib.error):
            unpacked += [(*_stored(place, head.id, connection), *place, head.id)] if head.base else []
    connection.executemany(REPACK, unpacked)


def _stored(place: Place, id: str, connection: sqlite3.Connection) -> tuple[str, bytes]:
    row = connection.execute(f"{CHECKPOINT} = ?", (*place, id)).fetchone()
    return whole(place, row[2:4], connection)
