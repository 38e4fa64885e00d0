"""What is picked from the list on the screen by a fact that stands there: "only those with a high rating"."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from agents.models.rules.references import entries
from agents.models.rules.sentences import sentence
from agents.models.rules.situation import Situation
from agents.models.rules.small_talk import small_words
from agents.text.stems import plain
from agents.text.vocabulary import Vocabulary, vocabulary

WAYS = ("most_less", "most_more", "less", "more")
"""The one that has the least or the most of a fact, or all that have little or much of it."""
SCALES = (5, 10, 100)
"""Best marks; that of a list is the least one that none of it exceeds."""
HIGH = 0.8
"""Share of the best mark from which on a rating is high."""
_FIGURE = r"(?<![\d.,])(?:\d{1,3}(?:[ ,]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d+)?)(?!\d)"
_THOUSANDS = re.compile(r"[ ,](?=\d{3}(?!\d))")


@dataclass(frozen=True)
class Wish:
    """Which entries are wanted: the fact they are told by and the way of telling."""

    fact: str
    way: str


def refined(now: Situation) -> str | None:
    """Return what the user wants to see of the list on the screen, or why that cannot be told.

    None if the text is about something else, an answer to a question, or a wish that some tool fulfils.
    """
    wish = _wished(now.heard, now.words)
    if wish is None or now.note("asks") or now.book().find(now.heard):
        return None
    screen = now.scene.get("screen") or [[]]
    listed = entries("\n".join(screen[-1]))
    figures = _figures(wish.fact, listed)
    if len(figures) < 2:
        return sentence("refined.unknown", now.lang)
    bound, fits = _sieve(wish, figures)
    picked = [f"{number}. {listed[number]}" for number, figure in figures.items() if fits(figure)]
    if not picked:
        return sentence("refined.none", now.lang)
    shown = str(int(bound)) if bound.is_integer() else f"{bound:.2f}"
    return "\n".join([sentence(f"refined.{wish.fact}_{wish.way}", now.lang, bound=shown), *picked])


def _wished(text: str, words: Vocabulary) -> Wish | None:
    """Return the wish of which the text consists, small words apart."""
    flat = plain(text)
    best: tuple[int, Wish, str] | None = None
    for fact in words.table["refining"]["marks"]:
        for way in WAYS:
            if found := words.mention(flat, f"refining.{fact}.{way}"):
                start, end = found
                if best is None or end - start > best[0]:
                    best = end - start, Wish(fact, way), f"{flat[:start]} {flat[end:]}"
    return best[1] if best and _around(words.lang).issuperset(words.stems(best[2])) else None


def _figures(fact: str, listed: Mapping[int, str]) -> dict[int, float]:
    """Return the fact of each entry that shows it; of none if their units differ."""
    found = {number: told for number, entry in listed.items() if (told := _mark(fact).search(plain(entry)))}
    units = {(told["before"] or told["after"]).casefold() for told in found.values()}
    return (
        {number: _figure(told["first"] or told["second"]) for number, told in found.items()} if len(units) == 1 else {}
    )


def _sieve(wish: Wish, figures: Mapping[int, float]) -> tuple[float, Callable[[float], bool]]:
    """Return the figure that parts the wanted entries from the others, and which of them fit."""
    known = list(figures.values())
    if wish.way.startswith("most"):
        bound = max(known) if wish.way == "most_more" else min(known)
        return bound, bound.__eq__
    if wish.fact == "rating":
        bound = HIGH * next((scale for scale in SCALES if scale >= max(known)), max(known))
        return bound, bound.__le__ if wish.way == "more" else bound.__gt__
    bound = sum(known) / len(known)
    return bound, bound.__lt__ if wish.way == "more" else bound.__gt__


def _figure(text: str) -> float:
    return float(_THOUSANDS.sub("", text).replace(",", "."))


@cache
def _mark(fact: str) -> re.Pattern[str]:
    """Return how a fact stands in a line, in whichever language its list came."""
    marks = {mark for lang in ("en", "ru") for mark in vocabulary(lang).phrases(f"refining.marks.{fact}")}
    mark = "|".join(rf"(?<!\w){re.escape(one)}(?!\w)" if one.isalpha() else re.escape(one) for one in sorted(marks))
    return re.compile(
        rf"(?P<before>{mark})[:\s]*(?P<first>{_FIGURE})|(?P<second>{_FIGURE})\s*(?P<after>{mark})", re.IGNORECASE
    )


@cache
def _around(lang: str) -> frozenset[str]:
    words = vocabulary(lang)
    listed = (*words.phrases("refining.around"), *words.phrases("references.nouns"))
    return small_words(lang) | {stem for entry in listed for stem in words.stems(entry)}
