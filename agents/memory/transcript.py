"""The inbox and the transcript: users' messages and the lines that reached them, kept for good.

Functions that take a database run in the thread of a connection, inside a transaction that is begun and ended for them.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from agents.errors import UsageError
from agents.memory import gate_log, updates
from agents.memory.connection import Connection, Session, Work
from agents.memory.inbox import InboxEntry, Status, TranscriptLine, now_ms, storable
from agents.memory.serializer import deflated, inflated

# A message's text moves from the inbox to the transcript when the message is first closed; `line` names its row.
# So the text is on disk once, and `line` also says where the lines of the message begin.
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
FROM inbox WHERE thread = :thread
"""
ADD_ENTRY = """
INSERT INTO inbox (thread, message_id, user, source, text, turn, status, received_ms, quoted)
VALUES (:thread, :message_id, :user, :source, :text, :turn, 'open', :received_ms, :quoted)
"""
LINES = """
SELECT role, speaker, text, turn, message_id, at_ms, metadata, id FROM (
    SELECT * FROM transcript WHERE thread = :thread AND (:message_id IS NULL OR message_id = :message_id)
    AND id >= coalesce((SELECT line FROM inbox WHERE thread = :thread AND message_id = :message_id), 0) AND id > :after
    ORDER BY id DESC LIMIT :limit) AS newest ORDER BY id
"""
ADD_LINE = """
INSERT INTO transcript (thread, turn, message_id, role, speaker, text, at_ms, metadata)
VALUES (:thread, :turn, :message_id, :role, :speaker, :text, :at_ms, :metadata)
"""
STATE = """
SELECT id, user, text, source, received_ms, line, status, quoted FROM inbox WHERE thread = ? AND message_id = ?
"""
CLOSE = "UPDATE inbox SET status = :status, turn = :turn, line = :line, text = NULL, quoted = NULL WHERE id = :id"
RECORDED_TURNS = 300
"""The number of a thread's first turns whose record is kept."""
EXTEND = """
UPDATE inbox SET text = :text, source = :source, quoted = :quoted
WHERE thread = :thread AND message_id = :message_id AND status = 'open'
"""
TURNS = "SELECT message_id, turn FROM inbox WHERE thread = ? AND status <> 'open' ORDER BY turn, id"
WITHDRAW = "DELETE FROM inbox WHERE thread = ? AND message_id = ? AND status = 'open'"
# The expression keeps SQL from an index by thread, of which it would read all: it finds new lines by their ids.
LATEST = """
SELECT id, thread, at_ms FROM transcript WHERE id IN (SELECT max(id) FROM transcript
    WHERE id > coalesce(?, (SELECT max(id) FROM transcript) - 10000, 0) GROUP BY thread || '') ORDER BY id
"""
RECORDED = "SELECT record, packed FROM records WHERE letter = ?"
RECORD = """
INSERT INTO records (letter, record, packed) VALUES (?, '', ?)
ON CONFLICT (letter) DO UPDATE SET record = '', packed = excluded.packed
"""
RECORDS = """
SELECT inbox.message_id, coalesce(inbox.text, transcript.text), records.record, records.packed FROM inbox
LEFT JOIN records ON records.letter = inbox.id LEFT JOIN transcript ON transcript.id = inbox.line
WHERE inbox.thread = :thread AND (:message_id IS NULL OR inbox.message_id = :message_id)
ORDER BY inbox.turn = 0, inbox.turn, inbox.id
"""
ERASE = (
    "DELETE FROM gate_log WHERE letter IN (SELECT id FROM inbox WHERE thread = ?)",
    "DELETE FROM records WHERE letter IN (SELECT id FROM inbox WHERE thread = ?)",
    "DELETE FROM inbox WHERE thread = ?",
    "DELETE FROM transcript WHERE thread = ?",
)
PART = "SELECT id FROM inbox WHERE thread = :thread AND user = :user"
ERASE_PART = (
    f"DELETE FROM gate_log WHERE letter IN ({PART})",
    f"DELETE FROM records WHERE letter IN ({PART})",
    """DELETE FROM transcript WHERE thread = :thread AND (json_extract(metadata, :note) = :user
    OR message_id IN (SELECT message_id FROM inbox WHERE thread = :thread AND user = :user))""",
    "DELETE FROM inbox WHERE thread = :thread AND user = :user",
)


