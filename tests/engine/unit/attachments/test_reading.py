"""The text of files that somebody sends: read by what they are, and harmless whatever they are."""

import json
import os
from pathlib import Path

import pytest

from agents.sources.documents import reader_process
from agents.sources.documents.files import Unreadable
from agents.sources.documents.reader_process import read
from app.assistant.attached_text import as_text, suffix_of, text_of
from tests.support.pdf_file import pdf, pdf_of

RUSSIAN = "Гарантия действует два года со дня покупки, если сохранился чек."


async def test_a_file_is_read_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process returns the text; it has no keys in its environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert await text_of("отчёт.pdf", pdf("Two years."), 100) == "Two years."


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("a.txt", b"%PDF-1.4", ".pdf"),
        ("a.pdf", b"only words", ".txt"),
        ("a.md", b"# One", ".md"),
        ("A.HTML", b"<p>", ".html"),
        ("notes.csv", b"a;b", ".csv"),
        ("../../etc/passwd\0.md", b"words", ".md"),
        ("", b"words", ".txt"),
        ("a.txt", "слова".encode("utf-16"), ".txt"),
        ("a.txt", b"PK\x03\x04\0\0", None),
        ("a.docx", b"PK\x03\x04\0\0", ".docx"),
        ("a.docx", b"words", ".txt"),
    ],
)
def test_the_kind_is_that_of_the_content(name: str, body: bytes, kind: str | None) -> None:
    """A name is the sender's word; it decides only between kinds of text."""
    assert suffix_of(name, body) == kind


@pytest.mark.parametrize(
    ("suffix", "body", "text"),
    [
        (".md", b"# Bread\n\nRye.\n\n## Oven\n\nHot.", "Bread\n\nRye.\n\nBread › Oven\n\nHot."),
        (".html", b"<h1>Bread</h1><script>evil()</script><p>Rye.", "Bread\n\nRye."),
        (".txt", f"{RUSSIAN}\u200b".encode("cp1251", "ignore"), RUSSIAN),
        (".txt", b"", ""),
    ],
)
def test_headings_are_kept(suffix: str, body: bytes, text: str) -> None:
    """A text has its headings; invisible parts are left out."""
    assert as_text(read(suffix, body, 1000)).replace(" > ", " › ") == text


def test_a_long_file_is_cut() -> None:
    """So much of it is read as a model is given."""
    assert as_text(read(".txt", b"word " * 100_000, 50)) == ("word " * 10)[:50]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("broken.pdf", b"%PDF-1.4 broken"),
        ("loop.pdf", pdf_of(b"", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>")),
        ("empty.pdf", pdf_of(b"")),
        ("locked.pdf", pdf("x").replace(b"/Root 1 0 R", b"/Root 1 0 R /Encrypt 9 0 R")),
        ("deep.html", b"<div>" * 300_000),
        ("empty.txt", b" \n"),
        ("large.txt", bytes(20_000_001)),
    ],
)
async def test_harmful_files_are_refused(name: str, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that loops, that unpacks to very much, or that is damaged ends in one failure, within its time."""
    with pytest.raises(Unreadable):
        await text_of(name, body, 1000)


@pytest.mark.slow
async def test_a_file_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is ended; so many operators no reader gets through in time."""
    monkeypatch.setattr(reader_process, "SECONDS", 2)
    with pytest.raises(Unreadable, match="2 seconds"):
        await text_of("bomb.pdf", pdf_of(b"(a) Tj " * 9_000_000), 1000)
    assert "documents.reader_process" not in json.dumps(children())


def children() -> list[str]:
    """Return the command lines of the processes that this one has started."""
    lines = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = status.read_text().rpartition(")")[2].split()[1]
            lines.append((status.parent / "cmdline").read_text() if parent == str(os.getpid()) else "")
        except OSError:
            continue
    return lines
