"""Read single values from the answer of a search service: any value may be missing or of another type."""

import html
import re
from collections.abc import Mapping
from datetime import date, datetime
from email.utils import parsedate_to_datetime

from agents.events.views import is_web
from agents.language.text.clean import clean

LONGEST_TEXT = 4_000
"""The most characters of a snippet, and of any other text of a service."""
LONGEST_ADDRESS = 2_000
_TAG = re.compile(r"<[^<>]*>")
_SPACES = re.compile(r"\s+")


def rows(answer: object, name: str) -> list[Mapping[str, object]]:
    """Return the objects of a list in an answer; empty if the answer has no such list."""
    entries = answer.get(name) if isinstance(answer, Mapping) else None
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


def text(row: Mapping[str, object], *names: str) -> str:
    """Return the first text that a row has under one of the names: on one line, without markup."""
    value = _first(row, names)
    # Tags go twice, because snippets come with tags, with escaped letters, and with escaped tags.
    bare = _TAG.sub("", html.unescape(_TAG.sub("", value)))
    return _SPACES.sub(" ", clean(bare)).strip()[:LONGEST_TEXT]


def address(row: Mapping[str, object], *names: str) -> str:
    """Return the first web address that a row has under one of the names; empty if it has none."""
    value = _first(row, names).strip()
    value = f"https:{value}" if value.startswith("//") else value
    return value if is_web(value) and len(value) <= LONGEST_ADDRESS else ""


def number(row: Mapping[str, object], *names: str) -> int | None:
    """Return the first whole number above zero that a row has under one of the names."""
    for name in names:
        value = str(row.get(name, ""))
        if value.isdecimal() and 0 < int(value[:9]) < 1_000_000:
            return int(value)
    return None


def day(row: Mapping[str, object], *names: str) -> str | None:
    """Return the first date that a row has under one of the names, as `2026-11-22`."""
    value = _first(row, names).strip()
    for read in (datetime.fromisoformat, date.fromisoformat, parsedate_to_datetime):
        try:
            return f"{read(value):%Y-%m-%d}"
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _first(row: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str) and value.strip()), "")
