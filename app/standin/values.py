"""Values from raw words: typed by the schema of a tool, told from words that are no answer; times for the tools."""

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
from agents.language.text.stems import plain, words
from agents.language.text.vocabulary import Vocabulary
from app.standin.vocabulary import StandinVocabulary

_CLOCK = re.compile(r"\d[:.]\d\d")
_SOME_DAY = datetime(2000, 1, 1, tzinfo=ZoneInfo("UTC"))
"""Whether words name a time must not depend on the present; the tools know which times are past."""


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


def time_in(raw: str, words: Vocabulary) -> str | None:
    """Return words that name a time or a change of time and nothing else, as tools understand them."""
    if period(raw, words.lang, _SOME_DAY, ZoneInfo("UTC")) is not None:
        return raw.strip(" ,.;:!?")
    plain = raw.strip(" ,.;:!?")
    for form in ("{}",) if pieces_in(plain, words.lang) else ("{}", *words.phrases("times")):
        phrase = form.format(plain)
        reading = read(phrase, words.lang)
        if reading and not reading.rest and ("shift" in reading.pieces or _names_a_moment(reading)):
            return phrase
    return None


def later(raw: str, words: Vocabulary) -> str:
    """Return "two hours" as "two hours later", which counts from the postponed time; any other time stays as it is."""
    for phrase in (form.format(raw.strip(" ,.;:!?")) for form in words.phrases("edits.later")):
        if (reading := read(phrase, words.lang)) and not reading.rest and reading.pieces.keys() == {"shift"}:
            return phrase
    return raw


def names_time(text: str, lang: str) -> bool:
    """Tell whether any words of a text speak of time, even of an impossible one."""
    return bool(pieces_in(text, lang)) or _CLOCK.search(text) is not None


def is_time(raw: str, words: StandinVocabulary) -> bool:
    """Tell whether words say a time or a length of time and nothing else but "more", "another", "to the timer"."""
    flat, beside = plain(raw), words.listed("times_beside")
    said = [flat[unit.start : unit.end] for unit in words.units(flat) if unit.stem not in beside]
    return bool(said) and time_in((" " if words.spaced else "").join(said), words) is not None


def _names_a_moment(reading: TimeReading) -> bool:
    zone = ZoneInfo("UTC")
    is_real = meant(reading.pieces, _SOME_DAY, zone) is not None
    # The tool says what is wrong with a past or impossible time ("at 25:00").
    return is_real or problem_of(reading.pieces, _SOME_DAY, zone).reason != "unclear"


Kind = Literal["text", "texts", "number", "numbers", "flag", "choice", "time", "id", "ids"]
IDENTIFIERS = ("id", "ids")
"""Kinds of values that stand for a thing: its number, or the identifier that the user wrote."""
REFERRING = ("number", "numbers")
"""Kinds of values that point at entries of a list, and the names of slots for them."""
QUERIES, WHEN, NOTE = "queries", "when", "note"
"""Parameters that take what is to be looked up, a time in the user's words, and a sentence to be kept."""
QUOTED = re.compile(r'"([^"]+)"|«([^»]+)»|“([^”]+)”')
LONGEST_ANSWER = 12
"""Words of an answer that names one thing; a longer one is a story."""
_TYPES: Mapping[str, Kind] = {"string": "text", "boolean": "flag", "integer": "number", "number": "number"}
_NO_NAME = re.compile(r"[=*<>{}|\\^`~_]|(?:^|\s)--?\w|[»”]\s+\w")
"""Signs of code, or of a quotation within a sentence; the name of a thing has none."""
_EDGE = " \t\n.,;:!?—–-"
_MOODS = ("!", "…", "..", ")", "(")


@dataclass(frozen=True)
class Parameter:
    """A tool's parameter: what kind of value it takes and whether it may be left out."""

    name: str
    kind: Kind
    required: bool
    optional: bool
    """Whether leaving it out means "no value"; false where a default value stands in."""
    word_list: str
    values: tuple[object, ...] = ()


def parameters(function: Mapping[str, Any]) -> dict[str, Parameter]:
    """Read the parameters of a tool in OpenAI's form."""
    schema = function.get("parameters", {})
    by_name = {}
    for name, entry in schema.get("properties", {}).items():
        main = _main(entry)
        by_name[name] = Parameter(
            name,
            "time" if name == WHEN else _kind(entry),
            required=name in schema.get("required", ()),
            optional=entry.get("default") is None,
            word_list=values_list(str(function.get("name", "")), name),
            values=tuple(main.get("enum", [main["const"]] if "const" in main else [])),
        )
    return by_name


