"""How servers say what is wrong with a request, in words of several languages: `wordings.toml` is the table."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

NUMBER = r"(\d{1,9})(?!\d)"
"""What stands for `#`."""


@cache
def wording(kind: str) -> re.Pattern[str]:
    """Return the form of all wordings of a kind."""
    return re.compile("|".join(_table()[kind]).replace("#", NUMBER), re.IGNORECASE)


def says(kind: str, text: str) -> bool:
    """Tell whether a text says what this kind of wordings says."""
    return wording(kind).search(text) is not None


def named_in(kind: str, text: str) -> str:
    """Return the number or the name that the first wording of a kind in a text has in it, or nothing."""
    match = wording(kind).search(text)
    return next(filter(None, match.groups()), "") if match else ""


@cache
def _table() -> Mapping[str, Sequence[str]]:
    return tomllib.loads(Path(__file__).with_name("wordings.toml").read_text("utf-8"))
