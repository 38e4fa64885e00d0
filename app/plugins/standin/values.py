"""Values from raw words: typed by the schema of a tool; and what the words of an open value must not be."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

from agents.language.schedule.grammar import TimeReading, pieces_in, read
from agents.language.schedule.grammar import words as moment_words
from agents.language.schedule.parser import meant, problem_of
from agents.language.schedule.period import period
from agents.language.text.stems import plain
from app.plugins.standin.vocabulary import StandinVocabulary

Kind = Literal["text", "texts", "number", "numbers", "flag", "choice", "time", "id", "ids"]
OPEN = ("text", "texts")
"""Kinds of values that any words may be."""
IDENTIFIERS = ("id", "ids")
REFERRING = ("number", "numbers")
"""Kinds of values that point at entries of a list, and the names of slots for them."""
WHEN, NOTE = "when", "note"
"""Parameters that take a time in the user's words, and a sentence to be kept."""
QUOTED = re.compile(r'"([^"]+)"|«([^»]+)»|“([^”]+)”')
_UTC = ZoneInfo("UTC")
_SOME_DAY = datetime(2000, 1, 1, tzinfo=_UTC)
"""Whether words name a time must not depend on the present; the tools know which times are past."""
_TYPES: Mapping[str, Kind] = {"string": "text", "boolean": "flag", "integer": "number", "number": "number"}
_EDGE = " \t\n.,;:!?，。；：！？—–-"


@dataclass(frozen=True)
class Parameter:
    """A tool's parameter: what kind of value it takes and whether it may be left out."""

    name: str
    tool: str
    kind: Kind
    required: bool
    optional: bool
    """Whether leaving it out means "no value"; false where a default value stands in."""
    values: tuple[object, ...] = ()


def parameters(function: Mapping[str, Any]) -> dict[str, Parameter]:
    """Read the parameters of a tool in OpenAI's form."""
    schema, tool = function.get("parameters", {}), str(function.get("name", ""))
    by_name = {}
    for name, entry in schema.get("properties", {}).items():
        kind: Kind = "time" if name == WHEN else _kind(entry)
        main = _main(entry)
        values = tuple(main.get("enum", [main["const"]] if "const" in main else []))
        is_needed, is_optional = name in schema.get("required", ()), entry.get("default") is None
        by_name[name] = Parameter(name, tool, kind, is_needed, is_optional, values)
    return by_name


