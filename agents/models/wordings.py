"""Servers' words for the faults of a request, in several languages: `wordings.toml` is the table."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

NUMBER = r"(\d{1,9})(?!\d)"
"""The form that takes the place of `#`."""


@cache
def wording(kind: str) -> re.Pattern[str]:
    """Return the form of all wordings of a kind."""
    return re.compile("|".join(_table()[kind]).replace("#", NUMBER), re.IGNORECASE)


def says(kind: str, text: str) -> bool:
    """Tell whether a text has a wording of this kind."""
    return wording(kind).search(text) is not None


def named_in(kind: str, text: str) -> str:
    """Return the number or the name in the first wording of a kind in a text, or nothing."""
    match = wording(kind).search(text)
    return next(filter(None, match.groups()), "") if match else ""


@cache
def _table() -> Mapping[str, Sequence[str]]:
    return tomllib.loads(Path(__file__).with_name("wordings.toml").read_text("utf-8"))
