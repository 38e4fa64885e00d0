"""Several wishes in one message: cut it where each part means something of its own."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from agents.models.rules.matches import Match
from agents.models.rules.types import FILL_FORM
from agents.models.rules.values import QUOTED, WHEN, clean
from agents.text.stems import plain
from agents.text.vocabulary import Vocabulary

LONGEST_OPENING = 4
"""Words that two wishes may have in common at their beginning ("wake me up")."""
_SOCIAL = ("yes", "no", "thanks", "greeting", "goodbye", "how_are_you", "cancel")


@dataclass(frozen=True)
class Wishes:
    """What a message asks for, in order, and the words before it that no ability explains."""

    matches: tuple[Match, ...]
    lead: str = ""


def wishes(text: str, words: Vocabulary, find: Callable[[str], Match | None]) -> Wishes:
    """Find the wishes of a message; a part without meaning of its own belongs to the one before."""
    flat = plain(text)
    pieces: list[tuple[int, int, Match]] = []
    lead_end = 0
    whole = find(flat)
    for start, end in _parts(flat, words):
        found = find(flat[start:end])
        if found is None and pieces and not (whole and WHEN in whole.slots):
            found = _continued(pieces[-1][2], flat[start:end], find)
        if found is not None:
            pieces.append((start, end, _of_same_field(pieces[-1][2], found) if pieces else found))
        elif pieces:
            begin, _, core = pieces[-1]
            pieces[-1] = begin, end, find(flat[begin:end]) or replace(core, text=flat[begin:end])
        else:
            lead_end = end
    if whole and (not pieces or (len(pieces) == 1 and whole.pattern.weight >= pieces[0][2].pattern.weight)):
        return Wishes((whole,))
    lead = flat[:lead_end]
    return Wishes(tuple(found for *_, found in pieces), "" if pieces and words.means(lead, *_SOCIAL) else lead)


def _continued(former: Match, part: str, find: Callable[[str], Match | None]) -> Match | None:
    """Return what a part means that leaves out how the one before began: "… and at ten to call dad".

    Only a time of its own makes it another wish; else it may as well be a part of what to do.
    """
    opening = former.text.split()[:LONGEST_OPENING]
    for count in range(1, len(opening) + 1) if WHEN in former.slots else ():
        text = " ".join([*opening[:count], part])
        if (found := find(text)) and found.tool == former.tool and WHEN in found.slots:
            return found
    return None


def _of_same_field(former: Match, found: Match) -> Match:
    """Return a bare "add X" as one about the field of a form that the wish before it named: "… and add Go"."""
    named = former.tool == FILL_FORM and not former.pattern.of_form and former.slots
    if not named or not found.slots or found.pattern.strong or found.tool == FILL_FORM:
        return found
    return replace(
        found,
        pattern=replace(found.pattern, tool=FILL_FORM, owner=former.owner),
        slots={next(iter(former.slots)): next(iter(found.slots.values()))},
    )


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
    kept = [found.span() for found in QUOTED.finditer(flat)]
    spans, start = [], 0
    for found in boundary.finditer(flat):
        if any(begin < found.start() < end for begin, end in kept):
            continue
        spans.append((start, found.start()))
        start = found.end()
    spans.append((start, len(flat)))
    return [(begin, end) for begin, end in spans if flat[begin:end].strip()]
