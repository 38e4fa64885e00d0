"""Values from raw words: typed by the schema of a tool, told from words that are no answer; times for the tools."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

from agents.language.schedule.grammar import Reading, pieces_in, read
from agents.language.schedule.parser import meant, problem_of
from agents.language.schedule.period import period
from agents.language.text.stems import plain, words
from agents.language.text.vocabulary import Vocabulary
from agents.models.standin.vocabulary import StandinVocabulary

_CLOCK = re.compile(r"\d[:.]\d\d")
_SOME_DAY = datetime(2000, 1, 1, tzinfo=ZoneInfo("UTC"))
"""Whether words name a time must not depend on when they are said; the tools know what is past."""


@lru_cache(maxsize=2_000)
def parted(text: str, lang: str) -> tuple[str, str] | None:
    """Return the words of a plain text that name one moment to come, and the others; None if it names none."""
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
    """Return "two hours" as "two hours later", which counts from the time that is put off; any other time as it is."""
    for phrase in (form.format(raw.strip(" ,.;:!?")) for form in words.phrases("edits.later")):
        if (reading := read(phrase, words.lang)) and not reading.rest and reading.pieces.keys() == {"shift"}:
            return phrase
    return raw


def names_time(text: str, lang: str) -> bool:
    """Tell whether any words of a text speak of time, or could if there were such a time."""
    return bool(pieces_in(text, lang)) or _CLOCK.search(text) is not None


def _names_a_moment(reading: Reading) -> bool:
    zone = ZoneInfo("UTC")
    is_real = meant(reading.pieces, _SOME_DAY, zone) is not None
    # The tool says what is wrong with a time that is past, or that there is not ("at 25:00").
    return is_real or problem_of(reading.pieces, _SOME_DAY, zone).reason != "unclear"


Kind = Literal["text", "texts", "number", "numbers", "flag", "choice", "time", "id", "ids"]
IDENTIFIERS = ("id", "ids")
"""Kinds of values that stand for a thing: its number, or itself as the user spelled it out."""
REFERRING = ("number", "numbers")
"""Kinds of values that point at entries of a list, and the names of slots for them."""
QUERIES, WHEN = "queries", "when"
"""Parameters that take what is to be looked up, and a time in the user's words."""
QUOTED = re.compile(r'"([^"]+)"|«([^»]+)»|“([^”]+)”')
LONGEST_ANSWER = 12
"""Words of an answer that names one thing; a longer one is a story."""
_TYPES: Mapping[str, Kind] = {"string": "text", "boolean": "flag", "integer": "number", "number": "number"}
_NO_NAME = re.compile(r"[=*<>{}|\\^`~_]|(?:^|\s)--?\w|[»”]\s+\w")
"""What stands in code, and behind a quotation in a sentence; not in the name of a thing."""
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
    values: tuple[Any, ...] = ()


def parameters(function: Mapping[str, Any]) -> dict[str, Parameter]:
    """Read the parameters of a tool in OpenAI's form."""
    schema = function.get("parameters", {})
    required = schema.get("required", ())
    found = {}
    for name, entry in schema.get("properties", {}).items():
        kind = "time" if name == WHEN else _kind(entry)
        words_of_values = values_list(str(function.get("name", "")), name)
        main = _main(entry)
        values = tuple(main.get("enum", [main["const"]] if "const" in main else []))
        found[name] = Parameter(name, kind, name in required, entry.get("default") is None, words_of_values, values)
    return found


def values_list(tool: str, parameter: str) -> str:
    """Return the name of the word list that says what the values of a tool's parameter are called."""
    return f"values.{tool}.{parameter}"


