"""The full-text index of one's own documents: a SQLite file beside the database, which can be deleted and made anew."""

import hashlib
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agents.language.text.fulltext import MOST_WORDS, coded
from agents.language.text.stems import stems
from agents.language.text.vocabulary import small_words
from agents.sources.documents import Section
from agents.sources.documents.markdown import passages
from prompts import FALLBACK

LONGEST_PASSAGE = 2_000
"""Characters of a passage."""
TITLE_WEIGHT = 2.0
"""The weight of a word in a title, where one in the text has 1."""
PASSAGES_PER_SECTION = 4
"""Passages that are looked at for each section that is wanted: the best of one section counts."""
TABLES = """
CREATE TABLE IF NOT EXISTS folders (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, url TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL, UNIQUE (folder, path));
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, title TEXT NOT NULL, anchor TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS passages_of_file ON passages (file);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, body, tokenize = 'ascii');
"""
SEARCH = """
SELECT passages.title, passages.anchor, passages.text, files.path, folders.url
FROM (
    SELECT rowid, bm25(words, ?, 1.0) AS distance FROM words WHERE words MATCH ? ORDER BY distance, rowid LIMIT ?
) AS hits
JOIN passages ON passages.id = hits.rowid JOIN files ON files.id = passages.file JOIN folders ON folders.id = folder
ORDER BY hits.distance, hits.rowid
"""
COUNTS = """
SELECT folders.path, folders.url, count(DISTINCT files.id), count(passages.id)
FROM folders LEFT JOIN files ON files.folder = folders.id LEFT JOIN passages ON passages.file = files.id
GROUP BY folders.id ORDER BY folders.path
"""


@dataclass(frozen=True)
class Folder:
    """A folder, or a single file, that was added; `url` is the address that its paths are put behind."""

    path: str
    url: str
    files: int
    passages: int


@dataclass(frozen=True)
class Passage:
    """A passage that was found."""

    title: str
    text: str
    url: str


def index_file(database: Path) -> Path:
    """Return where the index of documents lies: beside the database."""
    return database.with_name(f"{database.stem}.documents.db")


class DocumentIndex:
    """Finds passages. The file is opened by the first use; all methods block, and may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()

    def search(self, query: str, limit: int, lang: str) -> list[Passage]:
        """Return the best sections for a query, each with its best passage; any text is a query."""
        match = _match(query, lang)
        if not match:
            return []
        with self._lock:
            values = (TITLE_WEIGHT, match, limit * PASSAGES_PER_SECTION)
            rows = self._database.execute(SEARCH, values).fetchall()
        sections: dict[str, Passage] = {}
        for title, anchor, text, path, url in rows:
            address = f"{url}{path}{'#' if anchor else ''}{anchor}"
            sections.setdefault(address, Passage(title, text, address))
        return list(sections.values())[:limit]

    def folders(self) -> list[Folder]:
        """Return what was added."""
        with self._lock:
            return [Folder(*row) for row in self._database.execute(COUNTS).fetchall()]

    def add_folder(self, path: str, url: str) -> None:
        """Enter a folder, or give it another address."""
        with self._lock:
            sql = "INSERT INTO folders (path, url) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET url = excluded.url"
            self._database.execute(sql, (path, url))

    def remove_folder(self, path: str) -> bool:
        """Take a folder out with all its files; return whether it was there."""
        with self._lock:
            self.keep_files(path, ())
            removed = self._database.execute("DELETE FROM folders WHERE path = ?", (path,)).rowcount > 0
            self._database.execute("VACUUM")
            return removed

    def keep_files(self, folder: str, paths: Iterable[str]) -> int:
        """Take out the files of a folder that are not among these; return how many there were."""
        keep = set(paths)
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            sql = "SELECT files.id, files.path FROM files JOIN folders ON folders.id = folder WHERE folders.path = ?"
            numbers = [number for number, path in self._database.execute(sql, (folder,)).fetchall() if path not in keep]
            for number in numbers:
                self._remove_file(number)
            return len(numbers)

    def digest_of(self, folder: str, path: str) -> str | None:
        """Return the digest that a file had when it was indexed; None if it was not."""
        sql = """
            SELECT digest FROM files JOIN folders ON folders.id = folder WHERE folders.path = ? AND files.path = ?"""
        with self._lock:
            row = self._database.execute(sql, (folder, path)).fetchone()
        return str(row[0]) if row else None

    def put_file(self, folder: str, path: str, digest: str, sections: Sequence[Section]) -> None:
        """Index a file of a folder that was entered, in the place of what it was before."""
        cut = [(part, text) for part in sections for text in passages(part.text, LONGEST_PASSAGE)]
        tokens = [(_tokens(part.title), _tokens(text)) for part, text in cut]
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            [parent] = self._database.execute("SELECT id FROM folders WHERE path = ?", (folder,)).fetchone()
            about = (parent, path)
            sql = "SELECT id FROM files WHERE folder = ? AND path = ?"
            for (number,) in self._database.execute(sql, about).fetchall():
                self._remove_file(number)
            sql = "INSERT INTO files (folder, path, digest) VALUES (?, ?, ?)"
            file = self._database.execute(sql, (*about, digest)).lastrowid
            for (part, text), (title, body) in zip(cut, tokens, strict=True):
                sql = "INSERT INTO passages (file, title, anchor, text) VALUES (?, ?, ?, ?)"
                number = self._database.execute(sql, (file, part.title, part.anchor, text)).lastrowid
                self._database.execute("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", (number, title, body))

    def noted(self, name: str) -> str | None:
        """Return what was noted under a name."""
        with self._lock:
            row = self._database.execute("SELECT text FROM notes WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else None

    def note(self, name: str, text: str) -> None:
        """Note a text under a name, in the place of what was noted before."""
        with self._lock:
            self._database.execute("INSERT OR REPLACE INTO notes (name, text) VALUES (?, ?)", (name, text))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if "_database" in self.__dict__:
                self._database.close()
                del self._database

    @cached_property
    def _database(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Nobody else may read what was indexed; SQLite gives its log the mode of its file.
        self.path.touch(0o600)
        database = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=30)
        weakref.finalize(self, database.close)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.executescript(TABLES)
        return database

    def _remove_file(self, number: int) -> None:
        self._database.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file = ?)", (number,))
        self._database.execute("DELETE FROM passages WHERE file = ?", (number,))
        self._database.execute("DELETE FROM files WHERE id = ?", (number,))


def digest(content: bytes) -> str:
    """Return what tells whether a file has changed."""
    return hashlib.sha256(content).hexdigest()


def _match(query: str, lang: str) -> str:
    """Return what FTS5 looks for: any word of a query that says something; empty if none does."""
    telling = [stem for stem in dict.fromkeys(stems(query, FALLBACK)) if stem not in small_words(lang)]
    return " OR ".join(f'"{coded(stem)}"' for stem in telling[:MOST_WORDS])


def _tokens(text: str) -> str:
    return " ".join(map(coded, stems(text, FALLBACK)))
