"""Files that can be indexed: found in a folder, and read as sections. HTML becomes Markdown, without its menus."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

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


def _decoded(body: bytes) -> str:
    """Return a text in the encoding that it has: UTF-8 if it can be, else what is likeliest."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes

        return str(from_bytes(body).best() or body.decode("utf-8", "replace"))


READERS: dict[str, Callable[[bytes], Iterable[Section]]] = {
    **dict.fromkeys((".md", ".markdown"), lambda body: markdown_sections(_decoded(body))),
    **dict.fromkeys((".html", ".htm", ".xhtml"), lambda body: html_sections(_decoded(body))),
    ".pdf": _pdf,
    **dict.fromkeys((".txt", ".text", ".rst"), lambda body: [Section("", _decoded(body))]),
}


LEFT_OUT = ("script", "style", "nav", "footer", "noscript", "template", "svg", "select", "button", "head")
LISTS = ("ul", "ol", "dl")
INLINE = ["b", "strong", "i", "em", "code", "img"]
"""Tags whose marks would stand between a query and its words."""
MOST_LINKS = 0.5
"""The part of a list's letters that may stand in links; a menu or a list of contents has more."""

_XML = re.compile(r"^\s*<\?xml[^>]*>")
"""With this mark the parser warns that XHTML is no HTML."""


class _Converter(MarkdownConverter):
    """Keeps the address of a heading behind it, as `{#address}`, and only the words of a link."""

    def convert_hN(self, n: int, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: N802  # the library's name
        title, address = " ".join(text.split()), _address(el)
        return f"\n\n{'#' * n} {title}{f' {{#{address}}}' if address else ''}\n\n" if title else ""

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return text


def html_sections(markup: str) -> list[Section]:
    """Return the sections of a page; one that stands below no heading has the title of the page's head."""
    page = BeautifulSoup(_XML.sub("", markup), "lxml")
    title = " ".join(page.title.get_text().split()) if page.title else ""
    for part in page.find_all(LEFT_OUT):
        part.decompose()
    for part in page.find_all(LISTS):
        if not part.decomposed and _is_menu(part):
            part.decompose()
    converter = _Converter(strip=INLINE, escape_misc=False, escape_asterisks=False, escape_underscores=False)
    sections = markdown_sections(converter.convert_soup(page).replace("\xa0", " "))
    return [section if section.title else Section(title, section.text, section.anchor) for section in sections]


def _is_menu(part: Tag) -> bool:
    linked = sum(len(link.get_text(strip=True)) for link in part.find_all("a", href=True))
    return linked > len(part.get_text(strip=True)) * MOST_LINKS


def _address(heading: Tag) -> str:
    inside = heading if heading.get("id") else heading.find(id=True) or heading.find("a", attrs={"name": True})
    place = inside or heading.find_previous(_is_place)
    return str((place.get("id") or place.get("name")) if isinstance(place, Tag) else "")


def _is_place(tag: Tag) -> bool:
    return bool(tag.get("id") or (tag.name == "a" and tag.get("name")))