def _main(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    choices: list[Mapping[str, Any]] = [choice for choice in entry.get("anyOf", ()) if choice.get("type") != "null"]
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


def items(raw: str, lexicon: StandinVocabulary) -> list[str]:
    """Split an enumeration into its items; quotation marks keep an item whole."""
    quoted: list[str] = []

    def keep(piece: re.Match[str]) -> str:
        quoted.append(piece[1] or piece[2] or piece[3])
        return f"\x00{len(quoted) - 1}\x00"

    joined = lexicon.conjunctions
    separator = rf"(?:\s*[,;\n]+\s*|\.\s+)(?:{joined}\s+)?|\s+{joined}\s+"
    parts = re.split(separator, QUOTED.sub(keep, plain(raw)), flags=re.IGNORECASE)
    restored = (re.sub("\x00(\\d+)\x00", lambda piece: quoted[int(piece[1])], part) for part in parts)
    return list(dict.fromkeys(item for part in restored if (item := clean(part, lexicon))))


def clean(raw: str, lexicon: StandinVocabulary) -> str:
    """Cut fillers and punctuation off the edges of a value."""
    flat = plain(raw).strip(_EDGE)
    if (quoted := QUOTED.fullmatch(flat)) is not None:
        return str(quoted[1] or quoted[2] or quoted[3])
    if sum(map(flat.count, '"«»“”')) % 2:
        flat = flat.strip('"«»“”')
    units = lexicon.units(flat)
    while len(units) > 1 and units[0].stem in lexicon.fillers:
        units = units[1:]
    return flat[units[0].start :] if units else ""


def named(raw: str, parameter: Parameter, lexicon: StandinVocabulary) -> Any:
    """Return the value that a word list gives these words ("as done" is True), or that they are; None if neither."""
    said = f" {' '.join(lexicon.stems(raw))} "
    phrases = {
        f" {' '.join(lexicon.stems(phrase))} ": value
        for value in lexicon.phrases(parameter.word_list)
        for phrase in lexicon.phrases(f"{parameter.word_list}.{value}")
    }
    if longest := max((phrase for phrase in phrases if phrase in said), key=len, default=""):
        return {"true": True, "false": False}.get(phrases[longest], phrases[longest])
    key = lexicon.key(clean(raw, lexicon))
    alike = (value for value in parameter.values if lexicon.key(str(value).replace("_", " ")) == key)
    return next(alike, None) if key else None


def vague(raw: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether the words hold the place of a value without being one ("something")."""
    return lexicon.means(raw, "vague") or not lexicon.stems(raw)


def is_plain(text: str, slot: str, lexicon: StandinVocabulary, *, of_form: bool = False) -> bool:
    """Tell whether what stands in a slot names things and is no sentence; in doubt it is not, as it is written down."""
    if slot in (*REFERRING, WHEN) or (slot == QUERIES and lexicon.asks(text)):
        return True
    if vague(text, lexicon):
        return not of_form
    names = items(text, lexicon)
    # "Add tea and show the list" is two wishes.
    orders = lexicon.words_of("answers.orders")
    if not names or _is_sentence(text, lexicon) or any(orders.intersection(words(name)[:1]) for name in names[1:]):
        return False
    return all(_is_name(name, lexicon) and not (of_form and is_chatter(name, lexicon)) for name in names)


def is_answer(text: str, lexicon: StandinVocabulary, *, errands: bool = False) -> bool:
    """Tell whether a text is a plain list of names and nothing but the answer to a question.

    With `errands` a name may begin as a to-do does ("call mom").
    """
    flat = plain(text).strip()
    if lexicon.asks(flat) or vague(flat, lexicon) or flat[:1] == "/" or flat.endswith(_MOODS) or _NO_NAME.search(flat):
        return False
    chores = lexicon.words_of("answers.chores") if errands else frozenset()
    if is_order(flat, lexicon) or (not errands and lexicon.words_of("answers.errands").intersection(words(flat)[:1])):
        return False
    # "Call mom" is a to-do, for all that "mom" is no answer to anything else.
    others = [name for name in items(flat, lexicon) if chores.isdisjoint(words(name)[:1])]
    return not any(is_chatter(name, lexicon) for name in others) and is_plain(flat, "", lexicon)


def is_order(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether a text begins as a word to the assistant does ("show", "delete")."""
    return not lexicon.words_of("answers.orders").isdisjoint(words(text)[:1])


def is_unfinished(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether a text ends with a word that something must follow ("add milk and")."""
    return not lexicon.words_of("answers.unfinished").isdisjoint(words(text)[-1:])


def is_chatter(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether a text is about feelings, the moment or nothing at all ("hungry", "long day", "the second one")."""
    stems, spoken = lexicon.stems(text), words(text)
    if not spoken or spoken[0].endswith(tuple(lexicon.phrases("answers.endings"))):
        return True
    if any(f" {word}".endswith(tuple(lexicon.phrases("answers.told"))) for word in spoken[1:]):
        return True
    # One small word may be a name all the same: the language Go.
    small = lexicon.stop | lexicon.listed("pointing", "question") if len(stems) > 1 else frozenset()
    is_small = all(stem in small or stem in lexicon.numbers or stem.isdecimal() for stem in stems)
    return is_small or not lexicon.listed("answers.chatter").isdisjoint(stems)


def _is_name(text: str, lexicon: StandinVocabulary) -> bool:
    tokens = words(text)
    if len(tokens) == 1 and text.isupper() and len(text) > 1:
        return True
    if not tokens or len(tokens) > LONGEST_ANSWER or is_unfinished(text, lexicon):
        return False
    # "Tea thanks" is no tea.
    ends = (" ".join(tokens[place:]) for place in range(len(tokens)))
    return not any(lexicon.made_of(end, "thanks", "goodbye", "yes", "no", "cancel") for end in ends)


def _is_sentence(text: str, lexicon: StandinVocabulary) -> bool:
    """Tell whether a text has a pronoun, an auxiliary, a negation or the like; what stands in quotes does not count."""
    tokens = words(QUOTED.sub(" ", plain(text)))
    # "Do the laundry" is something to do.
    tokens = tokens[1:] if lexicon.words_of("answers.chores").intersection(tokens[:1]) else tokens
    parts = {part for token in tokens for part in (token, *token.split("-"))}
    return not parts.isdisjoint({*lexicon.words_of("answers.sentence"), *lexicon.table["contractions"]})
