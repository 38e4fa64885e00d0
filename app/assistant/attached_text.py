"""The text of attached files. Their content decides their kind, since names and types are the sender's words."""

from collections.abc import Sequence
from pathlib import PurePath

from agents.sources.documents.files import PACKED, READERS, Unreadable
from agents.sources.documents.markdown import DocumentSection
from agents.sources.documents.reader_process import PDF, sections_in_process

LARGEST_ATTACHED = 20_000_000  # Bytes.
LARGEST_TEXT = 2_000_000  # The most bytes that are read of a text file.
TEXT = ".txt"


async def text_of(name: str, body: bytes, longest: int) -> str:
    """Return the beginning of the text of a file, at most `longest` characters, headings included.

    Raises:
        Unreadable: it is damaged, too large, of an unknown kind, without text, or takes too long.
    """
    suffix = suffix_of(name, body)
    if suffix is None or len(body) > LARGEST_ATTACHED:
        raise Unreadable("it is too large, or not of a kind that is read")
    is_text = suffix != PDF and suffix not in PACKED
    text = as_text(await sections_in_process(suffix, body[:LARGEST_TEXT] if is_text else body, longest))
    if not text.strip():
        raise Unreadable("there is no text in it that can be read")
    return text[:longest]


def suffix_of(name: str, body: bytes) -> str | None:
    """Return the suffix that fits a file's content, whatever its name is; None for an unreadable kind."""
    suffix = PurePath(name).suffix.lower()
    if body.lstrip()[:5] == b"%PDF-":
        return PDF
    if body.startswith(b"PK\x03\x04"):
        return suffix if suffix in PACKED else None
    if b"\0" in body[:LARGEST_TEXT] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    return suffix if suffix in READERS and suffix != PDF and suffix not in PACKED else TEXT


def as_text(sections: Sequence[DocumentSection]) -> str:
    """Return sections as one text, each title once."""
    parts, last = [""], ""
    for section in sections:
        parts += [section.title if section.title != last else "", section.text]
        last = section.title
    return "\n\n".join(filter(None, parts))