def _open_entries(database: Session, thread: str) -> list[InboxEntry]:
    rows = database.execute(f"{ENTRIES} AND status = 'open' ORDER BY id", {"thread": thread})
    return [InboxEntry(*row) for row in rows]


def _accept(database: Session, entry: InboxEntry) -> InboxEntry:
    values = {**asdict(entry), "received_ms": now_ms()}
    if database.execute(f"{ADD_ENTRY} ON CONFLICT (thread, message_id) DO NOTHING", values).rowcount > 0:
        return entry
    stored = InboxEntry(*database.execute(f"{ENTRIES} AND message_id = :message_id", values).fetchone())
    if stored.text != entry.text:
        raise UsageError(f"Message {entry.message_id!r} was received before with another text; use a new id.")
    return stored


def _close(database: Session, entry: InboxEntry, lines: Sequence[TranscriptLine]) -> tuple[int, bool]:
    """Append the missing lines, set status and turn; return the row of the inbox, and whether it was open."""
    place = storable(entry.thread), storable(entry.message_id)
    state = database.execute(STATE, place).fetchone()
    if state is None:
        raise UsageError(f"Message {entry.message_id!r} of thread {entry.thread!r} was never accepted.")
    row, user, text, source, received_ms, first, status, quoted = state
    written: Counter[tuple[str, str, str]] = Counter()
    if status != "open":
        written.update((line.role, line.speaker, line.text) for line in last_lines(database, *place))
    if text is not None:
        metadata = {"source": source, **({"quoted": json.loads(quoted)} if quoted else {})}
        heard = TranscriptLine("user", user, text, entry.turn, entry.message_id, received_ms, metadata)
        first = _append(database, entry.thread, heard)
    for line in lines:
        key = line.role, line.speaker, line.text
        if not written[key]:
            database.execute(ADD_LINE, _values(entry.thread, line))
        else:
            written[key] -= 1
    database.execute(CLOSE, {"status": entry.status, "turn": entry.turn, "line": first, "id": row})
    return int(row), status == "open"


def _record(database: Session, letter: int, record: str, *, is_first: bool) -> None:
    """Add a line to the record of a message: a message that was tried again has a line for each try."""
    earlier = None if is_first else database.execute(RECORDED, (letter,)).fetchone()
    lines = [_unpacked(*earlier), record] if earlier else [record]
    database.execute(RECORD, (letter, deflated("\n".join(filter(None, lines)).encode())))


def _unpacked(record: str | None, packed: bytes | None) -> str | None:
    # Older files have the text itself.
    return inflated(packed).decode() if packed else record


def append_told(database: Session, thread: str, line: TranscriptLine) -> TranscriptLine:
    """Append an unasked line to the last turn and return it; do nothing if its id exists."""
    if lines := last_lines(database, thread, line.message_id, limit=1):
        return lines[0]
    (turn,) = database.execute("SELECT coalesce(max(turn), 0) FROM transcript WHERE thread = ?", (thread,)).fetchone()
    line = replace(line, turn=turn)
    return replace(line, row=_append(database, thread, line))


def last_lines(
    database: Session, thread: str, message_id: str | None, limit: int = sys.maxsize, after: int = 0
) -> list[TranscriptLine]:
    """Return the last lines of a thread or of one message behind a row, oldest first."""
    values = {"thread": thread, "message_id": message_id, "limit": limit, "after": after}
    rows = database.execute(LINES, values).fetchall()
    return [TranscriptLine(*[*row[:6], json.loads(row[6]), row[7]]) for row in rows]


def _append(database: Session, thread: str, line: TranscriptLine) -> int:
    (row,) = database.execute(f"{ADD_LINE} RETURNING id", _values(thread, line)).fetchone()
    return int(row)


def _values(thread: str, line: TranscriptLine) -> Mapping[str, object]:
    metadata = storable(json.dumps(line.metadata, ensure_ascii=False))
    return {**asdict(line), "thread": thread, "metadata": metadata}


Answered = tuple[InboxEntry | None, Sequence[TranscriptLine]]
"""A message with its answers; None for lines that nobody had asked for."""


