"""The full-text index of one's own documents: a SQLite file beside the database, which can be deleted and made anew."""

import hashlib
import re
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import prompts
from agents.errors import UsageError
from agents.language.text.fulltext import MOST_WORDS, coded
from agents.language.text.stems import SHORTEST_MISSPELT, has_phrase, is_slip, stem, words
from agents.language.text.vocabulary import listening, small_words
from agents.sources.documents.encoding import decoded
from agents.sources.documents.files import Unreadable, contents
from agents.sources.documents.markdown import DocumentSection, markdown_sections
from dialogs.research.documents import can_be_read, files_in, passages, sections_of
from prompts import FALLBACK

LONGEST_PASSAGE = 2_000  # Characters.
OTHERS = 0.7  # The weight of a passage in another language than the question's.
SAMPLE = 300  # Characters of a passage to guess its language from.
MOST_SPELLINGS = 2  # The most meanings of a misspelt word.
MOST_ANSWERS = 10  # Passages to search for an answer.
TITLE_WEIGHT = 2.0  # The weight of a word in a title, where one in the text has 1.
PASSAGES_PER_SECTION = 4  # Passages to look at for each wanted section: its best one counts.
HELP = "help"  # The folder of our own help pages in the index.
LARGEST_SYNONYMS = 1_000_000  # Bytes of the list of words that mean the same.
REMOVED = "removed"  # The note on the help pages when they shall not be found.
Tell = Callable[[int, int, str], None]  # Gets the number of files that are done, their total number, and the next file.
_BETWEEN_PARTS = re.compile(r"[-.]")
TABLES = """
CREATE TABLE IF NOT EXISTS folders (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, url TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL,
    day TEXT NOT NULL DEFAULT '', UNIQUE (folder, path));
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, title TEXT NOT NULL, anchor TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS passages_of_file ON passages (file);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, body, tokenize = 'ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab (words, row);
"""
SEARCH = """
SELECT passages.title, passages.anchor, passages.text, files.path, folders.url, files.day, hits.distance
FROM (
    SELECT rowid, bm25(words, ?, 1.0) AS distance FROM words WHERE words MATCH ? ORDER BY distance, rowid LIMIT ?
) AS hits
JOIN passages ON passages.id = hits.rowid JOIN files ON files.id = passages.file JOIN folders ON folders.id = folder
ORDER BY hits.distance, hits.rowid
"""
KNOWN = "SELECT 1 FROM vocabulary WHERE term = ?"
PASSAGES = """
SELECT passages.id, passages.title, passages.anchor, passages.text, files.path, folders.url, files.day
FROM passages JOIN files ON files.id = passages.file JOIN folders ON folders.id = folder
"""
COUNTS = """
SELECT folders.path, folders.url, count(DISTINCT files.id), count(passages.id)
FROM folders LEFT JOIN files ON files.folder = folders.id LEFT JOIN passages ON passages.file = files.id
GROUP BY folders.id ORDER BY folders.path
"""


@dataclass(frozen=True)
class Folder:
    """A folder, or a single file, that was added; `url` is the address before its paths."""

    path: str
    url: str
    files: int
    passages: int


@dataclass(frozen=True)
class Passage:
    """A found passage."""

    title: str
    text: str
    url: str
    day: str = ""
    """The day of the file's last change, such as `2026-11-22`; empty if it is not known."""


def index_file(database: Path) -> Path:
    """Return the path of the index of documents, beside the database."""
    return database.with_name(f"{database.stem}.documents.db")


