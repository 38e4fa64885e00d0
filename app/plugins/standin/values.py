"""Values from raw words, typed by a tool's schema; and tests for words that cannot be one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

from agents.language.schedule.calendar import REPEAT_KINDS
from agents.language.schedule.grammar import TimeReading, pieces_in, read
from agents.language.schedule.grammar import words as moment_words
from agents.language.schedule.parser import meant, problem_of
from agents.language.schedule.period import period
from agents.language.text.stems import plain
from agents.language.text.vocabulary import mentions
from app.plugins.standin.vocabulary import StandinVocabulary

Kind = Literal["text", "texts", "number", "numbers", "flag", "choice", "time", "id", "ids"]
OPEN = ("text", "texts")
"""Kinds of values that accept any words."""
IDENTIFIERS = ("id", "ids")
REFERRING = ("number", "numbers")
"""Kinds of values that point at entries of a list, and the names of slots for them."""
WHEN, NOTE = "when", "note"
"""Parameters that take a time in the user's words, and a sentence to be kept."""
SMALL_TALK = ("thanks", "greeting", "goodbye", "wait", "yes", "no", "cancel")
_UTC = ZoneInfo("UTC")
_SOME_DAY = datetime(2000, 1, 1, tzinfo=_UTC)
"""A fixed present, so that words name a time on any day; the tools know which times are past."""
_TYPES: Mapping[str, Kind] = {"string": "text", "boolean": "flag", "integer": "number", "number": "number"}
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“]*“")
_EDGE = " \t\n.,;:!?，。；：！？—–-"


@dataclass(frozen=True)
class Parameter:
    """A tool's parameter: its kind of value, and whether it is required."""

    name: str
    tool: str
    kind: Kind
    required: bool
    optional: bool
    """Whether a missing argument means "no value"; False if the parameter has a default value."""
    values: tuple[object, ...] = ()


def thing(tool: str) -> str:
    """Return the thing that a tool works on: the "todo" of `delete_todos`."""
    return tool.partition("_")[2].removesuffix("s")