class Transcript:
    """Keep inbox and transcript in SQLite; a write survives a power cut once its method has returned."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def accept(self, entry: InboxEntry, update_ids: Sequence[int] = ()) -> InboxEntry:
        """Put a message into the inbox and return it as stored; do nothing when it is there already.

        The messenger's updates that make it up are closed with it. Raises UsageError when the id was used for
        another text, or a name is unfit for storage.
        """
        entry = _checked(entry)

        def accept(database: Session) -> InboxEntry:
            stored = _accept(database, entry)
            if stored.status in ("open", "failed"):
                updates.link(database, stored.thread, stored.message_id, update_ids)
            return stored

        return await self._connection.write(accept)

    async def extend(self, entry: InboxEntry, update_ids: Sequence[int] = ()) -> bool:
        """Give an open message of the inbox another text, source and quotation; return False if it is not open.

        The messenger's updates that were added to it are closed with it.
        """
        entry = _checked(entry)

        def extend(database: Session) -> bool:
            is_open = database.execute(EXTEND, asdict(entry)).rowcount > 0
            if is_open:
                updates.link(database, entry.thread, entry.message_id, update_ids)
            return is_open

        return await self._connection.write(extend)

    async def withdraw(self, thread: str, message_id: str) -> None:
        """Remove an open message that will not be answered from the inbox, and close its updates."""

        def withdraw(database: Session) -> None:
            place = storable(thread), storable(message_id)
            if database.execute(WITHDRAW, place).rowcount:
                updates.close_with(database, *place)

        await self._connection.write(withdraw)

    async def accept_in_order(self, entry: InboxEntry) -> list[InboxEntry]:
        """Do what `accept` does; return the open messages that came before this one, oldest first, and then it."""
        entry = _checked(entry)

        def accept(database: Session) -> list[InboxEntry]:
            stored = _accept(database, entry)
            waiting = _open_entries(database, entry.thread)
            return waiting[: waiting.index(stored) + 1] if stored in waiting else [stored]

        return await self._connection.write(accept)

    async def entry(self, thread: str, message_id: str) -> InboxEntry | None:
        """Return a message of the inbox."""
        place = {"thread": storable(thread), "message_id": storable(message_id)}
        return await self._entry("AND message_id = :message_id", place)

    async def last(self, thread: str, user: str | None = None) -> InboxEntry | None:
        """Return the message of the thread, or of one user in it, that was received last."""
        if user is None:
            return await self._entry("ORDER BY id DESC LIMIT 1", {"thread": storable(thread)})
        place = {"thread": storable(thread), "user": storable(user)}
        return await self._entry("AND user = :user ORDER BY id DESC LIMIT 1", place)

    async def open_entries(self, thread: str) -> list[InboxEntry]:
        """Return the messages of the thread that are still open, oldest first."""
        return await self._connection.read(lambda database: _open_entries(database, storable(thread)))

    async def close(
        self,
        entry: InboxEntry,
        status: Status,
        turn: int,
        lines: Sequence[TranscriptLine],
        record: str | None = None,
        guess: gate_log.GateOutcome | None = None,
        beside: Sequence[Work[object]] = (),
    ) -> None:
        """Append the user's text and then `lines`, as far as they are missing, and set the outcome.

        The same transaction stores the record (one line) of one of the first turns, the outcome of the gate's guess,
        and the work `beside`: the state, the deletion to which the user has agreed. The message's updates stay open
        until a door has shown the outcome (`Updates.settle`). `lines` count as written for this message and turn.

        Raises:
            UsageError: the message was never accepted.
        """
        lines = [replace(line, text=storable(line.text), turn=turn, message_id=entry.message_id) for line in lines]

        def close(database: Session) -> None:
            row, is_first = _close(database, replace(entry, status=status, turn=turn), lines)
            if record is not None and turn <= RECORDED_TURNS:
                _record(database, row, storable(record), is_first=is_first)
            if guess is not None:
                gate_log.log(database, entry.thread, row, guess)
            for work in beside:
                work(database)

        await self._connection.write(close)

    async def tell(self, thread: str, line: TranscriptLine) -> TranscriptLine:
        """Append an unasked line to the last turn and return it; do nothing if its id exists."""
        line = replace(line, text=storable(line.text), message_id=storable(line.message_id))
        return await self._connection.write(lambda database: append_told(database, storable(thread), line))

    async def restore(self, thread: str, messages: Sequence[Answered], *, adds: bool = False) -> bool:
        """Store a thread that was answered elsewhere, all of it or nothing; False if there is such a thread.

        With `adds` the thread may exist; the messages go behind its own.

        Raises UsageError when a name is unfit for storage.
        """
        rows = [(entry and replace(_checked(entry), status="done"), _storable(lines)) for entry, lines in messages]

        def restore(database: Session) -> bool:
            is_there = database.execute("SELECT 1 FROM inbox WHERE thread = ?", (thread,)).fetchone()
            if not adds and (is_there or last_lines(database, thread, None, limit=1)):
                return False
            for entry, lines in rows:
                if entry:
                    database.execute(ADD_ENTRY, asdict(entry))
                    _close(database, entry, lines)
                else:
                    for line in lines:
                        _append(database, thread, line)
            return True

        return await self._connection.write(restore)

    async def take_back(self, thread: str, message_id: str) -> None:
        """Delete a line of `tell` that did not reach the user."""
        place = storable(thread), storable(message_id)
        await self._connection.execute("DELETE FROM transcript WHERE thread = ? AND message_id = ?", place)

    async def latest(self, after: int | None) -> list[tuple[int, str, int]]:
        """Return row, thread and time (Unix ms) of the last line of each thread, oldest first.

        Only lines after the row `after` count; without it the last 10,000.
        """
        return [(row, thread, at_ms) for row, thread, at_ms in await self._connection.execute(LATEST, (after,))]

    async def lines(
        self, thread: str, *, message_id: str | None = None, limit: int | None = None, after: int = 0
    ) -> list[TranscriptLine]:
        """Return the lines of a thread or of one message behind a row, oldest first; with `limit` only the last."""
        message = None if message_id is None else storable(message_id)
        most = sys.maxsize if limit is None else limit
        return await self._connection.read(
            lambda database: last_lines(database, storable(thread), message, most, after)
        )

    async def records(self, thread: str, message_id: str | None = None) -> list[tuple[str, str | None, str | None]]:
        """Return id, text and record of a thread's messages, or of one; the record has a line for each try."""
        rows = await self._connection.execute(RECORDS, {"thread": storable(thread), "message_id": message_id})
        return [(id, text, _unpacked(*record)) for id, text, *record in rows]

    async def guesses(self, model: str) -> list[gate_log.Logged]:
        """Return the gate's guesses with these weights, and their outcomes, oldest first."""
        return await self._connection.read(lambda database: gate_log.logged(database, model))

    async def turns(self, thread: str) -> list[tuple[str, int]]:
        """Return the messages of a thread whose turn has ended, with the numbers of the turns, in their order."""
        return [(id, turn) for id, turn in await self._connection.execute(TURNS, (storable(thread),))]

    async def users_of(self, thread: str) -> set[str]:
        """Return the users who wrote in a thread."""
        sql = "SELECT DISTINCT user FROM inbox WHERE thread = ?"
        return {user for (user,) in await self._connection.execute(sql, (storable(thread),))}

    async def threads_of(self, user: str) -> set[str]:
        """Return the threads in which a user wrote."""
        sql = "SELECT DISTINCT thread FROM inbox WHERE user = ?"
        return {thread for (thread,) in await self._connection.execute(sql, (storable(user),))}

    async def erase(self, thread: str) -> None:
        """Delete inbox and transcript of the thread."""

        def delete(database: Session) -> None:
            for sql in ERASE:
                database.execute(sql, (storable(thread),))

        await self._connection.write(delete)

    async def erase_part(self, thread: str, user: str, note: str) -> bool:
        """Delete a user's words in a thread and the answers to them, inbox included; False if there were none.

        `note` is the metadata key under which a line names its user.
        """

        def delete(database: Session) -> int:
            values = {"thread": storable(thread), "user": storable(user), "note": f"$.{note}"}
            return sum(database.execute(sql, values).rowcount for sql in ERASE_PART)

        return await self._connection.write(delete) > 0

    async def _entry(self, rest: str, values: Mapping[str, str]) -> InboxEntry | None:
        rows = await self._connection.execute(ENTRIES + rest, values)
        return InboxEntry(*rows[0]) if rows else None


def _storable(lines: Sequence[TranscriptLine]) -> list[TranscriptLine]:
    return [
        replace(line, speaker=storable(line.speaker), text=storable(line.text), message_id=storable(line.message_id))
        for line in lines
    ]


def _checked(entry: InboxEntry) -> InboxEntry:
    names = entry.thread, entry.message_id, entry.user, entry.source
    if any(storable(name) != name for name in names):
        raise UsageError("Thread, message id, user and source must not contain NUL or lone surrogates.")
    quoted = None if entry.quoted is None else storable(entry.quoted)
    return replace(entry, text=None if entry.text is None else storable(entry.text), quoted=quoted, status="open")
