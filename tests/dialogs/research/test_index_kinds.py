"""Kinds of files that are indexed: office formats, tables, data, old encodings, what generators leave beside pages."""

import asyncio
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agents.sources.documents.encoding import decoded
from agents.sources.documents.files import Unreadable, contents
from agents.sources.documents.html import html_sections
from agents.sources.documents.markdown import DocumentSection
from app.assistant.attached_text import text_of
from app.cli import command_line
from dialogs.research import documents
from dialogs.research.documents import passages, sections_of
from dialogs.research.index import DocumentIndex, index_folder

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
STYLES = f'<w:styles {W}><w:style w:styleId="2"><w:name w:val="heading 2"/></w:style></w:styles>'
LETTER = f"""<w:document {W}><w:body>
<w:p><w:pPr><w:pStyle w:val="2"/></w:pPr><w:r><w:t>Возврат</w:t></w:r></w:p>
<w:p><w:r><w:t>Товар </w:t></w:r><w:r><w:t>примут.</w:t><w:br/><w:t>За 14 дней.</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>чек</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>нужен</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
</w:body></w:document>"""
BOOK = f'<workbook {S}><sheets><sheet name="Prices"/></sheets></workbook>'
STRINGS = f"<sst {S}><si><t>name</t></si><si><t>price</t></si><si><r><t>bo</t></r><r><t>lt</t></r></si></sst>"
SHEET = f"""<worksheet {S}><sheetData>
<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>
<row><c t="s"><v>2</v></c><c><v>0.25</v></c></row>
<row><c t="inlineStr"><is><t>nut</t></is></c></row>
</sheetData></worksheet>"""
CONTAINER = '<container xmlns="urn:x"><rootfiles><rootfile full-path="book/a.opf"/></rootfiles></container>'
ORDER = """<package xmlns="urn:y"><manifest><item id="2" href="two.xhtml"/><item id="1" href="one%20.xhtml"/></manifest>
<spine><itemref idref="1"/><itemref idref="2"/></spine></package>"""


def package(parts: Mapping[str, str]) -> bytes:
    """Return files packed as one."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return packed.getvalue()


DOCX = package({"word/document.xml": LETTER, "word/styles.xml": STYLES})
XLSX = package({"xl/workbook.xml": BOOK, "xl/sharedStrings.xml": STRINGS, "xl/worksheets/sheet1.xml": SHEET})
EPUB = package(
    {
        "META-INF/container.xml": CONTAINER,
        "book/a.opf": ORDER,
        "book/two.xhtml": "<h1>Two</h1><p>Second.",
        "book/one .xhtml": "<?xml version='1.0'?><h1>One</h1><p>First.",
    }
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "body", "sections"),
    [
        ("a.docx", DOCX, [("Возврат", "Товар примут.\nЗа 14 дней.\n\nчек | нужен")]),
        ("a.xlsx", XLSX, [("Prices", "name: bolt; price: 0.25\nname: nut")]),
        ("a.epub", EPUB, [("One", "First."), ("Two", "Second.")]),
    ],
)
def test_packed_formats(name: str, body: bytes, sections: list[tuple[str, str]], tmp_path: Path) -> None:
    """A document, a workbook and a book, indexed and attached; each is read in a process of its own."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_bytes(body)
    index = DocumentIndex(tmp_path / "index.db")

    report = index_folder(index, tmp_path / "docs", "", lambda *_: None)

    assert (report.added, report.unreadable) == (1, [])
    results = [(passage.title, passage.text) for passage in index.search("чек bolt first second", 5, "en")]
    assert sorted(results) == sorted(sections)
    assert asyncio.run(text_of(name, body, 1000)).startswith(sections[0][0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("bomb.docx", lambda: package({"word/document.xml": " " * 60_000_000})),
        (
            "laughs.docx",
            lambda: package(
                {
                    "word/document.xml": "<!DOCTYPE a [<!ENTITY a 'ha'>"
                    + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10 if n else '&a;' * 10}'>" for n in range(12))
                    + "]><a>&a11;</a>"
                }
            ),
        ),
        ("empty.docx", lambda: package({})),
        ("broken.xlsx", lambda: b"PK\x03\x04broken"),
        ("lost.epub", lambda: package({"META-INF/container.xml": CONTAINER, "book/a.opf": ORDER})),
    ],
)
def test_a_harmful_package_is_one_line(name: str, make: Callable[[], bytes]) -> None:
    """One that unpacks to very much, that has no parts, or that is damaged."""
    with pytest.raises(Unreadable, match="file cannot be read"):
        sections_of(name, make())


