"""Values from raw words: typed by the schema of a tool, and told from words that are no answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.language.text.stems import plain, words
from agents.models.standin.vocabulary import StandinVocabulary

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
    """The name of the word list that says what its values are called."""
    values: tuple[Any, ...] = ()
    """What a choice admits."""


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
    """Return the schema of a value without the branch that allows none."""
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
