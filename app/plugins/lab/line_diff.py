"""Two texts beside each other, line by line."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple


class LinePair(NamedTuple):
    """A line of each text; empty where the other one has a line more."""

    left: str
    right: str
    is_same: bool


def beside(left: str, right: str) -> Iterator[LinePair]:
    """Yield the lines of two texts, those that are the same in one row."""
    old, new = left.splitlines(), right.splitlines()
    for kind, begin, end, new_begin, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for pair in zip_longest(old[begin:end], new[new_begin:new_end], fillvalue=""):
            yield LinePair(*pair, kind == "equal")
