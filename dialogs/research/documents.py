"""One's own documents: found in a folder, read as sections, and cut into passages."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from agents.sources.documents.files import PACKED, READERS, cleaned
from agents.sources.documents.markdown import DocumentSection
from agents.sources.documents.reader_process import PDF, sections_in_process

DOUBLES = ("_sources",)  # Folders in which generators of documentation keep the source of each page.
LARGEST_HERE = 1_000_000  # The most bytes of text to read in our own process.
LONGEST_DOCUMENT = 20_000_000  # Characters of a document of one's own.
PATIENCE = 120  # Seconds for a document of one's own.


def files_in(place: Path) -> Iterator[Path]:
    """Yield the files below a folder, in order, or the one named file; also those that cannot be read.

    Hidden files and folders are left out, also doubles, and links, which may lead out of the folder.
    """
    if place.is_file():
        yield place
        return
    for folder, inner, names in os.walk(place):
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in DOUBLES)
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and not file.is_symlink():
                yield file


def can_be_read(file: Path) -> bool:
    """Tell whether a file is of a readable kind, and neither a pipe nor a device."""
    return file.suffix.lower() in READERS and file.is_file()


def sections_of(name: str, body: bytes) -> list[DocumentSection]:
    """Return the sections of a document of one's own; those without a heading are named after it.

    It blocks, and belongs in a thread without an event loop.

    Raises:
        Unreadable: it is damaged, or takes too long.
    """
    suffix, stem = PurePath(name).suffix.lower(), PurePath(name).stem
    if suffix != PDF and suffix not in PACKED and len(body) <= LARGEST_HERE:
        sections = READERS[suffix](body)
    else:
        sections = asyncio.run(sections_in_process(suffix, body, LONGEST_DOCUMENT, PATIENCE))
    named = (cleaned(section, stem) for section in sections)
    return [section for section in named if any(map(str.isalnum, section.text))]


def passages(text: str, longest: int) -> Iterator[str]:
    """Yield a text in passages of at most `longest` characters, cut between paragraphs, lines or words."""
    text, place = text.strip(), 0
    while len(text) - place > longest:
        window = text[place : place + longest + 1]
        # A passage shall be at least half full, so that a short paragraph does not stand alone.
        ends = (window.rfind(sign, longest // 2 if sign != " " else 1) for sign in ("\n\n", "\n", " "))
        end = next((end for end in ends if end > 0), longest)
        if passage := window[:end].strip():
            yield passage
        place += end
    if rest := text[place:].strip():
        yield rest
