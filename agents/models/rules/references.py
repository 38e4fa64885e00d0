"""Entries of a numbered list, found by what people call them: "2", "the second one", "the milk"."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agents.models.rules.values import items
from agents.text.vocabulary import Vocabulary

_ENTRY = re.compile(r"^\s*(\d+)[.)]\s+(.+?)\s*$", re.MULTILINE)
_MARK = re.compile(r"\s*\(([^)]*)\)$")


@dataclass(frozen=True)
class Found:
    """The numbers that were meant, names that are not on the list, and entries between which to choose."""

    numbers: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()
    choices: tuple[int, ...] = ()


def entries(text: str) -> dict[int, str]:
    """Return the entries of a text that holds a numbered list, by number; empty if there is none."""
    return {int(number): entry for number, entry in _ENTRY.findall(text)}


def only_entries(text: str) -> bool:
    """Whether a text is a numbered list and nothing else."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_ENTRY.match(line) for line in lines)


def plain_number(raw: str, words: Vocabulary) -> int | None:
    """Return the number that the words name by themselves ("2", "the second one"), -1 for the last."""
    numbers, rest = _numbers(raw, words)
    return numbers[0] if len(numbers) == 1 and not rest else None


def refer(raw: str, listing: Mapping[int, str], words: Vocabulary) -> Found:
    """Find the entries of `listing` that the words mean."""
    if exact := _exact(raw, listing, words):
        return Found((exact,))
    if words.means(raw, "references.all"):
        return Found(tuple(listing))
    found: list[int] = []
    unknown: list[str] = []
    for piece in items(raw, words) or [raw]:
        one = _one(piece, listing, words)
        if one.choices:
            return one
        found += one.numbers
        unknown += one.unknown
    return Found(tuple(dict.fromkeys(found)), tuple(unknown))


def _one(raw: str, listing: Mapping[int, str], words: Vocabulary) -> Found:
    if (number := plain_number(raw, words)) is not None:
        number = max(listing, default=0) if number == -1 else number
        return Found((number,)) if number in listing else Found(unknown=(raw,))
    if exact := _exact(raw, listing, words):
        return Found((exact,))
    wanted = _content(raw, words)
    held = {number: set(words.stems(entry)) for number, entry in listing.items()}
    near = [number for number, stems in held.items() if wanted and wanted <= stems]
    if len(near) == 1:
        return Found((near[0],))
    return Found(choices=tuple(near)) if near else Found(unknown=(raw,))


def _exact(raw: str, listing: Mapping[int, str], words: Vocabulary) -> int | None:
    key = words.key(raw)
    return next((number for number, entry in listing.items() if words.key(_MARK.sub("", entry)) == key), None)


def _content(raw: str, words: Vocabulary) -> set[str]:
    return _bare(set(words.stems(raw)), words)


def _bare(stems: set[str], words: Vocabulary) -> set[str]:
    return stems - _nouns(words) - words.fillers


def _nouns(words: Vocabulary) -> set[str]:
    return {stem for noun in words.phrases("references.nouns") for stem in words.stems(noun)}


def _numbers(raw: str, words: Vocabulary) -> tuple[list[int], set[str]]:
    stems = words.stems(raw)
    known = {stem: int(stem) if stem.isdecimal() else words.numbers.get(stem) for stem in stems}
    named = [stem for stem in stems if known[stem] is not None]
    if len(named) > 1:
        # "the second one": the ordinal counts, "one" only stands for the thing.
        named = [stem for stem in named if stem not in _nouns(words)]
    numbers = [number for stem in named if (number := known[stem]) is not None]
    return numbers, _bare({stem for stem in stems if known[stem] is None}, words)
