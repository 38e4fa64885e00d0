"""A full-text index in memory: SQLite's FTS5 over our own tokens, which know endings and CJK."""

import sqlite3
import weakref
from collections.abc import Iterable
from dataclasses import dataclass

from agents.language.text.stems import stems

TABLE = "CREATE VIRTUAL TABLE entries USING fts5 (title, body, detail = full, tokenize = 'ascii')"
SEARCH = "SELECT rowid, bm25(entries, ?, ?) AS distance FROM entries WHERE entries MATCH ? ORDER BY distance, rowid"
MOST_WORDS = 64  # The most different words of a query; a longer query is a text, not a question.


@dataclass(frozen=True)
class IndexEntry:
    """An entry of the index: `key` names it, title and body are searched."""

    key: str
    title: str
    body: str


@dataclass(frozen=True)
class IndexHit:
    """A found entry. `score` is comparable within one search; `words` are the query's stems in the entry."""

    key: str
    score: float
    words: frozenset[str]


class Index:
    """Search entries in one language. The stems in `ignored` do not count in a query."""

    def __init__(
        self,
        entries: Iterable[IndexEntry],
        lang: str,
        *,
        weights: tuple[float, float] = (2.0, 1.0),
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        self.lang, self._weights, self._ignored = lang, weights, ignored
        self._keys: list[str] = []
        self._stems: list[frozenset[str]] = []
        # The index may be built in one thread and searched in another; SQLite itself takes turns.
        self._database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        weakref.finalize(self, self._database.close)
        self._database.execute(TABLE)
        for number, entry in enumerate(entries, 1):
            title, body = stems(entry.title, lang), stems(entry.body, lang)
            texts = [" ".join(map(coded, part)) for part in (title, body)]
            self._database.execute("INSERT INTO entries (rowid, title, body) VALUES (?, ?, ?)", (number, *texts))
            self._keys.append(entry.key)
            self._stems.append(frozenset([*title, *body]))

    def stems_of(self, query: str) -> list[str]:
        """Return the stems of a query to search for, each once, in their order."""
        stems_once = dict.fromkeys(stem for stem in stems(query, self.lang) if stem not in self._ignored)
        return list(stems_once)[:MOST_WORDS]

    def search(self, query: str, limit: int = 5) -> list[IndexHit]:
        """Return the entries that share a word with the query, the best first; any text is a query."""
        stems_wanted = self.stems_of(query)
        if not stems_wanted:
            return []
        match = " OR ".join(f'"{coded(stem)}"' for stem in stems_wanted)
        rows = self._database.execute(f"{SEARCH} LIMIT ?", (*self._weights, match, limit))
        return [
            IndexHit(self._keys[row - 1], -distance, self._stems[row - 1].intersection(stems_wanted))
            for row, distance in rows.fetchall()
        ]


def coded(stem: str) -> str:
    """Return a token that FTS5 neither splits nor reads as syntax, for any word."""
    return stem.encode("utf-8", "replace").hex()
