"""Ideas that word lists know by their phrases: yes, no, switch, undo, done."""

from collections.abc import Mapping, Sequence
from functools import cache

from agents.language.text.stems import stems, words
from agents.language.text.vocabulary import listening, vocabulary
from prompts import languages, table


def says(idea: str, text: str, lang: str) -> bool:
    """Tell whether a message consists of one phrase of the idea and nothing else; "don't" is "do not"."""
    return tuple(vocabulary(lang).spelled(text)) in _spelled(idea, lang)


def is_said(idea: str, text: str) -> bool:
    """Tell whether a text says an idea ("yes", "no", "omit") in any language."""
    return any(says(idea, text, lang) for lang in languages())


def mentions(idea: str, text: str, lang: str, *, file: str = "words") -> str | None:
    """Return the first phrase of the idea that stands anywhere in a message; `file` has the idea's phrases."""
    spaced = f" {' '.join(words(text))} "
    return next((entry.strip() for entry in phrases(idea, lang, file) if entry in spaced), None)


@cache
def _spelled(idea: str, lang: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(vocabulary(lang).spelled(phrase)) for phrase in phrases(idea, lang))


@cache
def phrases(idea: str, lang: str, file: str = "words") -> tuple[str, ...]:
    """Return the phrases of an idea, their words spaced so that they only match whole words."""
    entry = table(file, lang).get(idea, [])
    entries = entry.get("phrases", []) if isinstance(entry, dict) else entry
    return tuple(f" {' '.join(words(phrase))} " for phrase in entries)


@cache
def small_words(lang: str) -> frozenset[str]:
    """Return the stems of words that say nothing about the subject of a sentence."""
    return frozenset(stem for idea in ("stop", "fillers") for word in phrases(idea, lang) for stem in stems(word, lang))


LEAVE = ("done", "goodbye")
BESIDE_LEAVE = ("thanks", "yes", "no", "fillers")


def takes_leave(text: str, lang: str) -> bool:
    """Tell whether a message says "that is all" or goodbye, and beside it nothing but thanks, yes, no and fillers."""
    read_as = listening(text, lang)
    row, phrases_by_stem = tuple(vocabulary(read_as).stems(text)), _leave_phrases(read_as)
    # For each place that phrases reach without a gap: whether one of them takes leave.
    reached: dict[int, bool] = {0: False}
    for place, stem in enumerate(row):
        if place in reached:
            for phrase, leaves in phrases_by_stem.get(stem, ()):
                if row[place : place + len(phrase)] == phrase:
                    end = place + len(phrase)
                    reached[end] = reached.get(end, False) or reached[place] or leaves
    return reached.get(len(row), False)


@cache
def _leave_phrases(lang: str) -> Mapping[str, Sequence[tuple[tuple[str, ...], bool]]]:
    """Return the phrases that a farewell is made of by their first stem, each in stems, with whether it takes leave."""
    words_of = vocabulary(lang)
    pairs = {
        tuple(words_of.stems(entry)): idea in LEAVE
        for idea in (*BESIDE_LEAVE, *LEAVE)
        for entry in words_of.phrases(idea)
    }
    by_stem: dict[str, list[tuple[tuple[str, ...], bool]]] = {}
    for phrase, leaves in pairs.items():
        if phrase:
            by_stem.setdefault(phrase[0], []).append((phrase, leaves))
    return by_stem
