"""What others wrote, as a model and a user may read it: data, in which nothing passes for something else."""

import re
from dataclasses import replace

from agents.events.views import is_web
from agents.language.text.clean import clean
from agents.state.citations import without_marks
from dialogs.research.retrievers import Document, Image

LONGEST = 20_000
"""Characters of a passage that are looked at."""
LONGEST_LINE = 200
LONGEST_ADDRESS = 1_000
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*\n\s*")


def foreign_document(document: Document) -> Document:
    """Return a document whose texts hold nothing that is shown nowhere, and nothing that would cite a source."""
    text = _LINES.sub("\n\n", _BLANKS.sub(" ", without_marks(clean(document.text[:LONGEST])))).strip()
    return replace(
        document,
        text=text,
        title=foreign_line(document.title),
        url=document.url if _is_address(document.url) else foreign_line(document.url),
        published=foreign_line(document.published or "") or None,
        image=foreign_image(document.image) if document.image else None,
    )


def foreign_image(image: Image) -> Image | None:
    """Return a picture with the addresses that lead to the web; None for one that itself does not."""
    if not _is_address(image.url):
        return None
    return replace(
        image,
        title=foreign_line(image.title),
        thumbnail=image.thumbnail if _is_address(image.thumbnail) else "",
        mime_type=foreign_line(image.mime_type)[:40],
        page=image.page if _is_address(image.page) else "",
    )


def foreign_line(text: str) -> str:
    """Return a title or the like in one line of bounded length."""
    line = " ".join(without_marks(clean(text[:LONGEST])).split())
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def _is_address(url: str) -> bool:
    return len(url) <= LONGEST_ADDRESS and is_web(url)
