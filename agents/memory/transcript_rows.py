"""The rows of inbox and transcript.

The functions run in the thread of a connection, inside a transaction that is begun and ended for them.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from agents.errors import UsageError
from agents.memory.inbox import InboxEntry, TranscriptLine, clean, now_ms

# A message's text moves from the inbox to the transcript when it is first closed; `line` says where to.
# That keeps it on disk once, and `line` is also where the lines of the message begin.
TABLES = """
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, message_id TEXT NOT NULL,
    user TEXT NOT NULL, text TEXT, source TEXT NOT NULL, turn INTEGER NOT NULL, status TEXT NOT NULL,
    received_ms INTEGER NOT NULL, line INTEGER, quoted TEXT, UNIQUE (thread, message_id));
CREATE INDEX inbox_thread ON inbox (thread);
CREATE INDEX inbox_open ON inbox (thread) WHERE status = 'open';
CREATE TABLE transcript (
    id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, turn INTEGER NOT NULL,
    message_id TEXT NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL, text TEXT NOT NULL,
    at_ms INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE INDEX transcript_thread ON transcript (thread);
CREATE TABLE records (letter INTEGER PRIMARY KEY, record TEXT NOT NULL);
"""
ENTRIES = """
SELECT thread, message_id, user, coalesce(text, (SELECT text FROM transcript WHERE id = inbox.line)),
source, status, turn,
coalesce(quoted, (SELECT json_extract(metadata, '$.quoted') FROM transcript WHERE id = inbox.line)), received_ms
FROM inbox WHERE thread = ?
"""
ADD_ENTRY = """
INSERT INTO inbox (thread, message_id, user, source, text, turn, status, received_ms, quoted)
VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?)
"""
LINES = """
SELECT role, speaker, text, turn, message_id, at_ms, metadata FROM (
    SELECT * FROM transcript WHERE thread = ?1 AND (?2 IS NULL OR message_id = ?2) AND id >= coalesce(
        (SELECT line FROM inbox WHERE thread = ?1 AND message_id = ?2), 0)
    ORDER BY id DESC LIMIT ?3) ORDER BY id
"""
ADD_LINE = """
INSERT INTO transcript (thread, turn, message_id, role, speaker, text, at_ms, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
STATE = """
SELECT id, user, text, source, received_ms, line, status, quoted FROM inbox WHERE thread = ? AND message_id = ?
"""
CLOSE = "UPDATE inbox SET status = ?, turn = ?, line = ?, text = NULL, quoted = NULL WHERE id = ?"


def open_entries(database: sqlite3.Connection, thread: str) -> list[InboxEntry]:
    """Return the messages of a thread that were never closed, oldest first."""
    return [InboxEntry(*row) for row in database.execute(f"{ENTRIES} AND status = 'open' ORDER BY id", (thread,))]


def accept(database: sqlite3.Connection, entry: InboxEntry) -> InboxEntry:
    """Put a message into the inbox, if it is not there, and return it as stored."""
    names = entry.thread, entry.message_id, entry.user, entry.source
    row = database.execute(f"{ENTRIES} AND message_id = ?", names[:2]).fetchone()
    if row is None:
        entry = replace(entry, received_ms=now_ms())
        database.execute(ADD_ENTRY, (*names, entry.text, entry.turn, entry.received_ms, entry.quoted))
        return entry
    stored = InboxEntry(*row)
    if stored.text != entry.text:
        raise UsageError(f"Message {entry.message_id!r} was received before with another text; use a new id.")
    return stored


def close(database: sqlite3.Connection, entry: InboxEntry, lines: Sequence[TranscriptLine]) -> int:
    """Append the user's text and the lines that are not there yet, set status and turn; return the inbox's row."""
    place = clean(entry.thread), clean(entry.message_id)
    state = database.execute(STATE, place).fetchone()
    if state is None:
        raise UsageError(f"Message {entry.message_id!r} of thread {entry.thread!r} was never accepted.")
    row, user, text, source, received_ms, first, status, quoted = state
    written: Counter[tuple[str, str, str]] = Counter()
    if status != "open":
        written.update((line.role, line.speaker, line.text) for line in lines_of(database, *place, limit=-1))
    if text is not None:
        metadata = {"source": source, **({"quoted": json.loads(quoted)} if quoted else {})}
        heard = TranscriptLine("user", user, text, entry.turn, entry.message_id, received_ms, metadata)
        first = append(database, entry.thread, heard)
    for line in lines:
        key = line.role, line.speaker, line.text
        if not written[key]:
            append(database, entry.thread, line)
        else:
            written[key] -= 1
    database.execute(CLOSE, (entry.status, entry.turn, first, row))
    return int(row)


def tell(database: sqlite3.Connection, thread: str, line: TranscriptLine) -> TranscriptLine:
    """Append a line to the turn that was last, if it is not there."""
    if lines := lines_of(database, thread, line.message_id, limit=1):
        return lines[0]
    (turn,) = database.execute("SELECT coalesce(max(turn), 0) FROM transcript WHERE thread = ?", (thread,)).fetchone()
    line = replace(line, turn=turn)
    append(database, thread, line)
    return line


def lines_of(database: sqlite3.Connection, thread: str, message_id: str | None, limit: int) -> list[TranscriptLine]:
    """Return the last lines of a thread or of one message, oldest first; with a limit of -1 all."""
    rows = database.execute(LINES, (thread, message_id, limit)).fetchall()
    return [TranscriptLine(*[*row[:-1], json.loads(row[-1])]) for row in rows]


def append(database: sqlite3.Connection, thread: str, line: TranscriptLine) -> int | None:
    """Append a line and return its row id."""
    metadata = clean(json.dumps(line.metadata, ensure_ascii=False))
    values = thread, line.turn, line.message_id, line.role, line.speaker, line.text, line.at_ms, metadata
    return database.execute(ADD_LINE, values).lastrowid
