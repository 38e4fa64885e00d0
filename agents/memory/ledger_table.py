"""The table of done writes, and of those that were begun; see `agents.memory.ledger`."""

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from agents.memory.inbox import clean

# An entry holds for the message that asked for the write, and until `until_ms` for every other message. `told` has for
# each thread the reply of a model that was answered: nobody knows whether the write took effect.
TABLES = """
CREATE TABLE ledger (
    key TEXT PRIMARY KEY, thread TEXT NOT NULL, user TEXT NOT NULL, message TEXT NOT NULL, outcome TEXT,
    told TEXT NOT NULL, at_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX ledger_time ON ledger (max(until_ms, at_ms));
"""
ENTER = """
INSERT OR REPLACE INTO ledger (key, thread, user, message, outcome, told, at_ms, until_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
HOLDS = "key = ?1 AND (until_ms > ?2 OR (thread = ?3 AND message = ?4))"
TELL = "UPDATE ledger SET told = json_patch(told, ?) WHERE key = ?"
OUTLIVED = "DELETE FROM ledger WHERE thread = ? AND message <> ? AND until_ms <= ?"
OLD = "DELETE FROM ledger WHERE max(until_ms, at_ms) <= ?"
LEFT_MS = 30 * 24 * 3600 * 1000
"""How long an entry that has run out is left for its own message, whose turn a crash may have cut off."""
How = Literal["once", "again", "transaction"]
"""A write that was cut off: is not repeated unasked; may be done again; has left nothing, and is done again."""


@dataclass(frozen=True, kw_only=True)
class Write:
    """One write: its key, the user it is done for, and the message and the model's reply that asked for it."""

    key: str
    thread: str
    user: str
    message: str
    reply: str
    how: How = "once"
    lasts: float = 0
    """Seconds during which a later message that asks for it asks for the same write; with 0 it asks for a new one."""


def outcome_of(write: Write, at_ms: int, database: sqlite3.Connection) -> str | None:
    """Return the outcome of a write that was done."""
    entry = _entry("outcome", write, at_ms, database)
    return str(entry) if entry is not None else None


def claim(write: Write, at_ms: int, database: sqlite3.Connection) -> bool:
    """Enter that a write is begun; return False if it was begun before and the model that asks does not know it.

    The model is then told, and that is noted: when another reply in the same thread asks again, the write is begun
    anew.
    """
    replies = _entry("told", write, at_ms, database)
    if replies is not None and json.loads(str(replies)).get(write.thread, write.reply) == write.reply:
        tell(write, database)
        return False
    enter(write, None, at_ms, database)
    return True


def begin(write: Write, at_ms: int, database: sqlite3.Connection) -> tuple[int, bool]:
    """Enter that a write is begun, unless it was before; return when it first was (Unix ms), and if that is now."""
    first_ms = _entry("at_ms", write, at_ms, database)
    if first_ms is not None:
        return int(first_ms), False
    enter(write, None, at_ms, database)
    return at_ms, True


def tell(write: Write, database: sqlite3.Connection) -> None:
    """Enter that the model that asked is told: nobody knows whether the write took effect."""
    database.execute(TELL, (json.dumps({write.thread: write.reply}), write.key))


def enter(write: Write, outcome: str | None, at_ms: int, database: sqlite3.Connection) -> None:
    """Enter a write, and delete entries of no further use."""
    until_ms = at_ms + round(write.lasts * 1000) if write.lasts else 0
    row = write.key, write.thread, write.user, write.message, outcome, "{}", at_ms, until_ms
    database.execute(OUTLIVED, (write.thread, write.message, at_ms))
    database.execute(OLD, (at_ms - LEFT_MS,))
    database.execute(ENTER, row)


def release(key: str, database: sqlite3.Connection) -> None:
    """Take the entry of a write back: nothing was written."""
    database.execute("DELETE FROM ledger WHERE key = ?", (key,))


def erase(thread: str, users: Collection[str], database: sqlite3.Connection) -> bool:
    """Delete the entries of a thread, and all those of the users; return False if the thread had none."""
    deleted = database.execute("DELETE FROM ledger WHERE thread = ?", (clean(thread),)).rowcount
    database.executemany("DELETE FROM ledger WHERE user = ?", [(user,) for user in users])
    return deleted > 0


def erase_part(thread: str, user: str, database: sqlite3.Connection) -> None:
    """Delete the entries of a user in a thread."""
    database.execute("DELETE FROM ledger WHERE thread = ? AND user = ?", (clean(thread), clean(user)))


def _entry(column: str, write: Write, at_ms: int, database: sqlite3.Connection) -> str | int | None:
    """Return a column of the entry that holds for a write; None if there is no entry, or nothing in it."""
    about = write.key, at_ms, write.thread, write.message
    row = database.execute(f"SELECT {column} FROM ledger WHERE {HOLDS}", about).fetchone()
    return row[0] if row else None
