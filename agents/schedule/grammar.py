"""Find what a text says of time: pieces such as a day, a clock time, a repetition."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from agents.schedule.lexicon import alternatives, words
from prompts import table

PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Reading:
    """What was found in a text: for each kind of piece its values, and the words that are no piece."""

    pieces: Mapping[str, Mapping[str, Any]]
    rest: str
    """The words left over, as they were written; none that mean nothing beside a time."""
    places: tuple[tuple[int, int], ...]
    """Where in the text the pieces begin and end, in order."""


@dataclass(frozen=True)
class _Piece:
    kind: str
    start: int
    end: int
    texts: dict[str, str]


def read(text: str, lang: str) -> Reading | None:
    """Return what `text` says of time; None when it says nothing, contradicts itself or names what is not."""
    plain = text.lower().replace("ё", "е").replace("\N{NO-BREAK SPACE}", " ").replace("’", "'")
    if len(plain) != len(text):
        return None
    chosen: list[_Piece] = []
    for piece in sorted(_found(plain, lang), key=lambda piece: piece.start - piece.end):
        if all(piece.end <= other.start or other.end <= piece.start for other in chosen):
            chosen.append(piece)
    if not chosen or len({piece.kind for piece in chosen}) < len(chosen):
        return None
    known = words(lang)
    try:
        pieces = {
            piece.kind: {name: known.value(name, found) for name, found in piece.texts.items()} for piece in chosen
        }
    except ValueError:
        return None
    chosen.sort(key=lambda piece: piece.start)
    return Reading(pieces, _rest(text, chosen, lang), tuple((piece.start, piece.end) for piece in chosen))


def _found(plain: str, lang: str) -> list[_Piece]:
    return [
        _Piece(kind, *match.span(), {name: found for name, found in match.groupdict().items() if found})
        for kind, pattern in _patterns(lang)
        for match in pattern.finditer(plain)
    ]


def _rest(text: str, chosen: list[_Piece], lang: str) -> str:
    filler = words(lang).is_filler
    bounds = [0, *(bound for piece in chosen for bound in (piece.start, piece.end)), len(text)]
    gaps = [text[start:end].strip(" ,.;:!?") for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
    return " ".join(gap for gap in gaps if not all(filler(word.lower().strip(",.")) for word in gap.split()))


@cache
def _patterns(lang: str) -> list[tuple[str, re.Pattern[str]]]:
    kinds: dict[str, list[str]] = table("schedule", lang)["patterns"]
    return [(kind, _compiled(pattern, lang)) for kind, patterns in kinds.items() for pattern in patterns]


def _compiled(pattern: str, lang: str) -> re.Pattern[str]:
    parts = PLACE.split(alternatives([pattern]))
    known = words(lang)
    filled = [f"(?P<{part}>{known.pattern(part)})" if place % 2 else part for place, part in enumerate(parts)]
    return re.compile(rf"(?<!\w)(?:{''.join(filled)})(?!\w)")
