"""The text of a downloaded page, without its menus, scripts and markup."""

import codecs
from dataclasses import dataclass
from io import BytesIO

from agents.language.text.clean import clean
from agents.sources.web.fetcher import HTML, PDF, Download, NotFetched

MOST_PAGES = 50
"""Pages of a PDF that are read."""
LONGEST_TITLE = 200


@dataclass(frozen=True)
class PageText:
    """What a page says; never HTML. `published` is a date such as `2026-11-22`."""

    title: str
    text: str
    published: str | None = None


def page_text(download: Download) -> PageText:
    """Return what a page says. It takes up to a second of computing: call it in a thread.

    Raises:
        NotFetched: nothing in it can be read.
    """
    if download.kind in HTML:
        page = _html(download.body)
    elif download.kind == PDF:
        page = PageText("", pdf_text(download.body))
    else:
        page = PageText("", download.body.decode(_charset(download.charset), "replace"))
    text = clean(page.text).strip()
    if not text:
        raise NotFetched("there is no text in it")
    return PageText(" ".join(clean(page.title).split())[:LONGEST_TITLE], text, page.published)


def pdf_text(body: bytes) -> str:
    """Return the text of a PDF file, its pages separated by form feeds.

    Raises:
        NotFetched: it is damaged or locked.
    """
    from pypdf import PdfReader

    try:
        pages = PdfReader(BytesIO(body)).pages
        return "\f".join(pages[number].extract_text() for number in range(min(len(pages), MOST_PAGES)))
    # A damaged file raises whatever its parser has not foreseen.
    except Exception as broken:
        raise NotFetched(f"the PDF file cannot be read ({type(broken).__name__})") from None


def _html(body: bytes) -> PageText:
    from trafilatura import bare_extraction

    try:
        page = bare_extraction(body, with_metadata=True, favor_recall=True, fast=True, include_comments=False)
    # The parser's messages quote the page.
    except Exception as broken:
        raise NotFetched(f"the page cannot be read ({type(broken).__name__})") from None
    if page is None or isinstance(page, dict):
        raise NotFetched("there is no text in it")
    return PageText(page.title or "", page.text or "", page.date)


def _charset(name: str | None) -> str:
    try:
        return codecs.lookup(name or "utf-8").name
    except LookupError:
        return "utf-8"
