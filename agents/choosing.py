"""Which of the options on the screen the user means: "2", "the second one", "the cheap one", a label, a tap.

Only what plainly is an answer counts; every other word in the message makes it something else.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agents.rules.wording import Vocabulary, listening, vocabulary
from prompts import table

_NUMBER = re.compile(r"[#№]?\s*(\d{1,3})[.)]?")
Option = Mapping[str, Any]


def chosen(text: str, options: Sequence[Option], lang: str) -> int | None:
    """Return the place of the one option that the text names; None if it names none, or more than one."""
    text = text.strip()
    words = vocabulary(listening(text, lang))
    for find in (_by_id, _by_label, _by_number, _by_fact, _by_words):
        if (place := find(text, options, words)) is not None:
            return place
    return None


def naming(place: int, options: Sequence[Option], lang: str) -> str:
    """Return what a user would say for an option and `chosen` takes for it: its label, else its id or number."""
    option = options[place]
    words = (option["label"], option["id"], str(place + 1))
    return str(next((one for one in words if chosen(one, options, lang) == place), words[1]))


def _by_id(text: str, options: Sequence[Option], words: Vocabulary) -> int | None:
    return _only(place for place, option in enumerate(options) if option["id"] and option["id"] == text)


def _by_label(text: str, options: Sequence[Option], words: Vocabulary) -> int | None:
    key = words.key(text)
    return _only(place for place, option in enumerate(options) if words.key(option["label"]) == key)


def _by_number(text: str, options: Sequence[Option], words: Vocabulary) -> int | None:
    """Find "2", "number 2", "the second one", "the last one"."""
    if plain := _NUMBER.fullmatch(text):
        return _at(int(plain[1]), options)
    stems = _content(text, words)
    numbers = [int(stem) if stem.isdecimal() else words.numbers.get(stem) for stem in stems]
    return _at(numbers[0], options) if len(numbers) == 1 and numbers[0] is not None else None


def _by_fact(text: str, options: Sequence[Option], words: Vocabulary) -> int | None:
    """Find "the cheap one": the option whose fact is the least or the most, if it is one alone."""
    stems = _content(text, words)
    for meaning in table("words", words.lang).get("superlatives", {}).values():
        known = {stem for phrase in meaning["phrases"] for stem in words.stems(phrase)}
        facts = {place: one["facts"][meaning["fact"]] for place, one in enumerate(options) if _has(one, meaning)}
        if stems and stems <= known and len(facts) == len(options):
            pick: Callable[..., Any] = max if meaning["most"] else min
            best = pick(facts.values())
            return _only(place for place, fact in facts.items() if fact == best)
    return None


def _by_words(text: str, options: Sequence[Option], words: Vocabulary) -> int | None:
    """Find "the blue one": the one option that has every word that matters."""
    wanted = _content(text, words) - words.stop
    return _only(place for place, option in enumerate(options) if wanted and wanted <= _held(option, words))


def _held(option: Option, words: Vocabulary) -> set[str]:
    facts = " ".join(str(fact) for fact in option["facts"].values())
    return set(words.stems(f"{option['label']} {option['detail']} {facts}"))


def _has(option: Option, meaning: Mapping[str, Any]) -> bool:
    return meaning["fact"] in option["facts"]


def _content(text: str, words: Vocabulary) -> set[str]:
    """Return the stems that say which one is meant."""
    stems = set(words.stems(text))
    small = words.fillers | {stem for phrase in words.phrases("choosing") for stem in words.stems(phrase)}
    return (stems - small) or (stems & set(words.numbers))


def _at(number: int, options: Sequence[Option]) -> int | None:
    if number == -1:
        return len(options) - 1
    return number - 1 if 1 <= number <= len(options) else None


def _only(places: Any) -> int | None:
    found = list(places)
    return found[0] if len(found) == 1 else None
