"""Find the pieces of a text that speak of time: a day, a clock time, a repetition."""

import re
from dataclasses import dataclass
from functools import cache

from agents.language.schedule.lexicon import Pieces, alternatives, words
from prompts import table

PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Reading:
    """The pieces of a text that speak of time, and the words that are no piece."""

    pieces: Pieces
    rest: str
    """The other words, as they were written, without those that mean nothing beside a time."""
    places: tuple[tuple[int, int], ...]
    """Where in the text the pieces begin and end, in order."""


@dataclass(frozen=True)
class _Piece:
    kind: str
    start: int
    end: int
    texts: dict[str, str]


def read(text: str, lang: str) -> Reading | None:
    """Return what `text` says of time; None when it says nothing or contradicts itself, or a value does not exist."""
    chosen: list[_Piece] = []
    for piece in sorted(pieces_in(text, lang), key=lambda piece: piece.start - piece.end):
        if all(piece.end <= other.start or other.end <= piece.start for other in chosen):
            chosen.append(piece)
    if not chosen or len({piece.kind for piece in chosen}) < len(chosen):
        return None
    lexicon = words(lang)
    try:
        pieces = {
            piece.kind: {name: lexicon.value(name, text) for name, text in piece.texts.items()} for piece in chosen
        }
    except ValueError:
        return None
    chosen.sort(key=lambda piece: piece.start)
    return Reading(pieces, _rest(text, chosen, lang), tuple((piece.start, piece.end) for piece in chosen))


def pieces_in(text: str, lang: str) -> list[_Piece]:
    """Return all that speaks of time in a text, also what overlaps or contradicts itself."""
    plain = text.lower().replace("ё", "е").replace("\N{NO-BREAK SPACE}", " ").replace("’", "'")
    if len(plain) != len(text):
        return []
    return [
        _Piece(kind, *match.span(), {name: text for name, text in match.groupdict().items() if text})
        for kind, pattern in _patterns(lang)
        for match in pattern.finditer(plain)
    ]


@cache
def separator(lang: str) -> re.Pattern[str]:
    """Return what stands between the things of an enumeration: commas, ends of sentences, "and then"."""
    joined = "|".join(re.escape(word) for word in sorted(table("schedule", lang)["joiners"]["of_plans"], key=len)[::-1])
    return re.compile(rf"\s*[,;\n]+\s*(?:(?:{joined})\s+)?|\.\s+|\s+(?:{joined})\s+", re.IGNORECASE)


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
    lexicon = words(lang)
    filled = [f"(?P<{part}>{lexicon.pattern(part)})" if place % 2 else part for place, part in enumerate(parts)]
    return re.compile(rf"(?<!\w)(?:{''.join(filled)})(?!\w)")
