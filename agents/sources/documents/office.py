"""Office formats, books and tables as sections: docx, xlsx, epub, csv.

Packed files are read in a process of their own (`agents.sources.documents.reader_process`), because a small file
may unpack to gigabytes.
"""

import csv
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import unquote
from xml.etree import ElementTree

from agents.sources.documents.encoding import decoded
from agents.sources.documents.html import html_sections
from agents.sources.documents.markdown import DocumentSection, markdown_sections

LARGEST_PART = 50_000_000  # Bytes of one file in a package.
LONGEST_SAMPLE = 10_000  # Characters to guess the divider of a table's cells from.
DIVIDERS = ",;\t|"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_HEADING = re.compile(r"heading ([1-6])", re.IGNORECASE)
_SHEET_NAME = re.compile(r"xl/worksheets/sheet(\d+)\.xml")


def docx_sections(body: bytes) -> list[DocumentSection]:
    """Return the sections of a Word document; the rows of its tables are lines."""
    package = zipfile.ZipFile(io.BytesIO(body))
    levels = {}
    if "word/styles.xml" in package.namelist():
        for style in _xml(package, "word/styles.xml").iter(f"{_WORD}style"):
            name = style.find(f"{_WORD}name")
            heading = _HEADING.fullmatch("" if name is None else name.get(f"{_WORD}val", ""))
            levels[style.get(f"{_WORD}styleId", "")] = int(heading[1]) if heading else 0
    blocks = []
    for block in _blocks(_xml(package, "word/document.xml")):
        if block.tag == f"{_WORD}tr":
            blocks.append(" | ".join(_letters(cell) for cell in block.iter(f"{_WORD}tc")))
        else:
            styled = block.find(f"{_WORD}pPr/{_WORD}pStyle")
            level = 0 if styled is None else levels.get(styled.get(f"{_WORD}val", ""), 0)
            blocks.append(f"{'#' * level} {_letters(block)}".strip())
    return markdown_sections("\n\n".join(blocks))


def xlsx_sections(body: bytes) -> list[DocumentSection]:
    """Return the sheets of a workbook; a date appears as the number in the file."""
    package = zipfile.ZipFile(io.BytesIO(body))
    shared: list[str] = []
    if "xl/sharedStrings.xml" in package.namelist():
        strings = _xml(package, "xl/sharedStrings.xml").iter(f"{_SHEET}si")
        shared = ["".join(text.text or "" for text in string.iter(f"{_SHEET}t")) for string in strings]
    names = [sheet.get("name", "") for sheet in _xml(package, "xl/workbook.xml").iter(f"{_SHEET}sheet")]
    numbers = sorted(int(file[1]) for name in package.namelist() if (file := _SHEET_NAME.fullmatch(name)))
    sections = []
    for place, number in enumerate(numbers):
        rows = _xml(package, f"xl/worksheets/sheet{number}.xml").iter(f"{_SHEET}row")
        text = table_text([_cell(cell, shared) for cell in row.iter(f"{_SHEET}c")] for row in rows)
        sections.append(DocumentSection(names[place] if place < len(names) else "", text))
    return sections


def epub_sections(body: bytes) -> Iterator[DocumentSection]:
    """Yield the sections of a book, in reading order."""
    package = zipfile.ZipFile(io.BytesIO(body))
    [place, *_] = [
        it.get("full-path", "") for it in _xml(package, "META-INF/container.xml").iter() if _is(it, "rootfile")
    ]
    parts = [*_xml(package, place).iter()]
    files = {item.get("id"): item.get("href", "") for item in parts if _is(item, "item")}
    for reference in (part for part in parts if _is(part, "itemref")):
        name = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(files[reference.get("idref")])))
        yield from html_sections(_read(package, name).decode("utf-8", "replace"))


def csv_sections(body: bytes) -> list[DocumentSection]:
    """Return a table as one section; each row has the names of its columns."""
    text = decoded(body)
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:LONGEST_SAMPLE], DIVIDERS)
        return [DocumentSection("", table_text(csv.reader(io.StringIO(text), dialect)))]
    except csv.Error:
        return [DocumentSection("", text)]


def table_text(rows: Iterable[Sequence[str]]) -> str:
    """Return a table as text: one line for each row, each cell after its name from the first row."""
    filled = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if len(filled) < 2 or not all(filled[0]):
        return "\n".join("; ".join(filter(None, row)) for row in filled)
    named = ([f"{name}: {cell}" for name, cell in zip(filled[0], row, strict=False) if cell] for row in filled[1:])
    return "\n".join("; ".join(row) for row in named)


def _blocks(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yield the paragraphs of a document and the rows of its tables, in their order."""
    for inner in element:
        if inner.tag in (f"{_WORD}p", f"{_WORD}tr"):
            yield inner
        else:
            yield from _blocks(inner)


def _letters(element: ElementTree.Element) -> str:
    signs = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n"}
    parts = (it.text or "" if it.tag == f"{_WORD}t" else signs.get(it.tag, "") for it in element.iter())
    return "".join(parts).strip()


def _cell(cell: ElementTree.Element, shared: Sequence[str]) -> str:
    value = cell.find(f"{_SHEET}v")
    text = "".join(it.text or "" for it in cell.iter(f"{_SHEET}t")) if value is None else value.text or ""
    return shared[int(text)] if cell.get("t") == "s" else text


def _xml(package: zipfile.ZipFile, name: str) -> ElementTree.Element:
    return ElementTree.fromstring(_read(package, name))


def _read(package: zipfile.ZipFile, name: str) -> bytes:
    with package.open(name) as part:
        body = part.read(LARGEST_PART + 1)
    if len(body) > LARGEST_PART:
        raise ValueError("a part of the file is too large")
    return body


def _is(element: ElementTree.Element, name: str) -> bool:
    return element.tag.rpartition("}")[2] == name


OFFICE: dict[str, Callable[[bytes], Iterable[DocumentSection]]] = {
    ".docx": docx_sections,
    ".xlsx": xlsx_sections,
    ".epub": epub_sections,
    ".csv": csv_sections,
}
