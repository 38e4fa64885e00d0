"""Files that can be indexed: found in a folder, and read as sections."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from agents.language.text.clean import clean
from agents.sources.documents import Section
from agents.sources.documents.markdown import markdown_sections

LARGEST_FILE = 50_000_000
"""Bytes of a file."""
LONGEST_ANCHOR = 200


class Unreadable(Exception):
    """A file cannot be read; the message is a line for the operator."""


def files_in(place: Path) -> Iterator[Path]:
    """Yield the files below a folder that can be read, in order, or the one file that is named.

    Hidden files and folders are left out, and links, which may lead out of the folder.
    """
    if place.is_file():
        yield place
        return
    for folder, inner, names in os.walk(place):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and file.suffix.lower() in READERS and not file.is_symlink():
                yield file


def sections_of(file: Path) -> list[Section]:
    """Return the sections of a file; those without a heading are named after it.

    Raises:
        Unreadable: it is damaged, too large or of an unknown kind.
    """
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise Unreadable(f"{file.name}: {file.suffix or 'no suffix'} is not read; {', '.join(READERS)} are")
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise Unreadable(f"{file.name} is larger than {LARGEST_FILE // 1_000_000} MB")
        sections = [*reader(file.read_bytes())]
    except OSError as fault:
        raise Unreadable(f"{file.name}: {fault.strerror}") from None
    return [cleaned(section, file.stem) for section in sections if clean(section.text).strip()]


def cleaned(section: Section, name: str) -> Section:
    """Return a section without signs that nobody sees; one without a heading is called `name`."""
    title = " ".join(clean(section.title).split()) or name
    anchor = "".join(clean(section.anchor).split())[:LONGEST_ANCHOR]
    return Section(title, clean(section.text).strip(), anchor)


def _pdf(body: bytes) -> Iterator[Section]:
    from io import BytesIO

    from pypdf import PdfReader

    try:
        reader = PdfReader(BytesIO(body))
        title = str((reader.metadata.title if reader.metadata else "") or "")
        for number, page in enumerate(reader.pages, 1):
            yield Section(title, page.extract_text(), f"page={number}")
    # A damaged file raises whatever its parser has not foreseen.
    except Exception as broken:
        raise Unreadable(f"the PDF file cannot be read ({type(broken).__name__})") from None


def _html(body: bytes) -> list[Section]:
    from agents.sources.documents.html import html_sections

    return html_sections(_decoded(body))


def _decoded(body: bytes) -> str:
    """Return a text in the encoding that it has: UTF-8 if it can be, else what is likeliest."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes

        return str(from_bytes(body).best() or body.decode("utf-8", "replace"))


READERS: dict[str, Callable[[bytes], Iterable[Section]]] = {
    **dict.fromkeys((".md", ".markdown"), lambda body: markdown_sections(_decoded(body))),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    ".pdf": _pdf,
    **dict.fromkeys((".txt", ".text", ".rst"), lambda body: [Section("", _decoded(body))]),
}
