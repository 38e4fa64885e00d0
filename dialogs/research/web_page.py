"""The text of a fetched page, without menus, scripts and markup."""

import asyncio
from dataclasses import dataclass

from agents.language.text.clean import clean
from agents.sources.documents.encoding import decoded
from agents.sources.documents.markdown import DocumentSection
from agents.sources.documents.reader_process import WEB_PAGE, read, sections_in_process
from agents.sources.web.fetcher import HTML, PLAIN, Download, FetchError

LARGEST_HERE = 200_000  # The most bytes of a page to read in our own process: its author may have made it slow to read.
LONGEST_PAGE = 200_000  # The most characters of a page to read.
LONGEST_TITLE = 200


@dataclass(frozen=True)
class PageText:
    """The text of a page; never HTML. `published` is a date such as `2026-11-22`."""

    title: str
    text: str
    published: str | None = None


async def page_text(download: Download) -> PageText:
    """Return the text of a page. A large page and a PDF file are read in a process of its own.

    Raises:
        NotFetched: nothing in it can be read, or not in time.
    """
    sections = [DocumentSection("", decoded(download.body))] if download.kind in PLAIN else await _sections(download)
    text = clean("\n\n".join(section.text for section in sections)).strip()
    if not text:
        raise FetchError("there is no text in it")
    is_html = download.kind in HTML
    title = " ".join(clean(sections[0].title).split())[:LONGEST_TITLE] if is_html else ""
    return PageText(title, text, sections[0].anchor or None if is_html else None)


async def _sections(download: Download) -> list[DocumentSection]:
    try:
        if download.kind in HTML and len(download.body) <= LARGEST_HERE:
            return await asyncio.to_thread(read, WEB_PAGE, download.body, LONGEST_PAGE)
        kind = WEB_PAGE if download.kind in HTML else ".pdf"
        return await sections_in_process(kind, download.body, LONGEST_PAGE)
    # The parser's messages quote the page.
    except Exception as broken:
        raise FetchError(f"the page cannot be read ({type(broken).__name__})") from None