def parameters(function: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a tool in OpenAI's form."""
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
    """Return words in the tools' form if they name a time or a change of time and nothing else; else None."""
    flat = raw.strip(" ,.;:!?")
    if period(raw, words.lang, _SOME_DAY, _UTC) is not None:
        return flat
    for form in ("{}",) if pieces_in(flat, words.lang) else ("{}", *words.phrases("times")):
        reading = read(form.format(flat), words.lang)
        if reading and not reading.rest and (reading.pieces.keys() & {"shift", "length"} or _names_a_moment(reading)):
            return form.format(flat)
    return None


def may_be_of_time(text: str, words: StandinVocabulary) -> bool:
    """Tell whether a text beside a time may hold a part of it: a time, a number first, or "until" at an edge."""
    flat = plain(text).strip(_EDGE)
    stems = words.stems(flat)
    is_number = any(moment_words(words.lang).number(it) is not None for it in stems[:1])
    is_limit = bool({*stems[:1], *stems[-1:]} & words.listed("beside"))
    return is_number or is_limit or bool(pieces_in(flat, words.lang))


def tells_time(text: str, words: StandinVocabulary) -> bool:
    """Tell whether a text holds a time of day or a repetition."""
    return any(it.kind in {"clock", "past", "to", *REPEAT_KINDS} for it in pieces_in(plain(text), words.lang))


def holds_time(raw: str, words: StandinVocabulary) -> bool:
    """Tell whether a name holds a time of day in several words ("Metropolis at 8"); "High Noon" does not.

    Nor does a name that begins with a number: "3:10 to Yuma", "9 to 5".
    """
    flat = _QUOTED.sub("", plain(raw)).strip()
    named = parted(flat, words.lang)
    if named is None or (flat.startswith(named[0]) and begins_with_number(named[0], words)):
        return False
    return tells_time(named[0], words) and len([*words.units(named[0])]) > 1


def begins_with_number(text: str, words: StandinVocabulary) -> bool:
    """Tell whether a text begins with a figure or a number word."""
    return text[:1].isnumeric() or moment_words(words.lang).number(text.partition(" ")[0]) is not None


def _names_a_moment(reading: TimeReading) -> bool:
    # The tool reports a past or impossible time ("at 25:00").
    is_real = meant(reading.pieces, _SOME_DAY, _UTC) is not None
    return is_real or problem_of(reading.pieces, _SOME_DAY, _UTC).reason != "unclear"


def spans(flat: str, boundary: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the places of the parts between boundaries; a quotation is never divided."""
    quoted = [range(*quotation.span()) for quotation in _QUOTED.finditer(flat)]
    cuts = [cut.span() for cut in boundary.finditer(flat) if not any(cut.start() in it for it in quoted)]
    places = zip([0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(flat)], strict=True)
    return [(start, end) for start, end in places if flat[start:end].strip()]


def items(raw: str, words: StandinVocabulary) -> list[str]:
    """Split an enumeration into its items."""
    flat = plain(raw)
    parts = (clean(flat[start:end], words) for start, end in spans(flat, words.between_items))
    return list(dict.fromkeys(filter(None, parts)))


def clean(raw: str, words: StandinVocabulary) -> str:
    """Cut fillers and punctuation off the edges of a value; without blanks a filler may begin a word."""
    flat = plain(raw).strip(_EDGE)
    units = words.units(flat) if words.spaced else []
    telling = next((unit for unit in units if unit.stem not in words.fillers), None)
    return flat[telling.start :] if telling and telling != units[0] else flat


def put_in(old: object, correction: str, words: StandinVocabulary) -> str:
    """Return a correction of a value: "to school" comes in place of "to work", and else without its preposition."""
    head, _, rest = correction.strip().partition(" ")
    if not rest or head.casefold() not in words.phrases("beside"):
        return correction
    text = ", ".join(old) if isinstance(old, list) else old
    kept, is_there, _ = f" {text}".rpartition(f" {head} ")
    return f"{kept} {head} {rest}".strip() if is_there else rest


def choice(raw: str, parameter: Parameter, words: StandinVocabulary, of_form: Mapping[str, Sequence[str]]) -> object:
    """Return the value that these words name alone ("as done" is True); None if they name none."""
    key, lists = words.key(clean(raw, words)), {**words.choices(parameter.tool, parameter.name), **of_form}
    for value, phrases in lists.items():
        if any(words.key(phrase) == key for phrase in phrases):
            return value == "true" if parameter.kind == "flag" else value
    return next((it for it in parameter.values if key and words.key(str(it).replace("_", " ")) == key), None)


def number(raw: str, words: StandinVocabulary) -> int | None:
    """Return the number that the words name alone ("2", "the second one"), -1 for the last; None for other words."""
    figures = moment_words(words.lang).figured(plain(raw))
    stems = [it for it in words.stems(figures) if it not in words.fillers | words.listed("nouns")]
    numbers = [int(it) if it.isdecimal() else words.numbers.get(it) for it in stems]
    # "The last one" has a "one", too.
    numbers = [-1] if {*numbers} in ({-1}, {-1, 1}) else numbers
    is_negative = re.search(r"(?<!\w)[-−]\d", raw) is not None
    return numbers[0] if len(numbers) == 1 and not is_negative else None


def is_all(raw: str, words: StandinVocabulary) -> bool:
    """Tell whether the words mean all of a kind: "everything on the list", "every alarm"."""
    telling = " ".join(it for it in words.stems(raw) if it not in words.beside)
    return words.means(raw, "all") or (words.spaced and words.means(telling, "all"))


def vague(raw: str, words: StandinVocabulary) -> bool:
    """Tell whether the words stand for a value without naming one ("something", "it", "a reminder")."""
    is_bare = number(raw, words) is None and not {*words.stems(raw)} - words.listed("nouns") - words.stop
    return words.means(raw, "vague", "pointing", "indefinite") or (is_bare and not is_all(raw, words))


def is_name(raw: str, words: StandinVocabulary) -> bool:
    """Tell whether the words of an open value name things: no word of a sentence, no phrase, no correction."""
    is_phrase = words.made_of(raw, *SMALL_TALK, "skip", "done", "leave")
    is_sentence = bool({*words.spelled(raw)} & {*words.phrases("sentence")}) or bool(words.behind(raw, "correcting"))
    # "Sort my list" is an order.
    is_order = mentions("things", raw, words.lang, file="standin/words") is not None
    return not (words.asks(raw) or is_phrase or is_sentence or is_order)