class DocumentIndex:
    """Finds passages. The file is opened by the first use; all methods block, and may be called from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._known: tuple[object, Mapping[str, int]] = None, {}

    def search(self, query: str, limit: int, lang: str) -> list[Passage]:
        """Return the best sections for a query, each with its best passage; any text is a query."""
        with self._lock:
            meant = self._meant(query, lang)
            if not meant:
                return []
            values = (TITLE_WEIGHT, " OR ".join(map(_phrase, meant)), limit * PASSAGES_PER_SECTION)
            rows = self._database.execute(SEARCH, values).fetchall()
        asked_in = listening(query, lang)
        # The index may have the same pages in several languages, and names of programs are the same in all of them.
        rows.sort(key=lambda row: row[-1] * (1 if listening(row[2][:SAMPLE], asked_in) == asked_in else OTHERS))
        sections: dict[str, Passage] = {}
        for *columns, _ in rows:
            passage = _passage(*columns)
            sections.setdefault(passage.url, passage)
        return list(sections.values())[:limit]

    def passages(self, numbers: Sequence[int] | None = None) -> dict[int, Passage]:
        """Return passages by their numbers, all of them for None; a number may be given again after a deletion."""
        chosen = "" if numbers is None else f" WHERE passages.id IN ({', '.join('?' * len(numbers))})"
        with self._lock:
            rows = self._database.execute(PASSAGES + chosen, numbers or ()).fetchall()
        return {number: _passage(*row) for number, *row in rows}

    def answering(self, query: str, lang: str, more_than: int) -> Passage | None:
        """Return the passage of one's own documents that has most words of a query.

        It must have more than half of the words, at least two, and more than `more_than`; else there is none.
        """
        if not self.path.exists():
            return None
        wanted = set(_stems(query)) - small_words(lang)
        own = [it for it in self.search(query, MOST_ANSWERS, lang) if not it.url.startswith(f"{HELP}/")]
        by_shared = {len(wanted.intersection(_stems(f"{it.title}\n{it.text}"))): it for it in reversed(own)}
        most = max(by_shared, default=0)
        return by_shared[most] if most > max(1, len(wanted) / 2, more_than) else None

    def _meant(self, query: str, lang: str) -> list[tuple[str, ...]]:
        """Return the search words: the words of a query, the likely meanings of misspelt ones, and synonyms."""
        terms, small = _stems(query), small_words(lang)
        telling = [word for word in dict.fromkeys(terms) if word not in small][:MOST_WORDS]
        spelt = [spelling for word in telling for spelling in [word, *self._near(word)]]
        listed = _synonyms(self._own_words())
        groups = [group for group in listed if any(has_phrase(terms, it) or has_phrase(spelt, it) for it in group)]
        return [*dict.fromkeys([*((word,) for word in spelt), *(phrase for group in groups for phrase in group)])]

    def _own_words(self) -> str:
        try:
            return decoded(contents(self.path.with_suffix(".synonyms.txt"), LARGEST_SYNONYMS))
        except Unreadable:
            return ""

    def _near(self, stem: str) -> list[str]:
        """Return the likely meanings of a stem that the index lacks: stems of the index, most frequent first."""
        if len(stem) < SHORTEST_MISSPELT or self._database.execute(KNOWN, (coded(stem),)).fetchone():
            return []
        counts = self._vocabulary()
        # The ending of a misspelt word may be one that no stemmer cuts off.
        begun = (it for it in counts if len(it) > SHORTEST_MISSPELT and stem.startswith(it))
        slips = [it for it in counts if is_slip(stem, it)] or begun
        return sorted(slips, key=lambda it: (-counts[it], it))[:MOST_SPELLINGS]

    def _vocabulary(self) -> Mapping[str, int]:
        """Return every stem of the index with the number of its passages; it is read anew only after a change."""
        state = self._database.execute("PRAGMA data_version").fetchone()[0], self._database.total_changes
        if self._known[0] != state:
            terms = self._database.execute("SELECT term, doc FROM vocabulary").fetchall()
            self._known = state, {bytes.fromhex(term).decode(): count for term, count in terms}
        return self._known[1]

    def folders(self) -> list[Folder]:
        """Return the added folders and files."""
        with self._lock:
            return [Folder(*row) for row in self._database.execute(COUNTS).fetchall()]

    def add_folder(self, path: str, url: str) -> None:
        """Enter a folder, or give it another address."""
        with self._lock:
            sql = "INSERT INTO folders (path, url) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET url = excluded.url"
            self._database.execute(sql, (path, url))

    def remove_folder(self, path: str) -> bool:
        """Take a folder out with all its files; tell whether it was there."""
        with self._lock:
            self.keep_files(path, ())
            removed = self._database.execute("DELETE FROM folders WHERE path = ?", (path,)).rowcount > 0
            self._database.execute("VACUUM")
            return removed

    def keep_files(self, folder: str, paths: Iterable[str]) -> int:
        """Remove the files of a folder that are not among these; return their number."""
        keep = set(paths)
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            sql = "SELECT files.id, files.path FROM files JOIN folders ON folders.id = folder WHERE folders.path = ?"
            numbers = [number for number, path in self._database.execute(sql, (folder,)).fetchall() if path not in keep]
            for number in numbers:
                self._remove_file(number)
            return len(numbers)

    def put_file(
        self, folder: str, path: str, content: bytes, read: Callable[[], Iterable[DocumentSection]], day: str = ""
    ) -> bool:
        """Index a file of an entered folder; tell whether its content is new. Only then is it `read`."""
        state = hashlib.sha256(content).hexdigest()
        sql = "SELECT id, path, digest FROM files WHERE folder = (SELECT id FROM folders WHERE path = ?) AND path = ?"
        with self._lock:
            former = self._database.execute(sql, (folder, path)).fetchone()
            if former and former[2] == state:
                self._database.execute("UPDATE files SET day = ? WHERE id = ? AND day <> ?", (day, former[0], day))
                return False
        cut = [(part, text) for part in read() for text in passages(part.text, LONGEST_PASSAGE)]
        tokens = [(_tokens(part.title), _tokens(text)) for part, text in cut]
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            for number, *_ in self._database.execute(sql, (folder, path)).fetchall():
                self._remove_file(number)
            adding = "INSERT INTO files (folder, path, digest, day) SELECT id, ?, ?, ? FROM folders WHERE path = ?"
            file = self._database.execute(adding, (path, state, day, folder)).lastrowid
            for (part, text), (title, body) in zip(cut, tokens, strict=True):
                sql = "INSERT INTO passages (file, title, anchor, text) VALUES (?, ?, ?, ?)"
                number = self._database.execute(sql, (file, part.title, part.anchor, text)).lastrowid
                self._database.execute("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", (number, title, body))
        return True

    def noted(self, name: str) -> str | None:
        """Return the note of that name."""
        with self._lock:
            row = self._database.execute("SELECT text FROM notes WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else None

    def note(self, name: str, text: str) -> None:
        """Store a note under a name, in place of the former one."""
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
        # Nobody else may read the indexed texts; SQLite gives its log the mode of its file.
        self.path.touch(0o600)
        database = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=30)
        weakref.finalize(self, database.close)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.executescript(TABLES)
        if "day" not in [name for _, name, *_ in database.execute("PRAGMA table_info(files)")]:
            database.execute("ALTER TABLE files ADD COLUMN day TEXT NOT NULL DEFAULT ''")
        return database

    def _remove_file(self, number: int) -> None:
        self._database.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE file = ?)", (number,))
        self._database.execute("DELETE FROM passages WHERE file = ?", (number,))
        self._database.execute("DELETE FROM files WHERE id = ?", (number,))


def _passage(title: str, anchor: str, text: str, path: str, url: str, day: str) -> Passage:
    return Passage(title, text, f"{url}{path}{'#' if anchor else ''}{anchor}", day)


def _phrase(meant: Sequence[str]) -> str:
    return f'"{" ".join(map(coded, meant))}"'


@lru_cache(maxsize=4)
def _synonyms(text: str) -> list[list[tuple[str, ...]]]:
    """Return groups of words and phrases that mean the same, as stems: a line each, with commas between."""
    lines = (line.partition("#")[0].split(",") for line in text.splitlines())
    groups = ([tuple(_stems(phrase)) for phrase in line] for line in lines)
    return [[phrase for phrase in group if phrase] for group in groups]


def _stems(text: str) -> list[str]:
    """Return the stems of a text; "NFS-server" is found by each of its parts as well."""
    stems = []
    for word in words(text):
        parts = _BETWEEN_PARTS.split(word)
        stems += [stem(part, FALLBACK) for part in ([word, *parts] if len(parts) > 1 else parts)]
    return stems


def _tokens(text: str) -> str:
    return " ".join(map(coded, _stems(text)))


@dataclass
class Report:
    """The outcome of indexing: numbers of files, and a line for each unreadable one."""

    added: int = 0
    unchanged: int = 0
    removed: int = 0
    unreadable: list[str] = field(default_factory=list)
    skipped: Mapping[str, int] = field(default_factory=dict)
    """The number of files of each unknown kind."""


def index_folder(index: DocumentIndex, place: Path, url: str, tell: Tell) -> Report:
    """Read new and changed files below a folder, or one file, and remove those that are gone.

    `url` is put before the paths below the folder; a file that cannot be read is left as it was indexed before.

    Raises:
        UsageError: there is no such folder or file, or it overlaps an added one.
    """
    if not (place.is_file() or place.is_dir()):
        raise UsageError(f"{place}: there is no such file or folder")
    place = place.resolve()
    for other in (Path(folder.path) for folder in index.folders()):
        if other != place and (place.is_relative_to(other) or other.is_relative_to(place)):
            raise UsageError(f"{place} overlaps {other}, which is indexed; remove that first")
    folder, report = str(place), Report()
    index.add_folder(folder, url)
    root = place.parent if place.is_file() else place
    all_files = list(files_in(place))
    files = [file for file in all_files if can_be_read(file)]
    report.skipped = dict(Counter(file.suffix.lower() or file.name for file in all_files if not can_be_read(file)))
    for number, file in enumerate(files):
        name = file.relative_to(root).as_posix()
        tell(number, len(files), name)
        try:
            body = contents(file)
            day = datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()
            if index.put_file(folder, name, body, partial(sections_of, file.name, body), day):
                report.added += 1
            else:
                report.unchanged += 1
        except (Unreadable, OSError, UnicodeError) as fault:
            # A name that is not text cannot be stored.
            report.unreadable.append(f"{name}: {fault}")
    tell(len(files), len(files), "")
    report.removed = index.keep_files(folder, [file.relative_to(root).as_posix() for file in files])
    return report


def index_help(index: DocumentIndex) -> None:
    """Index the help pages of all languages, unless they are unchanged; removed ones stay out."""
    pages = {lang: "\n\n".join(prompts.prompts_of_all("help", lang)) for lang in prompts.translated("help")}
    state = hashlib.sha256(repr(sorted(pages.items())).encode()).hexdigest()
    if index.noted(HELP) in (state, REMOVED):
        return
    index.add_folder(HELP, f"{HELP}/")
    for lang, page in pages.items():
        index.put_file(HELP, lang, page.encode(), partial(markdown_sections, page))
    index.keep_files(HELP, list(pages))
    index.note(HELP, state)


@contextmanager
def looked_at(index: DocumentIndex) -> Iterator[DocumentIndex]:
    """Yield the index with our help pages; if it has no file yet, none is made."""
    with ExitStack() as stack:
        if not index.path.exists():
            folder = stack.enter_context(TemporaryDirectory())
            index = stack.enter_context(closing(DocumentIndex(Path(folder, index.path.name))))
        index_help(index)
        yield index


def remove(index: DocumentIndex, place: str) -> bool:
    """Remove an added folder or file; return whether it was there."""
    if place == HELP:
        index_help(index)
        index.note(HELP, REMOVED)
        return index.remove_folder(HELP)
    return index.path.exists() and index.remove_folder(str(Path(place).resolve()))
