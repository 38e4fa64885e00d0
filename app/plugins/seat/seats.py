"""The seats in the database: calls, take-overs, the person's messages on their way to the doors, and late messages.

A step is one transaction, with its lines of the transcript, while its thread is held.
"""

import uuid
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from agents.errors import UsageError
from agents.memory import Memory
from agents.memory.connection import Session, Tables, Work
from agents.memory.inbox import PERSON, TO, UNASKED, TranscriptLine, storable
from agents.memory.notices import Due, NoticeSource
from agents.memory.transcript import append_told
from agents.state import SUPERVISOR
from agents.state.person import Origin, Quoted
from agents.toolkit.services import Takeover
from app.plugins.seat.place import Caller, Operator, Seat
from prompts import sentence

if TYPE_CHECKING:
    from app.assistant import Assistant

TABLES = Tables(
    "seat",
    {
        "make_seats": """CREATE TABLE seats (
        thread TEXT PRIMARY KEY, user TEXT NOT NULL, lang TEXT NOT NULL, caller TEXT, reason TEXT NOT NULL,
        since_ms INTEGER NOT NULL, holder TEXT NOT NULL, waits_ms INTEGER, reminded_ms INTEGER,
        holder_id TEXT NOT NULL);
        CREATE TABLE seat_words (
        number INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, id TEXT NOT NULL, user TEXT NOT NULL,
        at_ms INTEGER NOT NULL, UNIQUE (thread, id));
        CREATE TABLE seat_notes (
        id INTEGER PRIMARY KEY, thread TEXT NOT NULL, user TEXT NOT NULL, holder TEXT NOT NULL, text TEXT NOT NULL,
        message TEXT);
        CREATE TABLE seat_posts (
        chat INTEGER NOT NULL, message INTEGER NOT NULL, thread TEXT NOT NULL, user TEXT NOT NULL,
        PRIMARY KEY (chat, message)) WITHOUT ROWID;
        CREATE TABLE seat_watches (
        chat INTEGER NOT NULL, thread TEXT NOT NULL, user TEXT NOT NULL, since_ms INTEGER NOT NULL,
        holder TEXT NOT NULL, seen INTEGER NOT NULL, PRIMARY KEY (chat, thread)) WITHOUT ROWID""",
        "index_posts": """CREATE INDEX seat_posts_thread ON seat_posts (thread);
        CREATE INDEX seat_posts_user ON seat_posts (user)""",
    },
)
COLUMNS = ", ".join(Seat._fields)
SEATS = f"SELECT {COLUMNS} FROM seats"
ADD = f"INSERT INTO seats ({COLUMNS}) VALUES ({', '.join(f':{name}' for name in Seat._fields)}) ON CONFLICT DO NOTHING"
HOLD = "UPDATE seats SET holder = :name, holder_id = :id WHERE thread = :thread"
WAITS = "UPDATE seats SET waits_ms = coalesce(waits_ms, ?) WHERE thread = ?"
ANSWERED = "UPDATE seats SET waits_ms = NULL, reminded_ms = NULL WHERE thread = ?"
REMIND = "UPDATE seats SET reminded_ms = ? WHERE thread = ? AND reminded_ms IS NULL"
RENAME = "UPDATE seats SET holder = :name, holder_id = :id WHERE holder_id = :before"
LEAVE = "DELETE FROM seats WHERE thread = ?"
WITHDRAW = "DELETE FROM seats WHERE thread = ? AND holder = '' RETURNING thread"
QUEUE = "INSERT INTO seat_words (thread, id, user, at_ms) VALUES (:thread, :id, :user, :at_ms) ON CONFLICT DO NOTHING"
FORGET_OLD = "DELETE FROM seat_words WHERE at_ms < ?"
IS_SAID = "SELECT 1 FROM transcript WHERE thread = ? AND message_id = ?"
SHOWN = "DELETE FROM seat_words WHERE thread = ? AND id = ?"
IN_PLACE = "(:user IS NULL OR user = :user) AND glob(:threads, thread)"
DUE = f"SELECT thread, id, user, at_ms FROM seat_words WHERE at_ms <= :until_ms AND {IN_PLACE} ORDER BY number"
# A message becomes late twice: first the user gets a notice that it waits, then the person's part ends.
LATE = f"""
SELECT thread, user, late_ms FROM (
    SELECT thread, user, CASE WHEN holder = '' THEN since_ms + :wait
        WHEN reminded_ms IS NULL THEN waits_ms + :remind ELSE waits_ms + :away END AS late_ms FROM seats) AS seats
WHERE late_ms <= :until_ms AND {IN_PLACE} ORDER BY late_ms
"""
MET = """
SELECT coalesce((SELECT holder FROM seats WHERE thread = :thread), ''),
(SELECT count(*) FROM seat_notes WHERE thread = :thread)
"""
NOTE = "INSERT INTO seat_notes (thread, user, holder, text) VALUES (:thread, :user, :holder, :text)"
HEARD = """
UPDATE seat_notes SET message = :message WHERE thread = :thread AND coalesce(message, :message) = :message
RETURNING holder, text
"""
FORGET_HEARD = "DELETE FROM seat_notes WHERE thread = :thread AND message <> :message"
ERASE = ("seats", "seat_words", "seat_notes", "seat_posts", "seat_watches")
KEPT_MS = 30 * 24 * 3600 * 1000
"""The time for which messages wait for a door that shows them; the transcript has them for good."""
NEVER_MS = 1 << 60
ORIGIN = Origin.OPERATOR.value
LONGEST_NOTE, LONGEST_REASON, LONGEST_NAME = 4_000, 500, 60
"""The most characters of a note, of the reason of a call, and of a person's name."""

