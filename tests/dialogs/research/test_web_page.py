"""What of a fetched page is passed on."""

import pytest

from agents.sources.documents import reader_process
from agents.sources.web.fetcher import Download, FetchError
from dialogs.research.web_page import page_text
from tests.support.pdf_file import pdf, pdf_of

ARTICLE = (
    b"<html><head><title>Knots &amp; ropes</title><meta name='date' content='2026-10-01'></head><body>"
    b"<nav>Home News Shop</nav><article><h1>Knots</h1><p>A bowline makes a loop that does not slip, and sailors trust "
    b"it.</p><script>steal()</script><p>&lt;b&gt;Whip&lt;/b&gt; the end of each rope.</p></article></body></html>"
)


async def test_a_page_becomes_text() -> None:
    """Menus and scripts are gone, title and date are known; a text that looks like a tag stays."""
    page = await page_text(Download("https://k.example", "text/html", ARTICLE))

    assert (page.title, page.published) == ("Knots", "2026-10-01")
    assert "A bowline makes a loop" in page.text
    assert "<b>Whip</b> the end" in page.text
    assert "steal" not in page.text
    assert "Shop" not in page.text


@pytest.mark.parametrize("encoding", ["utf-8", "cp1251", "koi8_r", "cp866"])
@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
async def test_a_page_that_does_not_tell_its_encoding(kind: str, encoding: str) -> None:
    """It is read as what its letters are most like."""
    russian_page = "Беседочный узел держит петлю, и моряки ему доверяют. " * 5
    body = f"<html><body><article><h1>Узлы</h1><p>{russian_page}</p></article></body></html>"
    page = await page_text(Download("u", kind, body.encode(encoding)))

    assert "Беседочный узел держит петлю" in page.text


async def test_a_page_that_is_slow_to_read_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large page is read in a process of its own, which ends; a thread would work on it for minutes."""
    page = await page_text(Download("u", "text/html", ARTICLE.replace(b"<p>", b"<p>" + b" " * 200_000)))
    assert "A bowline makes a loop" in page.text

    monkeypatch.setattr(reader_process, "SECONDS", 1)
    slow = b"<p " + b" ".join(b"a%d=1" % number for number in range(150_000)) + b">A bowline makes a loop.</p>"
    with pytest.raises(FetchError, match="cannot be read"):
        await page_text(Download("u", "text/html", slow))


@pytest.mark.parametrize(
    "download",
    [
        Download("u", "text/html", b""),
        Download("u", "text/html", b"\x00\xff" * 50),
        Download("u", "application/pdf", b"%PDF-1.7 nothing"),
        Download("u", "text/plain", b" \n"),
    ],
)
async def test_a_page_without_text_is_told(download: Download) -> None:
    """Nothing, rubbish and damaged files."""
    with pytest.raises(FetchError):
        await page_text(download)


async def test_a_pdf_of_the_web_is_read_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text comes back; one that takes too long is ended."""
    page = await page_text(Download("u", "application/pdf", pdf("Two years.")))
    assert page.text == "Two years."

    monkeypatch.setattr(reader_process, "SECONDS", 1)
    bomb = Download("u", "application/pdf", pdf_of(b"(a) Tj " * 3_000_000))
    with pytest.raises(FetchError, match="read"):
        await page_text(bomb)
