"""Facts from conversations: a row for each fact or summary, and one for each end of a dialog or thread."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agents.language.text.fulltext import Index, IndexEntry
from agents.language.text.stems import spelt, stem, words
from agents.language.text.vocabulary import listening, small_words
from agents.memory.connection import Connection, Session, Tables
from agents.memory.inbox import now_ms, storable
from agents.toolkit.services import DialogEnd, LongTermMemory

TABLES = Tables(
    "recall",
    {
        "make_entries": """CREATE TABLE recall_entries (
        owner TEXT NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, user TEXT NOT NULL,
        thread TEXT NOT NULL, dialog TEXT NOT NULL, turn INTEGER NOT NULL, at_ms INTEGER NOT NULL, text TEXT NOT NULL,
        write_id INTEGER NOT NULL, PRIMARY KEY (owner, number), UNIQUE (owner, key));
        CREATE TABLE recall_ends (
        id INTEGER PRIMARY KEY, owner TEXT NOT NULL, thread TEXT NOT NULL, user TEXT NOT NULL, message TEXT NOT NULL,
        turn INTEGER NOT NULL, since INTEGER NOT NULL, lang TEXT NOT NULL, write_id INTEGER NOT NULL, due_ms INTEGER,
        tries INTEGER NOT NULL DEFAULT 0, UNIQUE (thread, user, message))""",
        "index_users": """CREATE INDEX recall_entries_user ON recall_entries (user);
        CREATE INDEX recall_ends_user ON recall_ends (user)""",
        "index_threads": "CREATE INDEX recall_entries_thread ON recall_entries (thread)",
    },
)
ITEMS, SUMMARY = "recall", "summary"
"""The name of entries in the undo log, and the kind of an entry from a model."""
MOST_ENTRIES, LONGEST_ENTRY, MOST_FOUND = 300, 500, 5
"""The most entries of an owner, of which the oldest go; characters of an entry; entries in a search result."""
# A used number is not given again, and a deleted entry is not kept anew: its row stays without a text.
PUT = """
INSERT INTO recall_entries (owner, number, key, kind, user, thread, dialog, turn, at_ms, text, write_id)
SELECT :owner, coalesce(max(number), 0) + 1, :key, :kind, :user, :thread, :dialog, :turn, :at_ms, :text, :write_id
FROM recall_entries WHERE owner = :owner
ON CONFLICT (owner, key) DO UPDATE SET text = excluded.text, thread = excluded.thread, turn = excluded.turn,
at_ms = excluded.at_ms, write_id = excluded.write_id, user = excluded.user WHERE excluded.write_id > :last
"""
LAST = """
SELECT coalesce(max(write_id), 0), coalesce(max(turn), 0) FROM recall_ends WHERE thread = :thread AND user = :user
"""
END = """
INSERT INTO recall_ends (owner, thread, user, message, turn, since, lang, write_id, due_ms)
VALUES (:owner, :thread, :user, :message, :turn, :since, :lang, :write_id, :due_ms) ON CONFLICT DO NOTHING
"""
OLD_ENDS = """
DELETE FROM recall_ends WHERE thread = :thread AND user = :user AND message <> :message AND due_ms IS NULL
"""
PRUNE = """
DELETE FROM recall_entries WHERE owner = :owner
AND number NOT IN (SELECT number FROM recall_entries WHERE owner = :owner ORDER BY number DESC LIMIT :most)
"""
ENTRIES = """
SELECT number, kind, dialog, thread, user, turn, at_ms, text, owner LIKE 'group %' FROM recall_entries
WHERE owner = ? AND text <> '' ORDER BY owner, number
"""
OF_FORM = """
DELETE FROM recall_entries WHERE user = :user AND (kind = 'summary' OR (kind = 'facts' AND :field = '')
OR (kind = 'form' AND dialog = :dialog AND (:field = '' OR key = 'form/' || :dialog || '/' || :field)))
"""


def owner_of(thread: str, user: str, *, is_shared: bool) -> str:
    """Return the owner of a place's memory: the user, or the group, whose further threads have "~" and a number."""
    return f"group {thread.partition('~')[0]}" if is_shared else f"user {user}"


class KeptEntry(NamedTuple):
    """A fact or a summary; its `kind` is "form", "facts", the kind of a tool's items, or "summary"."""

    number: int
    kind: str
    dialog: str
    thread: str
    user: str
    turn: int
    at_ms: int
    text: str
    is_of_group: bool


class DueSummary(NamedTuple):
    """An end without a summary: the summary will be that of the turns behind `since`."""

    id: int
    owner: str
    thread: str
    user: str
    turn: int
    since: int
    lang: str


