"""Lists of threads, a page at a time: the thread last written to comes first. A search reads a bounded number."""

from collections.abc import Awaitable, Callable

from agents.memory.inbox import ThreadInfo, ThreadPage, lines_of
from agents.memory.transcript import Transcript

MOST_LISTED, MOST_READ, MOST_LINES = 100, 200, 1_000
"""Threads of a page, threads that a search reads for one, and last lines of each that it looks through."""
IsWanted = Callable[[ThreadInfo], Awaitable[bool]]


async def thread_page(
    transcript: Transcript,
    user: str | None = None,
    prefix: str = "",
    *,
    words: str = "",
    before: int | None = None,
    most: int = MOST_LISTED,
    is_wanted: IsWanted | None = None,
    most_read: int = MOST_READ,
) -> ThreadPage:
    """Return a page of `Transcript.threads`: threads with `words` in name or last lines, as far as `is_wanted` permits.

    A page of a search may have few rows, or none, and a next page.
    """

    async def fits(info: ThreadInfo) -> bool:
        if is_wanted and not await is_wanted(info):
            return False
        return comparable(words) in comparable(info.thread) or await has_words(transcript, info.thread, words, user)

    read, rows = (most_read if words or is_wanted else most), list[ThreadInfo]()
    infos = await transcript.threads(user, prefix, before=before, most=read + 1)
    for place, info in enumerate(infos[:read], 1):
        if await fits(info):
            rows.append(info)
        if place < len(infos) and (len(rows) == most or place == read):
            return ThreadPage(rows, info.place)
    return ThreadPage(rows)


async def has_words(transcript: Transcript, thread: str, words: str, user: str | None = None) -> bool:
    """Tell whether the last lines of a thread have some words; with a user only that user's lines count."""
    lines, sought = await transcript.lines(thread, limit=MOST_LINES), comparable(words)
    return any(sought in comparable(line.text) for line in (lines if user is None else lines_of(user, lines)))


def comparable(text: str) -> str:
    """Return a text in one case and with single spaces."""
    return " ".join(text.casefold().split())
