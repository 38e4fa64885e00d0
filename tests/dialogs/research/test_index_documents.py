"""Documents of one's own: read as sections, indexed step by step, found by the retriever and shown by the command."""

import asyncio
import json
import os
import random
import stat
import threading
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from agents.errors import UsageError
from agents.sources.documents.html import html_sections
from agents.sources.documents.markdown import markdown_sections
from app.cli import command_line
from dialogs.research.command_line import indexed
from dialogs.research.documents import passages
from dialogs.research.index import HELP, DocumentIndex, index_folder, index_help, remove
from prompts import languages
from tests.support.pdf_file import pdf
from tests.support.until import until

GUIDE = "# Shop\n\nWelcome.\n\n## Returns\n\nGoods come back within 30 days.\n\n```\n# no heading\n```\n"
PAGE = """<html><head><title>Delivery</title><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav><ul><li><a href="#a">Costs</a></li><li><a href="#b">Times</a></li></ul>
<h1 id="top">Доставка</h1><p>Курьер привозит&nbsp;<b>заказы</b> в тот же день.</p><script>alert(1)</script>
<h2><a id="cost"></a>Цена</h2><p>Двести рублей.</p><pre>a
  b</pre></body>"""


def silent(done: int, total: int, name: str) -> None:
    """Show no progress."""


@pytest.fixture
def index(tmp_path: Path) -> DocumentIndex:
    """Return an index with nothing in it."""
    return DocumentIndex(tmp_path / "var" / "try.documents.db")


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """Return a folder with a file of each kind, and some that are none of its documents."""
    folder = tmp_path / "manual"
    (folder / "more").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "guide.md").write_text(GUIDE, "utf-8")
    (folder / "more" / "delivery.html").write_text(PAGE, "utf-8")
    (folder / "more" / "warranty.pdf").write_bytes(pdf("The warranty lasts two years."))
    (folder / "old.txt").write_bytes("Оплата картой или наличными при получении заказа.".encode("cp1251"))
    (folder / ".git" / "hidden.md").write_text("warranty", "utf-8")
    (folder / "data.bin").write_bytes(b"\0warranty")
    return folder


def found(index: DocumentIndex, query: str) -> list[str]:
    """Return the places that a query finds."""
    return [passage.url for passage in index.search(query, 5, "en")]


def test_markdown_has_a_section_for_each_heading() -> None:
    """A title names the headings above it; a line of code is no heading."""
    assert [(part.title, part.anchor) for part in markdown_sections(GUIDE)] == [
        ("Shop", "shop"),
        ("Shop › Returns", "returns"),
    ]


def test_html_is_text_and_its_navigation_is_left_out() -> None:
    """Neither scripts nor menus nor lists of links are text; letters are unescaped, code keeps its lines."""
    top, cost = html_sections(PAGE)

    assert (top.title, top.anchor, top.text) == ("Доставка", "top", "Курьер привозит заказы в тот же день.")
    assert (cost.title, cost.anchor, cost.text) == ("Доставка › Цена", "cost", "Двести рублей.\n\n```\na\n  b\n```")


def test_any_markup_is_read() -> None:
    """Whatever is broken in a page, some text comes out, and no error."""
    pieces = [
        *("<![if", "<![CDATA[", "<!", "<!--", "-->", "<h1>", "</h1>", "<h2", "'>"),
        *("<script>", "</script", "&#xd800;", "<ul>", "</ul>", "<?php"),
    ]
    chance = random.Random(1)

    for _ in range(500):
        html_sections("".join(chance.choice(pieces) for _ in range(12)))
    assert html_sections("<p><![if !supportLists]>1.<![endif]> One</p>")[0].text == "1. One"


def test_a_long_section_is_cut_between_paragraphs() -> None:
    """No passage is longer than it may be, and nothing is lost, be it one word without an end."""
    text = "\n\n".join(f"Paragraph {number} says a little." for number in range(50)) + "\n\n" + "x" * 950

    parts = list(passages(text, 400))

    assert max(map(len, parts)) <= 400
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert parts[0].endswith("little.")


def test_a_folder_is_indexed_step_by_step(index: DocumentIndex, manual: Path) -> None:
    """New and changed files are read, deleted ones are taken out, the others are left alone."""
    steps: list[tuple[int, int, str]] = []
    first = index_folder(index, manual, "https://docs.example/", lambda *step: steps.append(step))

    assert (first.added, first.unchanged, first.removed, first.unreadable) == (4, 0, 0, [])
    assert {stat.S_IMODE(file.stat().st_mode) for file in index.path.parent.iterdir()} == {0o600}
    assert steps[0] == (0, 4, "guide.md")
    assert steps[-1] == (4, 4, "")
    assert found(index, "what goods come back?")[0] == "https://docs.example/guide.md#returns"
    assert found(index, "сколько рублей")[0] == "https://docs.example/more/delivery.html#cost"
    assert found(index, "warranties") == ["https://docs.example/more/warranty.pdf#page=1"]
    assert found(index, "наличные") == ["https://docs.example/old.txt"]

    (manual / "old.txt").unlink()
    (manual / "guide.md").write_text("# Shop\n\nGoods are exchanged.", "utf-8")
    second = index_folder(index, manual, "", silent)

    assert (second.added, second.unchanged, second.removed) == (1, 2, 1)
    assert found(index, "наличные") == []
    assert found(index, "come back") == []
    assert found(index, "exchange") == ["guide.md#shop"]


