"""Several wishes in one message: cut it into parts that each mean something; a message with a rest means nothing."""

import re
from collections.abc import Callable

from agents.language.text.stems import plain
from agents.models.standin.pattern import Match
from agents.models.standin.sentences import RulesVocabulary
from agents.models.standin.values import QUOTED, is_unfinished

SOCIAL = ("thanks", "greeting", "goodbye", "yes", "no", "how_are_you", "cancel")
ASIDE = ("thanks", "greeting", "goodbye", "yes")
"""Small talk beside an answer; "no, a pilot" puts something right."""
MOST = 12
"""Parts between punctuation and conjunctions; a longer message is a story."""


def wishes(text: str, words: RulesVocabulary, find: Callable[[str], Match | None]) -> tuple[Match, ...]:
    """Return the wishes of a message in order; none if any of its words belongs to no wish and is no small talk.

    Of several ways to cut the message the one with the most wishes counts.
    """
    flat = plain(text)
    parts = _parts(flat, words)
    if len(parts) > MOST or is_unfinished(flat, words):
        return ()
    # The wishes of all parts from a place on; None where a part means nothing.
    behind: dict[int, tuple[Match, ...] | None] = {len(parts): ()}
    for first in reversed(range(len(parts))):
        ways: list[tuple[Match, ...]] = []
        for last in range(first, len(parts)):
            rest = behind[last + 1]
            piece = flat[parts[first][0] : parts[last][1]]
            if rest is None:
                continue
            if first == last and words.made_of(piece, *SOCIAL):
                ways.append(rest)
            elif wish := find(piece):
                ways.append((wish, *rest))
        behind[first] = max(ways, key=len, default=None)
    return behind[0] or ()


def without_small_talk(text: str, words: RulesVocabulary) -> str:
    """Return a message without the greeting, thanks or "yes" at its ends; whole if there is nothing else."""
    flat = plain(text)
    parts = _parts(flat, words)
    meaningful = [span for span in parts if not words.made_of(flat[span[0] : span[1]], *ASIDE)]
    if not meaningful:
        return flat
    return flat[meaningful[0][0] :] if meaningful[-1] == parts[-1] else flat[meaningful[0][0] : meaningful[-1][1]]


def _parts(flat: str, words: RulesVocabulary) -> list[tuple[int, int]]:
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
