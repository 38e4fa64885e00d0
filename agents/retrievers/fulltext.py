"""Full-text search over cards: SQLite's FTS5 fed with stems (pairs of characters for CJK), scored by BM25."""

import sqlite3
from collections.abc import Iterable

from agents.lexical import stems


class FullText:
    """An index in memory of documents, numbered from zero, each of some texts."""

    def __init__(self, documents: Iterable[Iterable[str]]) -> None:
        # It is filled here and only read afterwards, by whatever thread ranks.
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            "CREATE VIRTUAL TABLE cards USING fts5(stems, tokenize = 'unicode61 remove_diacritics 0')"
        )
        rows = ((number, " ".join(_stems(" ".join(texts)))) for number, texts in enumerate(documents))
        self._database.executemany("INSERT INTO cards (rowid, stems) VALUES (?, ?)", rows)

    def scores(self, text: str) -> dict[int, float]:
        """Return the BM25 points of every document that shares a stem with the text, more being better."""
        wanted = " OR ".join(f'"{stem}"' for stem in dict.fromkeys(_stems(text)))
        if not wanted:
            return {}
        query = "SELECT rowid, -bm25(cards) FROM cards WHERE cards MATCH ?"
        return dict(self._database.execute(query, (wanted,)).fetchall())


def _stems(text: str) -> list[str]:
    # Latin letters are stemmed as English and Cyrillic ones as Russian, whatever the language of the text.
    return stems(text, "en")