def test_a_hit_has_the_day_of_its_file(index: DocumentIndex, manual: Path) -> None:
    """The day follows the file, also where its words stayed as they were."""
    guide = manual / "guide.md"
    for day in (20_000, 20_001):
        os.utime(guide, (day * 86_400, day * 86_400))
        index_folder(index, manual, "", silent)
        assert index.search("what goods come back?", 1, "en")[0].day == str(date(1970, 1, 1) + timedelta(day))


def test_a_damaged_file_is_named_and_the_rest_is_read(index: DocumentIndex, manual: Path) -> None:
    """Its old contents stay until it can be read again."""
    index_folder(index, manual, "", silent)
    (manual / "more" / "warranty.pdf").write_bytes(b"%PDF-1.4 broken")

    report = index_folder(index, manual, "", silent)

    assert len(report.unreadable) == 1
    assert "PDF" in report.unreadable[0]
    assert found(index, "warranty") == ["more/warranty.pdf#page=1"]
    assert report.skipped == {".bin": 1}


def test_a_name_that_is_no_text_is_told(index: DocumentIndex, manual: Path) -> None:
    """Some file systems have names in other encodings."""
    Path(os.fsdecode(os.fsencode(manual) + b"/\xff.md")).write_text("warranty", "utf-8")

    report = index_folder(index, manual, "", silent)

    assert (report.added, len(report.unreadable)) == (4, 1)


def test_what_overlaps_is_refused_and_what_was_added_can_be_removed(index: DocumentIndex, manual: Path) -> None:
    """A text that was indexed twice would be found twice."""
    index_folder(index, manual, "", silent)

    with pytest.raises(UsageError, match="overlaps"):
        index_folder(index, manual / "more", "", silent)
    with pytest.raises(UsageError, match="no such file"):
        index_folder(index, manual / "none", "", silent)
    assert remove(index, str(manual))
    assert not remove(index, str(manual))
    assert found(index, "warranty") == []
    assert index.folders() == []


def test_the_help_pages_are_there_until_they_are_removed(index: DocumentIndex) -> None:
    """They come in by themselves, in each language, once; removed they stay out."""
    index_help(index)
    index_help(index)
    [folder] = index.folders()

    assert (folder.path, folder.files) == (HELP, len(languages()))
    assert found(index, "remind me in 20 minutes")[0] == "help/en#reminders-alarms-timers"
    assert "help/ru#" in found(index, "часовой пояс")[0]

    remove(index, HELP)
    index_help(index)
    assert index.folders() == []


def test_any_text_is_a_query(index: DocumentIndex) -> None:
    """Signs, quotes, operators of FTS5 and everyday words find nothing, and break nothing."""
    index_help(index)

    odd = ['"', "NEAR(", "a AND", "*", "'; DROP TABLE words; --", "\0", "😀", "x" * 9_000]
    for query in ["", "   ", *odd, "the of and"]:
        assert found(index, query) == []


def test_the_command_adds_lists_and_removes(
    manual: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`index add`, `list` and `remove` as an operator uses them; faults are one line and an exit code."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/dialogs.db")
    monkeypatch.setenv("APP_LANG", "en")
    for refused in ("add", "remove"):
        assert command_line.main(["index", refused, str(tmp_path / "nowhere")]) == 2
    assert command_line.main(["index", "list"]) == 0
    assert "help" in capsys.readouterr().out
    assert not [*tmp_path.glob("dialogs.*")]

    assert command_line.main(["index", "add", str(manual), "--url", "https://docs.example/"]) == 0
    assert "4 read, 0 unchanged, 0 gone, 0 unreadable" in capsys.readouterr().out
    assert command_line.main(["index", "list", "--json"]) == 0
    listed: list[Mapping[str, object]] = json.loads(capsys.readouterr().out)
    assert [(entry["path"], entry["files"]) for entry in listed] == [(str(manual), 4), (HELP, len(languages()))]
    assert command_line.main(["index", "remove", str(manual)]) == 0
    assert command_line.main(["index", "remove", str(manual)]) == 2
    assert "is not indexed; these are: help" in capsys.readouterr().err
    (manual / "more" / "warranty.pdf").write_bytes(b"%PDF-1.4 broken")
    assert command_line.main(["index", "add", str(manual)]) == 1


async def test_stopped_it_keeps_what_was_read_and_goes_on_from_there(
    tmp_path: Path, index: DocumentIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with the file at hand; the same command again reads the rest."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:03}.md").write_text(f"# Note {number}\n\nA text about number {number}.", "utf-8")
    is_halfway, is_cancelled = threading.Event(), threading.Event()

    def contents(file: Path) -> bytes:
        if file.stem == "150":
            is_halfway.set()
            is_cancelled.wait()
        return file.read_bytes()

    monkeypatch.setattr("dialogs.research.index.contents", contents)
    adding = asyncio.create_task(indexed(index, folder, ""))
    await until(is_halfway.is_set)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    is_cancelled.set()
    report = index_folder(index, folder, "", silent)

    assert report.unchanged >= 150
    assert report.added + report.unchanged == 300
