"""Measure how well our index of documents finds the sections of a book by their titles.

`python -m benchmarks.search` on the Debian handbook (`apt-get install debian-handbook`; `--data DIR` for a copy
elsewhere). Each numbered section of at least 200 characters becomes a file without its title; the title is the query.
A section is found if it stands among the first five; of sections with the same title any will do.

Then both books are indexed as they are, and asked what people ask (`search_questions.toml`): in the book's words, with
typing errors, and in other words than the book's, without and with a list of synonyms (`synonyms.txt`). A question is
answered if its page stands among the first five, in whichever of the two languages. Python's documentation
(`apt-get install python3.11-doc`), which is English, is asked in the same way (`search_questions_python.toml`).
"""

import asyncio
import re
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from agents.language.text.vocabulary import listening
from agents.sources.documents.files import contents
from agents.sources.documents.markdown import BETWEEN
from agents.sources.web.fetcher import Fetcher
from benchmarks.report import Row, arguments, show
from dialogs.research.composites import Bounded
from dialogs.research.documents import can_be_read, files_in, sections_of
from dialogs.research.index import HELP, REMOVED, DocumentIndex, index_folder
from dialogs.research.retrievers import RetrieverServices
from dialogs.research.retrievers.documents import Documents

HANDBOOK = Path("/usr/share/doc/debian-handbook/html")
PYTHON = Path("/usr/share/doc/python3.11/html")
BOOKS = {"en": "en-US", "ru": "ru-RU"}
BARS = {"en": 0.72, "ru": 0.68}
"""The least recall."""
QUESTIONS, LIST = Path(__file__).with_name("search_questions.toml"), Path(__file__).with_name("synonyms.txt")
LIMIT = 5
PYTHON_QUESTIONS = Path(__file__).with_name("search_questions_python.toml")
SHORTEST = 200
"""Characters of a section's text."""
_NUMBERED = re.compile(r"([\dA-Z]+(?:\.\d+)+)\.\s*(.+)")


@dataclass(frozen=True)
class Measured:
    """The figures of one language's book."""

    lang: str
    sections: int
    characters: int
    queries: int
    recall: float
    ms: float
    """Milliseconds of a query, through the retriever."""
    cpu_ms: float
    """Milliseconds of CPU of a query."""
    seconds: float
    """CPU seconds to index the book."""
    size: int
    """Bytes of the index."""


def sections(folder: Path) -> Mapping[str, Sequence[str]]:
    """Return the texts of a book's numbered sections by their titles."""
    texts: dict[tuple[str, str], str] = {}
    for file in filter(can_be_read, files_in(folder)):
        for section in sections_of(file.name, contents(file)):
            numbered = _NUMBERED.fullmatch(" ".join(section.title.split(BETWEEN)[-1].split()))
            if numbered and len(section.text) >= SHORTEST:
                texts.setdefault((numbered[1], numbered[2]), section.text)
    by_title = defaultdict[str, list[str]](list)
    for (_, title), text in texts.items():
        by_title[title].append(text)
    return by_title


async def measure(lang: str, book: Mapping[str, Sequence[str]], folder: Path) -> Measured:
    """Index a book below a folder and ask for each of its titles."""
    files: dict[str, set[str]] = defaultdict(set)
    (folder / "book").mkdir()
    for title, texts in book.items():
        for text in texts:
            name = f"{sum(map(len, files.values()))}.txt"
            (folder / "book" / name).write_text(text, "utf-8")
            files[title].add(name)
    index = DocumentIndex(folder / "book.db")
    index.note(HELP, REMOVED)
    begun = time.process_time()
    index_folder(index, folder / "book", "", lambda *_: None)
    seconds = time.process_time() - begun
    async with Fetcher() as fetcher:
        retriever = Bounded(Documents("documents", RetrieverServices(index, fetcher)), 60)
        begun, cpu = time.perf_counter(), time.process_time()
        asked = [(names, await retriever.search(title, limit=LIMIT, lang=lang)) for title, names in files.items()]
        ms = (time.perf_counter() - begun) * 1000 / len(files)
        cpu_ms = (time.process_time() - cpu) * 1000 / len(files)
    hits = sum(any(document.url in names for document in results.documents) for names, results in asked)
    index.close()
    return Measured(
        lang,
        sections=sum(map(len, files.values())),
        characters=sum(len(text) for texts in book.values() for text in texts),
        queries=len(files),
        recall=hits / len(files),
        ms=ms,
        cpu_ms=cpu_ms,
        seconds=seconds,
        size=(folder / "book.db").stat().st_size,
    )