Outcome = TypeVar("Outcome")


class Seats(NoticeSource, Takeover):
    """Keeps the holders of threads, and passes a person's messages on to the doors.

    `wait`: seconds after which the user of a waiting call or message gets a notice; 0: nobody can be called.
    `away`: seconds of an unanswered message that end the person's part; 0: it never ends that way.
    """

    is_stored = True

    def __init__(self, memory: Memory, *, wait: int = 0, away: int = 0) -> None:
        super().__init__(memory.now)
        self.wait, self.away = wait, away
        self._memory = memory
        self.moved = LateCalls(self)
        """The late calls and messages; a source of the clock beside this one."""

    async def of(self, thread: str) -> Seat | None:
        """Return the seat of a thread; None if the assistant has it and nobody was called."""
        rows = await self._memory.database.execute(f"{SEATS} WHERE thread = ?", (storable(thread),))
        return Seat(*rows[0]) if rows else None

    async def all(self) -> list[Seat]:
        """Return every seat, the one that has waited longest first."""
        rows = await self._memory.database.execute(f"{SEATS} ORDER BY coalesce(waits_ms, since_ms), thread")
        return [Seat(*row) for row in rows]

    async def call(self, thread: str, user: str, lang: str, caller: Caller, reason: str = "") -> Seat:
        """Call a person to a thread, once until somebody comes; return its seat, which a person may hold already."""
        reason = storable(reason)[:LONGEST_REASON]
        new = Seat(storable(thread), storable(user), lang, caller, reason, since_ms=self.now_ms())
        seat = await self._memory.database.write(lambda database: _added(database, new))
        self._tell_clocks()
        return seat

    async def holder(self, thread: str) -> str:
        """See `Takeover`."""
        seat = await self.of(thread)
        return seat.holder if seat else ""

    async def met(self, thread: str) -> tuple[str, int]:
        """Return the holder of a thread, empty for the assistant, and the number of waiting notes."""
        [(holder, notes)] = await self._memory.database.execute(MET, {"thread": storable(thread)})
        return holder, notes

    async def observe(self, thread: str, user: str, lang: str, reason: str) -> None:
        """Call a person for an observer, where people can be called and there is no call yet."""
        if self.wait and await self.of(thread) is None:
            await self.call(thread, user, lang, "observer", reason)

    async def called_since(self, thread: str, at_ms: int) -> str:
        """Return the notice to the user on an observer's call since then; empty if there is none."""
        seat = await self.of(thread)
        is_new = seat is not None and seat.caller == "observer" and not seat.holder and seat.since_ms >= at_ms
        return sentence("seat/phrases", "called", seat.lang) if seat and is_new else ""

    async def take(self, thread: str, operator: Operator, lang: str, *, force: bool = False) -> Seat:
        """Let a person hold a thread from now on, with a notice to the user; waits for the running turn.

        Raises:
            UsageError: nobody has written there, or somebody else holds it, unless it is forced.
        """
        operator = named(operator)
        last = await self._memory.transcript.last(thread)
        if last is None:
            raise UsageError(f"Nobody has written in the thread {thread!r}.")

        def take(database: Session) -> Seat:
            new = Seat(storable(thread), last.user, lang, caller=None, reason="", since_ms=self.now_ms())
            seat = _added(database, new)
            if seat.holder_id == operator.id:
                return seat
            if seat.holder and not force:
                raise UsageError(f"{seat.holder} holds the thread {thread!r}; force it to take it over.")
            database.execute(HOLD, {**operator._asdict(), "thread": new.thread})
            self._tell(database, seat, sentence("seat/phrases", "taken", seat.lang, name=operator.name))
            return seat._replace(holder=operator.name, holder_id=operator.id)

        return await self._step(thread, take)

    async def say(self, thread: str, operator: Operator, text: str, id: str) -> TranscriptLine:
        """Say something to the user, once per `id`, and return the line of the transcript; waits for the running turn.

        Raises:
            UsageError: another person or nobody holds the thread, or the id was used for another text.
        """
        operator, text = named(operator), storable(text).strip()
        line_id = f"person-{storable(id)}"
        if not text:
            raise UsageError("Write something.")

        def say(database: Session) -> TranscriptLine:
            seat, place = _seat(database, thread), (storable(thread), line_id)
            if not database.execute(IS_SAID, place).fetchone():
                if seat is None or seat.holder_id != operator.id:
                    raise UsageError(_nobody(thread, seat))
                database.execute(ANSWERED, place[:1])
                word = {"thread": place[0], "id": line_id, "user": seat.user, "at_ms": self.now_ms()}
                database.execute(QUEUE, word)
            line = self._line(text, line_id, seat, speaker=operator.name, source=PERSON)
            stored = append_told(database, place[0], line)
            if (stored.text, stored.speaker) != (text, operator.name):
                raise UsageError(f"The id {id!r} was used before with another text; use a new one.")
            return stored

        return await self._step(thread, say)

    async def hand_back(self, thread: str, operator: Operator, note: str = "") -> Seat:
        """Hand a thread back to the assistant, with a notice to the user; it reads the note in its next turn.

        Raises:
            UsageError: another person or nobody holds the thread.
        """
        operator, note = named(operator), storable(note).strip()[:LONGEST_NOTE]

        def hand_back(database: Session) -> Seat:
            seat = _seat(database, thread)
            if seat is None or not seat.holder or seat.holder_id != operator.id:
                raise UsageError(_nobody(thread, seat))
            if note:
                values = {"thread": seat.thread, "user": seat.user, "holder": operator.name, "text": note}
                database.execute(NOTE, values)
            self._end(database, seat, "back")
            return seat

        return await self._step(thread, hand_back)

    async def rename(self, before: Operator, after: Operator) -> None:
        """Give a person another name from now on; their threads stay theirs."""
        await self._memory.database.execute(RENAME, {**named(after)._asdict(), "before": storable(before.id)})
        self._tell_clocks()

    async def withdraw(self, thread: str) -> bool:
        """Take a call back; False if none waits."""
        return bool(await self._memory.database.execute(WITHDRAW, (storable(thread),)))

    async def leave(self, thread: str) -> bool:
        """End a person's part on the user's wish, with a notice; False if no person holds the thread."""

        def leave(database: Session) -> bool:
            seat = _seat(database, thread)
            if seat and seat.holder:
                self._end(database, seat, "back")
            return bool(seat and seat.holder)

        return await self._step(thread, leave)

    async def note_waiting(self, thread: str) -> None:
        """Note that a message of the user waits for the person who holds the thread."""
        await self._memory.database.execute(WAITS, (self.now_ms(), storable(thread)))
        self._tell_clocks()

    async def notes_for(self, thread: str, message: str) -> list[Quoted]:
        """Return the notes that the assistant reads for the first time with this message of the user.

        The same message gets the same notes again until another one is heard.
        """

        values = {"thread": storable(thread), "message": storable(message)}

        def read(database: Session) -> list[tuple[str, str]]:
            database.execute(FORGET_HEARD, values)
            return database.execute(HEARD, values).fetchall()

        rows = await self._memory.database.write(read)
        # The state holds plain data only, and this is the stored form of a quotation.
        return [cast(Quoted, {"kind": "handed_back", "by": by, "text": text, "origin": ORIGIN}) for by, text in rows]

    async def erase(self, thread: str, users: Collection[str]) -> None:
        """Delete the seats, words and notes of a thread, and all those of the users."""
        for table in ERASE:
            await self._memory.database.execute(f"DELETE FROM {table} WHERE thread = ?", (storable(thread),))
            for user in users:
                await self._memory.database.execute(f"DELETE FROM {table} WHERE user = ?", (user,))

    async def erase_part(self, thread: str, user: str) -> None:
        """Delete one user's seats, words and notes in a thread of several."""
        for table in ERASE:
            place = storable(thread), storable(user)
            await self._memory.database.execute(f"DELETE FROM {table} WHERE thread = ? AND user = ?", place)

    async def due(self, until_ms: int, user: str | None, threads: str) -> Sequence[Due]:
        """Return the messages that no door has shown yet, in their order."""
        rows = await self._memory.database.execute(DUE, {"until_ms": until_ms, "user": user, "threads": threads})
        return [Due(id, id, owner, thread, at_ms) for thread, id, owner, at_ms in rows]

    async def text_of(self, due: Due, *, is_late: bool) -> str | None:
        """Return the text of a message for a chat, with its author's name; None if it was forgotten."""
        lines = await self._memory.transcript.lines(due.thread, message_id=due.key, limit=1)
        if not lines:
            await self.rang(due)
            return None
        [line] = lines
        return line.text if line.speaker == SUPERVISOR else f"{line.speaker}: {line.text}"

    async def rang(self, due: Due) -> None:
        """Note that the message was shown."""
        await self._memory.database.execute(SHOWN, (storable(due.thread), due.key))

    async def unshown(self, thread: str) -> list[str]:
        """Return the unshown messages of a thread, for a door that can only answer; they count as shown."""
        waiting = [due for due in await self.due(self.now_ms(), None, "*") if due.thread == thread]
        texts = [await self.text_of(due, is_late=False) for due in waiting]
        for due in waiting:
            await self.rang(due)
        return [text for text in texts if text]

    async def late(self, until_ms: int, user: str | None, threads: str) -> Sequence[Due]:
        """Return the threads in which a call or message will be late by then, earliest first."""
        wait, away = self._ms(self.wait), self._ms(self.away)
        place = {"until_ms": until_ms, "user": user, "threads": threads}
        values = {**place, "wait": wait, "remind": min(wait, away), "away": away}
        rows = await self._memory.database.execute(LATE, values)
        return [Due(f"late-{thread}", "", owner, thread, late_ms) for thread, owner, late_ms in rows]

    async def end_late(self, thread: str) -> None:
        """Send the notice that nobody came, or that a message waits; let the assistant go on if need be.

        The caller holds the thread.
        """

        def end(database: Session) -> None:
            seat, now_ms = _seat(database, thread), self.now_ms()
            if seat is None:
                return
            since_ms = seat.waits_ms if seat.holder else seat.since_ms
            waited_ms = 0 if since_ms is None else now_ms - since_ms
            if not seat.holder and waited_ms >= self._ms(self.wait):
                self._end(database, seat, "nobody")
            elif seat.holder and waited_ms >= self._ms(self.away):
                self._end(database, seat, "away")
            elif waited_ms >= self._ms(self.wait) and database.execute(REMIND, (now_ms, seat.thread)).rowcount:
                self._tell(database, seat, sentence("seat/phrases", "waits", seat.lang, name=seat.holder))

        await self._memory.database.write(end)
        self._tell_clocks()

    async def _step(self, thread: str, work: Work[Outcome]) -> Outcome:
        async with self._memory.locks.hold(thread):
            outcome = await self._memory.database.write(work)
        self._tell_clocks()
        return outcome

    def _end(self, database: Session, seat: Seat, reason: str) -> None:
        database.execute(LEAVE, (seat.thread,))
        self._tell(database, seat, sentence("seat/phrases", reason, seat.lang, name=seat.holder))

    def _tell(self, database: Session, seat: Seat, text: str) -> None:
        """Send the user a sentence of our own."""
        line = self._line(text, f"seat-{uuid.uuid4().hex}", seat)
        append_told(database, seat.thread, line)
        database.execute(FORGET_OLD, (line.at_ms - KEPT_MS,))
        word = {"thread": seat.thread, "id": line.message_id, "user": seat.user, "at_ms": line.at_ms}
        database.execute(QUEUE, word)

    def _line(
        self, text: str, id: str, seat: Seat | None, *, speaker: str = SUPERVISOR, source: str = UNASKED
    ) -> TranscriptLine:
        to = {TO: seat.user} if seat and seat.user != seat.thread else {}
        return TranscriptLine("assistant", speaker, text, 0, id, self.now_ms(), {"source": source, **to})

    def _tell_clocks(self) -> None:
        self.changed.set()
        self.moved.changed.set()

    def _ms(self, seconds: int) -> int:
        return seconds * 1000 or NEVER_MS