@pytest.mark.parametrize(
    ("name", "text", "sections"),
    [
        ("a.csv", "name;price\nbolt;0,25\nnut;", [DocumentSection("a", "name: bolt; price: 0,25\nname: nut")]),
        ("a.csv", "only words", [DocumentSection("a", "only words")]),
        ("a.json", '{"a": 1}\n{"a": 2}', [DocumentSection("a", '{"a": 1}\n{"a": 2}')]),
        (
            "a.adoc",
            "= Bikes\n\n== Chain\n\nOil.\n\n----\n== no\n----",
            [DocumentSection("Bikes › Chain", "Oil.\n\n```\n## no\n```", "chain")],
        ),
    ],
)
def test_tables_and_data(name: str, text: str, sections: list[DocumentSection]) -> None:
    """Rows and values stand with their names; a file of another kind than its name is text."""
    assert sections_of(name, text.encode()) == sections


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "cp866", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize(
    "text",
    [
        "Гарантия 2 года",
        "Цена;Имя\n100;Молоко\n",
        "README\n\nInstall: run setup.exe, затем перезагрузите компьютер.\n",
        "ВНИМАНИЕ! НЕ КУРИТЬ",
    ],
)
def test_old_encodings_of_russian(text: str, encoding: str) -> None:
    """Short texts, tables and mixed ones."""
    assert decoded(text.encode(encoding)) == text


@pytest.mark.parametrize("text", ["Привет, мир", "\ufeffПривет", "再见，世界"])
def test_a_text_that_is_cut_within_a_letter(text: str) -> None:
    """Of a long file only the beginning is read; the letter that was cut is left out."""
    assert decoded(text.encode()[:-1]) == text.removeprefix("\ufeff")[:-1]


@pytest.mark.parametrize(
    "text", ["Le café est fermé à midi.", "Größe und Länge der Straße", "It costs £5 a year", "naïve façade"]
)
def test_old_encodings_of_latin_letters(text: str) -> None:
    """One table of letters holds Western Europe."""
    assert decoded(text.encode("latin-1")) == text


SPHINX = """<html><head><title>csv — Files</title></head><body>
<div class="related" role="navigation"><p>csv modules index</p></div>
<h1 id="csv">csv<a class="headerlink" href="#csv" title="Link">¶</a></h1>
<p>Reads tables.</p><h2 id="o">Options</h2><hr/>
<table class="index"><tr><td><a href="x.html">csv.reader</a></td><td><a href="y.html">csv.writer</a></td></tr></table>
<div class="sphinxsidebar" role="navigation"><h3>This page</h3><p>csv source</p></div></body></html>"""


def test_what_generators_put_around_a_page_is_left_out(tmp_path: Path) -> None:
    """Signs beside titles, lines, tables of links, menus, and the sources that Sphinx keeps beside its pages."""
    assert html_sections(SPHINX)[0] == DocumentSection("csv", "Reads tables.", "csv")
    assert [section.text for section in sections_of("csv.html", SPHINX.encode())] == ["Reads tables."]

    (tmp_path / "html" / "_sources").mkdir(parents=True)
    (tmp_path / "html" / "csv.html").write_text(SPHINX, "utf-8")
    (tmp_path / "html" / "_sources" / "csv.rst.txt").write_text("csv\n===\nReads tables.", "utf-8")
    index = DocumentIndex(tmp_path / "index.db")
    index_folder(index, tmp_path / "html", "", lambda *_: None)
    assert [(passage.title, passage.url) for passage in index.search("csv", 5, "en")] == [("csv", "csv.html#csv")]


def test_pipes_are_skipped_and_kinds_that_are_not_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody waits for whoever writes into a pipe, and nobody is left to guess why a file is not found."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a.md", "old.doc", "b.doc", "Makefile"):
        (folder / name).write_text("chain", "utf-8")
    os.mkfifo(folder / "pipe.md")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/dialogs.db")
    monkeypatch.setenv("APP_LANG", "en")

    assert command_line.main(["index", "add", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "1 read, 0 unchanged, 0 gone, 0 unreadable" in out
    assert "such files are not read: .doc 2, .md 1, Makefile 1" in out
    assert command_line.main(["index", "add", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == {".doc": 2, ".md": 1, "Makefile": 1}
    assert command_line.main(["index", "add", str(folder / "pipe.md")]) == 2
    with pytest.raises(Unreadable, match="not an ordinary file"):
        contents(folder / "pipe.md")


def test_a_size_is_looked_at_before_a_file_is_read(tmp_path: Path) -> None:
    """A file of eight gigabytes that takes no room on the disk costs nothing."""
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(8_000_000_000)

    report = index_folder(DocumentIndex(tmp_path / "i.db"), tmp_path, "", lambda *_: None)

    assert report.unreadable == ["huge.txt: it is larger than 50 MB"]


def test_a_long_line_is_cut_as_it_is_read() -> None:
    """A text without an end of line is not taken apart word by word before."""
    parts = passages("word " * 3_000_000, 2_000)

    assert len(next(parts)) <= 2_000
    assert sum(1 for _ in parts) > 7_000


@pytest.mark.slow
def test_a_large_text_is_read_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large text has the limits of a package: in time and memory."""
    monkeypatch.setattr(documents, "PATIENCE", 0)
    with pytest.raises(Unreadable, match="not read within 0 seconds"):
        sections_of("deep.html", b"<div><p>word</p>" * 1_000_000)
