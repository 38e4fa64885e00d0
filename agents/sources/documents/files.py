"""Files that can be indexed: found in a folder, read from the disk within bounds, and by kind as sections."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from agents.language.text.clean import clean
from agents.sources.documents.encoding import decoded
from agents.sources.documents.markdown import DocumentSection, markdown_sections

LARGEST_FILE = 50_000_000  # Bytes.
LONGEST_ANCHOR = 200
PACKED = (".docx", ".xlsx", ".epub")  # Packages, which may unpack to anything.
Reader = Callable[[bytes], Iterable[DocumentSection]]
_ADOC_HEADING = re.compile(r"^(={1,6})(?=[ \t])", re.MULTILINE)
_ADOC_CODE = re.compile(r"^-{4,}[ \t]*$", re.MULTILINE)


class Unreadable(Exception):
    """A file cannot be read; the message is a line for the operator."""


def contents(file: Path, largest: int = LARGEST_FILE) -> bytes:
    """Check the kind and the size of a file, and return its bytes.

    Raises:
        Unreadable: it is not an ordinary file, too large, or cannot be opened.
    """
    try:
        # This does not wait for the writer of a pipe.
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            about = os.fstat(opened.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise Unreadable("it is not an ordinary file")
            if about.st_size > largest:
                raise Unreadable(f"it is larger than {largest // 1_000_000} MB")
            return opened.read(largest)
    except OSError as fault:
        raise Unreadable(fault.strerror or str(fault)) from None


def cleaned(section: DocumentSection, name: str) -> DocumentSection:
    """Return a section without invisible characters; a section without a heading gets the title `name`."""
    title = " ".join(clean(section.title).split()) or name
    anchor = "".join(clean(section.anchor).split())[:LONGEST_ANCHOR]
    return DocumentSection(title, clean(section.text).strip(), anchor)


def _pdf(body: bytes) -> Iterator[DocumentSection]:
    """Yield the pages of a PDF file."""
    from io import BytesIO

    from pypdf import PdfReader

    reader = PdfReader(BytesIO(body))
    title = str((reader.metadata.title if reader.metadata else "") or "")
    for number, page in enumerate(reader.pages, 1):
        yield DocumentSection(title, page.extract_text(), f"page={number}")


def _html(body: bytes) -> list[DocumentSection]:
    from agents.sources.documents.html import html_sections

    return html_sections(decoded(body))


def web_page(body: bytes) -> list[DocumentSection]:
    """Return the text of a page of the web as one section, with its date in the place of an anchor."""
    from trafilatura import bare_extraction

    page = bare_extraction(body, with_metadata=True, favor_recall=True, fast=True, include_comments=False)
    if page is None or isinstance(page, dict):
        return []
    return [DocumentSection(page.title or "", page.text or "", page.date or "")]


def _asciidoc(body: bytes) -> list[DocumentSection]:
    text = _ADOC_CODE.sub("```", decoded(body))
    return markdown_sections(_ADOC_HEADING.sub(lambda marks: "#" * len(marks[1]), text))


def _office(suffix: str) -> Reader:
    def read(body: bytes) -> Iterable[DocumentSection]:
        from agents.sources.documents.office import OFFICE

        return OFFICE[suffix](body)

    return read


READERS: dict[str, Reader] = {
    **dict.fromkeys((".md", ".markdown"), lambda body: markdown_sections(decoded(body))),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    ".pdf": _pdf,
    **dict.fromkeys((".adoc", ".asciidoc"), _asciidoc),
    **dict.fromkeys((".txt", ".text", ".rst", ".json"), lambda body: [DocumentSection("", decoded(body))]),
    **{suffix: _office(suffix) for suffix in (*PACKED, ".csv")},
}