def values_list(tool: str, parameter: str) -> str:
    """Return the name of the word list with the words for the values of a tool's parameter."""
    return f"values.{tool}.{parameter}"


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


def spans(flat: str, boundary: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the places of the parts between boundaries; what stands in quotation marks stays whole."""
    quoted = [piece.span() for piece in QUOTED.finditer(flat)]
    cuts = [cut.span() for cut in boundary.finditer(flat)]
    free = [cut for cut in cuts if not any(start < cut[0] < end for start, end in quoted)]
    places = zip([0, *(end for _, end in free)], [*(start for start, _ in free), len(flat)], strict=True)
    return [(start, end) for start, end in places if flat[start:end].strip()]


def items(raw: str, lexicon: StandinVocabulary) -> list[str]:
    """Split an enumeration into its items; quotation marks keep an item whole."""
    flat = plain(raw)
    parts = (QUOTED.sub(r"\1\2\3", flat[start:end]) for start, end in spans(flat, lexicon.between_items))
    return list(dict.fromkeys(item for part in parts if (item := clean(part, lexicon))))


def clean(raw: str, lexicon: StandinVocabulary) -> str:
    """Cut fillers and punctuation off the edges of a value."""
    flat = plain(raw).strip(_EDGE)
    if (quoted := QUOTED.fullmatch(flat)) is not None:
        return str(quoted[1] or quoted[2] or quoted[3])
    if sum(map(flat.count, '"«»“”')) % 2:
        flat = flat.strip('"«»“”')
    if not lexicon.spaced:
        # A filler may be the first letter of a word.
        return flat
    units = lexicon.units(flat)
    telling = next((place for place, unit in enumerate(units[:-1]) if unit.stem not in lexicon.fillers), len(units) - 1)
    return flat[units[telling].start if telling else 0 :] if units else ""


def named(raw: str, parameter: Parameter, lexicon: StandinVocabulary) -> object:
    """Return the value that a word list gives these words ("as done" is True), else the words; None without either."""
    spoken = f" {' '.join(lexicon.stems(raw))} "
    phrases = {
        f" {' '.join(lexicon.stems(phrase))} ": value
        for value in lexicon.phrases(parameter.word_list)
        for phrase in lexicon.phrases(f"{parameter.word_list}.{value}")
    }
    longest = max((phrase for phrase in phrases if phrase in spoken), key=len, default="")
    # A phrase inside a sentence is not what the sentence says.
    beside = {*spoken.split()} - {*longest.split()} - (lexicon.stop - lexicon.listed("negation"))
    if longest and not beside:
        return {"true": True, "false": False}.get(phrases[longest], phrases[longest])
    key = lexicon.key(clean(raw, lexicon))
    alike = (value for value in parameter.values if lexicon.key(str(value).replace("_", " ")) == key)
    return next(alike, None) if key else None


def vague(raw: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether the words stand for a value without naming one ("something")."""
    # "Add to my list" does not say what to add.
    named = set(lexicon.stems(raw)) - lexicon.listed("references.nouns") - lexicon.fillers
    return lexicon.means(raw, "vague") or not named


def is_plain(text: str, slot: str, lexicon: StandinVocabulary, *, of_form: bool = False) -> bool:
    """Tell whether the words of a slot name things and are no sentence. In doubt it is false: the words are stored."""
    if slot in (*REFERRING, WHEN, NOTE) or (slot == QUERIES and lexicon.asks(text)):
        return True
    if vague(text, lexicon):
        return not of_form
    names = items(text, lexicon)
    # "Add tea and show the list" is two wishes.
    if any(lexicon.begins(name, "answers.orders") for name in names[1:]):
        return False
    if not names or _is_sentence(text, lexicon):
        return False
    return all(_is_name(name, lexicon) and not (of_form and is_chatter(name, lexicon)) for name in names)


def is_answer(text: str, lexicon: StandinVocabulary, *, errands: bool = False) -> bool:
    """Tell whether a text is a plain list of names and nothing but the answer to a question.

    With `errands` a name may begin as a to-do does ("call mom").
    """
    flat = plain(text).strip()
    if lexicon.asks(flat) or vague(flat, lexicon) or flat[:1] == "/" or flat.endswith(_MOODS) or _NO_NAME.search(flat):
        return False
    if lexicon.begins(flat, "answers.orders") or lexicon.means(flat, "steps") or lexicon.is_saying(flat):
        return False
    if not errands and lexicon.begins(flat, "answers.errands"):
        return False
    if (rest := lexicon.behind(flat, "towards")) and (not errands or vague(" ".join(rest), lexicon)):
        return False
    # "Call mom" is a to-do, though "mom" answers nothing else.
    names = items(flat, lexicon)
    others = [name for name in names if not (errands and lexicon.begins(name, "answers.chores"))]
    # "Ten years" is an experience, and nothing to do; "Friday" is neither.
    is_length = any(is_amount(name, lexicon) for name in names)
    if errands if is_length else time_in(flat, lexicon) is not None:
        return False
    return not any(is_chatter(name, lexicon) for name in others) and is_plain(flat, "", lexicon)


def is_unfinished(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether a text ends with a word that needs another one behind it ("add milk and")."""
    return not lexicon.words_of("answers.unfinished").isdisjoint(words(text, 1)[-1:])


def is_chatter(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether a text is about feelings, the moment or nothing at all ("hungry", "long day", "the second one")."""
    stems, spoken = lexicon.stems(text), words(text, 1)
    if not spoken or spoken[0].endswith(tuple(lexicon.phrases("answers.endings"))):
        return True
    if any(f" {word}".endswith(tuple(lexicon.phrases("answers.told"))) for word in spoken[1:]):
        return True
    # A small word may still be a name: the language Go.
    small = lexicon.stop | lexicon.listed("pointing", "question") if len(stems) > 1 else frozenset()
    is_small = all(stem in small or stem in lexicon.numbers or stem.isdecimal() for stem in stems)
    return is_small or not lexicon.listed("answers.chatter").isdisjoint(stems)


def names_nothing(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether an entry of a list is an amount ("about ten years"), ends with a number, or begins with "from"."""
    stems = lexicon.stems(text)
    is_count = lexicon.spaced and len(stems) > 1 and stems[-1] in lexicon.numbers
    return is_amount(text, lexicon) or is_count or lexicon.begins(text, "answers.prepositions")


def is_amount(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether words are numbers and lengths of time, and small words beside them."""
    stems = lexicon.stems(moment_words(lexicon.lang).figured(plain(text)))
    measures = lexicon.listed("answers.measures")
    sizes = {it for it in stems if it in measures or it in lexicon.numbers or it.rstrip("+").isdecimal()}
    return bool(sizes) and {*stems} <= sizes | lexicon.stop | lexicon.fillers


def is_remark(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether a text points at something and tells nothing of it: "note the time", not "note the pin is 12"."""
    first = re.split(r"[,;.!?:，。！？：]", plain(text))[0]
    rest = " ".join(lexicon.behind(first, "answers.remarks") or ())
    return bool(rest) and not re.search(r"\d", text) and not _is_sentence(rest, lexicon)


def _is_name(text: str, lexicon: StandinVocabulary) -> bool:
    tokens = words(text, 1)
    shortest, longest = (1, LONGEST_ANSWER) if lexicon.spaced else (2, 2 * LONGEST_ANSWER)
    if len(tokens) == 1 and text.isupper() and len(text) > 1:
        return True
    if not tokens or len(tokens) > longest or is_unfinished(text, lexicon):
        return False
    # "Tea thanks" is no tea.
    ends = (" ".join(tokens[place:]) for place in range(len(tokens) - shortest + 1))
    return not any(lexicon.made_of(end, "thanks", "goodbye", "yes", "no", "cancel") for end in ends)


def _is_sentence(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether a text has a pronoun, an auxiliary, a negation or the like, outside of quotation marks."""
    tokens = words(QUOTED.sub(" ", plain(text)), 1)
    # "Do the laundry" is something to do.
    tokens = tokens[1:] if lexicon.words_of("answers.chores").intersection(tokens[:1]) else tokens
    parts = {part for token in tokens for part in (token, *token.split("-"))}
    return not parts.isdisjoint({*lexicon.words_of("answers.sentence"), *lexicon.table["contractions"]})