class Recall(LongTermMemory):
    """Reads and writes entries; `sums_up`: each end waits for a summary."""

    def __init__(self, database: Connection, *, sums_up: bool) -> None:
        self._database, self._sums_up = database, sums_up

    async def keep(self, ending: DialogEnd) -> None:
        """See `LongTermMemory`; an entry from an earlier end is not kept again, even if it was deleted since."""
        owner = owner_of(ending.thread, ending.user, is_shared=ending.is_shared)
        place = {"owner": owner, "thread": storable(ending.thread), "user": storable(ending.user)}

        def keep(database: Session) -> None:
            undone = [(ending.user, write) for write in ending.undone]
            database.executemany("DELETE FROM recall_entries WHERE user = ? AND write_id = ?", undone)
            if not ending.is_over:
                return
            last, since = database.execute(LAST, place).fetchone()
            for fact in ending.facts:
                write = fact.write
                # A write to memory itself would repeat a deleted entry.
                if fact.kind != ITEMS and (fact.kind == "form" or write.id > last):
                    row = {"key": fact.key, "kind": fact.kind, "dialog": fact.dialog, "write_id": write.id}
                    row |= {"turn": write.turn or ending.turn, "at_ms": write.at_ms, "last": last}
                    _put(database, fact.text, {**row, **place})
            database.execute(PRUNE, {"owner": owner, "most": MOST_ENTRIES})
            newest = max([last, *(fact.write.id for fact in ending.facts)])
            due_ms = now_ms() if self._sums_up else None
            end = {"message": ending.message, "turn": ending.turn, "since": since, "lang": ending.lang}
            database.execute(END, {**place, **end, "write_id": newest, "due_ms": due_ms})
            database.execute(OLD_ENDS, {**place, "message": ending.message})

        await self._database.write(keep)

    async def of(self, owner: str) -> list[KeptEntry]:
        """Return the entries of an owner by number."""
        return [KeptEntry(*row) for row in await self._database.execute(ENTRIES, (owner,))]

    async def entries(self, user: str) -> list[Mapping[str, object]]:
        """See `LongTermMemory`."""
        return [
            KeptEntry(*row)._asdict()
            for row in await self._database.execute(ENTRIES, (owner_of("", user, is_shared=False),))
        ]

    async def search(self, owner: str, about: str, lang: str) -> list[KeptEntry]:
        """Return the entries that share most words with `about`, best first."""
        return await asyncio.to_thread(_search, await self.of(owner), about, lang)

    async def save(self, owner: str, texts: Mapping[int, str]) -> None:
        """Give entries other texts, by number; an empty one deletes the entry."""
        rows = [(storable(text)[:LONGEST_ENTRY], owner, number) for number, text in texts.items()]
        sql = "UPDATE recall_entries SET text = ? WHERE owner = ? AND number = ?"
        await self._database.write(lambda database: database.executemany(sql, rows).rowcount)

    async def clear(self, user: str) -> None:
        """See `LongTermMemory`."""
        owner = owner_of("", storable(user), is_shared=False)

        def clear(database: Session) -> None:
            database.execute("UPDATE recall_entries SET text = '' WHERE owner = ?", (owner,))
            database.execute(
                "UPDATE recall_ends SET due_ms = NULL WHERE user = ? AND owner = ?", (storable(user), owner)
            )

        await self._database.write(clear)

    async def erase(self, user: str, *, thread: str | None = None, dialog: str = "", field: str = "") -> None:
        """See `LongTermMemory`; summaries go with a form, since they may repeat it. No user: a thread's entries."""

        def erase(database: Session) -> None:
            if dialog:
                database.execute(OF_FORM, {"user": user, "dialog": dialog, "field": field})
                database.execute("UPDATE recall_ends SET due_ms = NULL WHERE user = ?", (user,))
                return
            # One statement for all cases could use no index.
            places = {**({"user": user} if user else {}), **({} if thread is None else {"thread": thread})}
            where = " AND ".join(f"{name} = :{name}" for name in places)
            for table in ("recall_entries", "recall_ends"):
                database.execute(f"DELETE FROM {table} WHERE {where}", places)

        if user or thread:
            await self._database.write(erase)

    async def claim(self, lease_ms: int, most: int) -> DueSummary | None:
        """Take an end that waits for its summary, for this process alone; each end `most` times."""
        sql = f"""UPDATE recall_ends SET tries = tries + 1, due_ms = ? WHERE id = (SELECT id FROM recall_ends
        WHERE due_ms <= ? AND tries < ? ORDER BY id LIMIT 1) RETURNING {", ".join(DueSummary._fields)}"""
        values = now_ms() + lease_ms, now_ms(), most
        rows = await self._database.write(lambda database: database.execute(sql, values).fetchall())
        return DueSummary(*rows[0]) if rows else None

    async def close(self, due: DueSummary, text: str) -> None:
        """Keep the summary of an end, unless the end was deleted meanwhile; an empty one is not kept."""
        row = {"key": f"summary/{due.id}", "kind": SUMMARY, "dialog": "", "turn": due.turn, "at_ms": now_ms()}
        place = {"owner": due.owner, "user": due.user, "thread": due.thread, "write_id": 0, "last": 0}

        def close(database: Session) -> None:
            sql = "UPDATE recall_ends SET due_ms = NULL WHERE id = ? AND due_ms IS NOT NULL"
            if database.execute(sql, (due.id,)).rowcount and text:
                _put(database, text, {**row, **place})

        await self._database.write(close)


def _put(database: Session, text: str, row: Mapping[str, object]) -> None:
    database.execute(PUT, {**row, "text": storable(" ".join(text.split()))[:LONGEST_ENTRY]})


def _search(entries: Sequence[KeptEntry], about: str, lang: str) -> list[KeptEntry]:
    lang = listening(about, lang)
    telling = " ".join(word for word in words(about) if stem(word, lang) not in small_words(lang))
    index = Index([IndexEntry(str(entry.number), "", entry.text) for entry in entries], lang)
    lexicon = {word for entry in entries for word in words(entry.text)}
    hits = index.search(telling, MOST_FOUND) or index.search(spelt(telling, lexicon), MOST_FOUND)
    most, numbered = max((len(hit.words) for hit in hits), default=0), {str(entry.number): entry for entry in entries}
    return [numbered[hit.key] for hit in hits if len(hit.words) == most]