def _main(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    choices: list[Mapping[str, object]] = [choice for choice in entry.get("anyOf", ()) if choice.get("type") != "null"]
    return choices[0] if choices else entry


def _kind(entry: Mapping[str, Any]) -> Kind:
    if {"integer", "string"} <= {choice.get("type") for choice in entry.get("anyOf", ())}:
        return "id"
    entry = _main(entry)
    if "enum" in entry or "const" in entry:
        return "choice"
    if entry.get("type") == "array":
        several: Mapping[Kind, Kind] = {"number": "numbers", "id": "ids"}
        return several.get(_kind(entry.get("items", {})), "texts")
    return _TYPES.get(str(entry.get("type")), "text")


@lru_cache(maxsize=2_000)
def parted(text: str, lang: str) -> tuple[str, str] | None:
    """Return a plain text's words that name one coming moment, and its other words; None without such a moment."""
    reading = read(text, lang)
    if reading is None or not _names_a_moment(reading):
        return None
    when = " ".join(text[start:end] for start, end in reading.places)
    again = read(when, lang)
    if again is None or again.rest or again.pieces != reading.pieces:
        return None
    bounds = [0, *(bound for place in reading.places for bound in place), len(text)]
    others = (text[start:end].strip() for start, end in zip(bounds[::2], bounds[1::2], strict=True))
    return when, " ".join(other for other in others if other)


def time_in(raw: str, words: StandinVocabulary) -> str | None:
    """Return words that name a time or a change of time and nothing else, as tools understand them."""
    flat = raw.strip(" ,.;:!?")
    if period(raw, words.lang, _SOME_DAY, _UTC) is not None:
        return flat
    for form in ("{}",) if pieces_in(flat, words.lang) else ("{}", *words.phrases("times")):
        reading = read(form.format(flat), words.lang)
        if reading and not reading.rest and ("shift" in reading.pieces or _names_a_moment(reading)):
            return form.format(flat)
    return None


def later(raw: str, form: str, lang: str) -> str:
    """Return "two hours" as "two hours later", which counts from the postponed time; any other time as it is."""
    phrase = form.format(raw.strip(" ,.;:!?"))
    reading = read(phrase, lang)
    return phrase if reading and not reading.rest and reading.pieces.keys() == {"shift"} else raw


def _names_a_moment(reading: TimeReading) -> bool:
    # The tool says what is wrong with a past or impossible time ("at 25:00").
    is_real = meant(reading.pieces, _SOME_DAY, _UTC) is not None
    return is_real or problem_of(reading.pieces, _SOME_DAY, _UTC).reason != "unclear"


def spans(flat: str, boundary: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the places of the parts between boundaries; what stands in quotation marks stays whole."""
    quoted = [piece.span() for piece in QUOTED.finditer(flat)]
    cuts = [cut.span() for cut in boundary.finditer(flat)]
    free = [cut for cut in cuts if not any(start < cut[0] < end for start, end in quoted)]
    places = zip([0, *(end for _, end in free)], [*(start for start, _ in free), len(flat)], strict=True)
    return [(start, end) for start, end in places if flat[start:end].strip()]


def items(raw: str, words: StandinVocabulary) -> list[str]:
    """Split an enumeration into its items; quotation marks keep an item whole."""
    flat = plain(raw)
    parts = (QUOTED.sub(r"\1\2\3", flat[start:end]) for start, end in spans(flat, words.between_items))
    return list(dict.fromkeys(item for part in parts if (item := clean(part, words))))


def clean(raw: str, words: StandinVocabulary) -> str:
    """Cut fillers and punctuation off the edges of a value."""
    flat = plain(raw).strip(_EDGE)
    if (quoted := QUOTED.fullmatch(flat)) is not None:
        return str(quoted[1] or quoted[2] or quoted[3])
    if not words.spaced:
        # A filler may be the first letter of a word.
        return flat
    units = words.units(flat)
    telling = next((place for place, unit in enumerate(units[:-1]) if unit.stem not in words.fillers), len(units) - 1)
    return flat[units[telling].start if telling else 0 :] if units else ""


def choice(raw: str, parameter: Parameter, words: StandinVocabulary) -> object:
    """Return the value that these words name, and nothing else ("as done" is True); None if they name none."""
    key, lists = words.key(clean(raw, words)), words.choices(parameter.tool, parameter.name)
    for value, phrases in lists.items():
        if any(words.key(phrase) == key for phrase in phrases):
            typed: Mapping[str, object] = {"true": True, "false": False}
            return typed.get(value) if parameter.kind == "flag" else value
    return next((it for it in parameter.values if key and words.key(str(it).replace("_", " ")) == key), None)


def number(raw: str, words: StandinVocabulary) -> int | None:
    """Return the number that the words name by themselves ("2", "the second one"), -1 for the last."""
    stems = words.stems(moment_words(words.lang).figured(plain(raw)))
    values = {stem: int(stem) if stem.isdecimal() else words.numbers.get(stem) for stem in stems}
    nouns = words.listed("nouns")
    named = [stem for stem in stems if values[stem] is not None]
    # "The second one", "the last one": "one" only stands for the thing.
    named = [stem for stem in named if stem not in nouns] or named
    if len(named) == 2 and {values[stem] for stem in named} == {-1, 1}:
        named = [stem for stem in named if values[stem] == -1]
    others = {stem for stem in stems if values[stem] is None} - nouns - words.fillers
    return values[named[0]] if len(named) == 1 and not others else None


def last_few(raw: str, words: StandinVocabulary) -> int | None:
    """Return how many entries at the end of a list the words name ("the last two"); None if they name no such."""
    stems = words.stems(moment_words(words.lang).figured(plain(raw)))
    last = [stem for stem in stems if words.numbers.get(stem) == -1]
    rest = " ".join(stem for stem in stems if stem not in last)
    return number(rest, words) if len(last) == 1 and rest else None


def vague(raw: str, words: StandinVocabulary) -> bool:
    """Tell whether the words stand for a value without naming one ("something", "it", "a reminder")."""
    return words.means(raw, "vague") or not set(words.stems(raw)) - words.listed("nouns") - words.fillers


def is_name(raw: str, words: StandinVocabulary) -> bool:
    """Tell whether the words of an open value name things: they have no word of a sentence, and are no phrase."""
    typed = {*words.spelled(QUOTED.sub(" ", plain(raw)))}
    is_phrase = words.made_of(
        raw, "yes", "no", "thanks", "goodbye", "greeting", "cancel", "skip", "done", "leave", "wait"
    )
    return not (words.asks(raw) or is_phrase or typed & {*words.phrases("sentence")})
