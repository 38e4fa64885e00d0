"""Several wishes in one message: cut it where each part means something of its own."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agents.models.rules.matches import Match
from agents.models.rules.types import FILL_FORM
from agents.models.rules.values import QUOTED, WHEN, clean
from agents.text.stems import plain
from agents.text.vocabulary import Vocabulary

_SOCIAL = ("yes", "no", "thanks", "greeting", "goodbye", "how_are_you", "cancel")


@dataclass(frozen=True)
class Wishes:
    """What a message asks for, in order, and the words before and behind it that were not understood."""

    matches: tuple[Match, ...]
    lead: str = ""
    unread: tuple[str, ...] = ()


def wishes(text: str, words: Vocabulary, find: Callable[[str], Match | None]) -> Wishes:
    """Find the wishes of a message; a part without meaning of its own belongs to the one before."""
    flat = plain(text)
    pieces: list[tuple[int, int, Match]] = []
    unread: list[str] = []
    lead_end = 0
    whole_match = find(flat)
    for start, end in _parts(flat, words):
        part_match = find(flat[start:end])
        if part_match is not None and not (pieces and _is_of_form(pieces[-1][2], part_match)):
            pieces.append((start, end, part_match))
        elif pieces:
            begin = pieces[-1][0]
            if (longer := find(flat[begin:end])) and _keeps_time(longer, pieces[-1][2]):
                pieces[-1] = begin, end, longer
            elif not words.means(flat[start:end], *_SOCIAL):
                unread.append(flat[start:end])
        else:
            lead_end = end
    if whole_match and (not pieces or (len(pieces) == 1 and _outweighs(whole_match, pieces[0][2]))):
        return Wishes((whole_match,))
    lead = flat[:lead_end]
    lead = "" if pieces and words.means(lead, *_SOCIAL) else clean(lead, words)
    return Wishes(tuple(match for *_, match in pieces), lead, tuple(unread))


def _outweighs(whole: Match, part: Match) -> bool:
    return whole.pattern.weight >= part.pattern.weight and _keeps_time(whole, part)


def _keeps_time(longer: Match, part: Match) -> bool:
    """Tell whether a reading of more words is no to-do in place of a reminder."""
    return WHEN in longer.slots or WHEN not in part.slots


def _is_of_form(former: Match, match: Match) -> bool:
    """Tell whether a bare "add X" follows a change of a form, so that it may be about the form or a list."""
    return former.tool == FILL_FORM and match.tool != FILL_FORM and not match.pattern.strong


def without_greeting(text: str, words: Vocabulary) -> str:
    """Return a message without the greeting, thanks or "yes" that it begins with; whole if it is all there is."""
    flat = plain(text)
    for start, end in _parts(flat, words):
        if not words.means(flat[start:end], *_SOCIAL):
            return clean(flat[start:], words) or flat
    return flat


def clauses(text: str, words: Vocabulary) -> list[str]:
    """Return the parts of a message between punctuation and conjunctions ("thanks", "bye")."""
    flat = plain(text)
    return [flat[start:end] for start, end in _parts(flat, words)]


def _parts(flat: str, words: Vocabulary) -> list[tuple[int, int]]:
    """Return the spans between punctuation and conjunctions; what stands in quotation marks stays whole."""
    joined = "|".join(re.escape(entry) for entry in sorted(words.phrases("conjunctions"), key=len, reverse=True))
    boundary = re.compile(rf"(?:[,;:!?.\n—]+(?:\s+|$))+(?:(?:{joined})\s+)?|\s+(?:{joined})\s+", re.IGNORECASE)
    quoted = [cut.span() for cut in QUOTED.finditer(flat)]
    spans, start = [], 0
    for cut in boundary.finditer(flat):
        if any(begin < cut.start() < end for begin, end in quoted):
            continue
        spans.append((start, cut.start()))
        start = cut.end()
    spans.append((start, len(flat)))
    return [(begin, end) for begin, end in spans if flat[begin:end].strip()]