def table(figures: Sequence[Measured]) -> list[Row]:
    """Return a row for each language."""
    return [
        {
            "book": measured.lang,
            "sections": measured.sections,
            "characters": measured.characters,
            "queries": measured.queries,
            f"recall@{LIMIT} %": 100 * measured.recall,
            "bar %": round(100 * BARS[measured.lang]),
            "ms/query": measured.ms,
            "CPU ms": measured.cpu_ms,
            "indexing, CPU s": measured.seconds,
            "index, bytes": measured.size,
        }
        for measured in figures
    ]


@dataclass(frozen=True)
class Answered:
    """The number of answered questions of a kind; `first` of them lead to a text in their own language first."""

    lang: str
    kind: str
    questions: int
    found: int
    with_synonyms: int
    first: int


def ask(books: Mapping[str, Path], asked: Path, folder: Path) -> list[Answered]:
    """Index books below a folder, each under its name, and ask a file's questions, without and with synonyms."""
    index = DocumentIndex(folder / "books.db")
    index.note(HELP, REMOVED)
    for name, book in books.items():
        index_folder(index, book, f"{name}/", lambda *_: None)
    questions = tomllib.loads(asked.read_text("utf-8"))
    hits, first = defaultdict[tuple[str, str], list[int]](list), dict[tuple[str, str], int]()
    for synonyms in ("", LIST.read_text("utf-8")):
        index.path.with_suffix(".synonyms.txt").write_text(synonyms, "utf-8")
        for (place, lang), kind in product(enumerate(BOOKS, 1), questions):
            found = [(row[0], index.search(row[place], LIMIT, lang)) for row in questions[kind]]
            hits[lang, kind].append(sum(any(f"/{page}.html" in it.url for it in there) for page, there in found))
            own = sum(listening(there[0].text, lang) == lang for _, there in found if there)
            first.setdefault((lang, kind), own)
    index.close()
    return [Answered(*key, len(questions[key[1]]), alone, listed, first[key]) for key, (alone, listed) in hits.items()]


def questions_table(figures: Sequence[Answered]) -> list[Row]:
    """Return a row for each language and kind."""
    return [
        {
            "questions": f"{answered.lang}, {answered.kind}",
            "of": answered.questions,
            f"found@{LIMIT}": answered.found,
            "with synonyms": answered.with_synonyms,
            "own language first": answered.first,
        }
        for answered in figures
    ]


def main() -> int:
    """Measure each language's book, and ask the questions; return 1 if a book is below its bar."""
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=HANDBOOK, metavar="DIR", help="default: %(default)s")
    parser.add_argument("--python", type=Path, default=PYTHON, metavar="DIR", help="default: %(default)s")
    chosen = parser.parse_args()
    figures = []
    for lang, name in BOOKS.items():
        with tempfile.TemporaryDirectory() as folder:
            figures.append(asyncio.run(measure(lang, sections(chosen.data / name), Path(folder))))
    show(table(figures), as_json=chosen.json)
    handbook = {lang: chosen.data / name for lang, name in BOOKS.items()}
    for books, asked in ((handbook, QUESTIONS), ({"python": chosen.python}, PYTHON_QUESTIONS)):
        with tempfile.TemporaryDirectory() as folder:
            show(questions_table(ask(books, asked, Path(folder))), as_json=chosen.json)
    return int(any(measured.recall < BARS[measured.lang] for measured in figures))


if __name__ == "__main__":
    raise SystemExit(main())