async def take_seat(assistant: "Assistant", thread: str, operator: Operator, *, force: bool = False) -> Seat:
    """Let a person hold a thread; a running answer of this process is stopped first. See `Seats.take`.

    Raises:
        UsageError: nobody has written there, or somebody else holds it, unless it is forced.
    """
    seats = assistant.services.get(Seats)
    if not await seats.holder(thread):
        await assistant.stop(thread)
    lang = (await assistant.state(thread) or {}).get("lang") or assistant.lang
    return await seats.take(thread, operator, lang, force=force)


class LateCalls(NoticeSource):
    """Lets the clock end late calls and messages; the notices on them are messages of `Seats`."""

    is_silent = True

    def __init__(self, seats: Seats) -> None:
        super().__init__(seats.now)
        self._seats = seats

    async def due(self, until_ms: int, user: str | None, threads: str) -> Sequence[Due]:
        """Return the threads in which a call or message will be late by then."""
        return await self._seats.late(until_ms, user, threads)

    async def text_of(self, due: Due, *, is_late: bool) -> str | None:
        """End the wait in the thread; there is nothing to deliver."""
        await self._seats.end_late(due.thread)
        return None

    async def rang(self, due: Due) -> None:
        """Do nothing: an ended wait needs no mark."""


def named(operator: Operator) -> Operator:
    """Return a person with the name for users. Raises UsageError if it is empty."""
    name = " ".join(storable(operator.name).split())[:LONGEST_NAME]
    if not name or name == SUPERVISOR:
        raise UsageError("A person needs a name of their own.")
    return Operator(name, storable(operator.id))


def _seat(database: Session, thread: str) -> Seat | None:
    row = database.execute(f"{SEATS} WHERE thread = ?", (storable(thread),)).fetchone()
    return Seat(*row) if row else None


def _added(database: Session, new: Seat) -> Seat:
    """Return the seat of a thread, the new one if there was none."""
    database.execute(ADD, new._asdict())
    return Seat(*database.execute(f"{SEATS} WHERE thread = ?", (new.thread,)).fetchone())


def _nobody(thread: str, seat: Seat | None) -> str:
    who = seat.holder if seat and seat.holder else "the assistant"
    return f"{who} holds the thread {thread!r}; take it over first."
