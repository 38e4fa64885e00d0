"""Values from raw words: typed by the schema of a tool, and told from words that are no answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.language.text.stems import plain
from agents.language.text.stems import words as words_of
from agents.language.text.vocabulary import Vocabulary
from agents.models.standin.sentences import RulesVocabulary

Kind = Literal["text", "texts", "number", "numbers", "flag", "choice", "time", "id", "ids"]
IDENTIFIERS = ("id", "ids")
"""Kinds of values that stand for a thing: its number, or itself as the user spelled it out."""
_TYPES: dict[str, Kind] = {"string": "text", "boolean": "flag", "integer": "number", "number": "number"}
QUERIES = "queries"
"""What a parameter is called that takes what is to be looked up."""
WHEN = "when"
"""What a parameter is called that takes a time in the user's words."""
QUOTED = re.compile(r'"([^"]+)"|«([^»]+)»|“([^”]+)”')
LONGEST_ANSWER = 12
"""Words of an answer that names one thing; a longer one is a story."""
_NO_NAME = re.compile(r"[=*<>{}|\\^`~_]|(?:^|\s)--?\w|[»”]\s+\w")
"""What stands in code, and behind a quotation in a sentence; not in the name of a thing."""
_EDGE = " \t\n.,;:!?—–-"
_MOODS = ("!", "…", "..", ")", "(")
REFERRING = ("number", "numbers")
"""Slots whose words point at entries of a list."""


@dataclass(frozen=True)
class Parameter:
    """A tool's parameter: what kind of value it takes and whether it may be left out."""

    tool: str
    name: str
    kind: Kind
    required: bool
    optional: bool
    """Whether leaving it out means "no value"; false where a default value stands in."""
    values: tuple[Any, ...] = ()
    """What a choice admits."""

    @property
    def word_list(self) -> str:
        """Return the name of the word list that says what its values are called."""
        return values_list(self.tool, self.name)


def values_list(tool: str, parameter: str) -> str:
    """Return the name of the word list that says what the values of a tool's parameter are called."""
    return f"values.{tool}.{parameter}"


def parameters(function: Mapping[str, Any]) -> dict[str, Parameter]:
    """Read the parameters of a tool in OpenAI's form."""
    schema = function.get("parameters", {})
    required = set(schema.get("required", ()))
    return {
        name: Parameter(
            str(function.get("name", "")),
            name,
            "time" if name == WHEN else _kind(entry),
            name in required,
            entry.get("default") is None,
            _values(entry),
        )
        for name, entry in schema.get("properties", {}).items()
    }


def items(raw: str, words: Vocabulary) -> list[str]:
    """Split an enumeration into its items; quotation marks keep an item whole."""
    flat = plain(raw)
    quoted: list[str] = []

    def keep(piece: re.Match[str]) -> str:
        quoted.append(piece[1] or piece[2] or piece[3])
        return f"\x00{len(quoted) - 1}\x00"

    parts = _separator(words).split(QUOTED.sub(keep, flat))
    restored = (re.sub("\x00(\\d+)\x00", lambda piece: quoted[int(piece[1])], part) for part in parts)
    cleaned = (clean(part, words) for part in restored)
    return list(dict.fromkeys(item for item in cleaned if item))


def clean(raw: str, words: Vocabulary) -> str:
    """Cut fillers and punctuation off the edges of a value."""
    flat = plain(raw).strip(_EDGE)
    if (quoted := QUOTED.fullmatch(flat)) is not None:
        return str(quoted[1] or quoted[2] or quoted[3])
    units = words.units(flat)
    if sum(map(flat.count, '"«»“”')) % 2:
        flat = flat.strip('"«»“”')
        units = words.units(flat)
    while len(units) > 1 and units[0].stem in words.fillers:
        units = units[1:]
    return flat[units[0].start :] if units else ""


def named(raw: str, parameter: Parameter, words: Vocabulary) -> Any:
    """Return the value that a word list gives these words ("as done" is True), or that they are; None if neither."""
    spaced = f" {' '.join(words.stems(raw))} "
    best: tuple[int, str] | None = None
    for value in words.phrases(parameter.word_list):
        for phrase in words.phrases(f"{parameter.word_list}.{value}"):
            key = f" {' '.join(words.stems(phrase))} "
            if key in spaced and (best is None or len(key) > best[0]):
                best = len(key), value
    if best is None:
        key_wanted = words.key(clean(raw, words))
        alike = (value for value in parameter.values if words.key(str(value).replace("_", " ")) == key_wanted)
        return next(alike, None) if key_wanted else None
    return {"true": True, "false": False}.get(best[1], best[1])


def vague(raw: str, words: Vocabulary) -> bool:
    """Whether the words hold the place of a value without being one ("something")."""
    return words.means(raw, "vague") or not words.stems(raw)


def _main(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a value without the branch that allows none."""
    choices: list[Mapping[str, Any]] = [choice for choice in entry.get("anyOf", ()) if choice.get("type") != "null"]
    return choices[0] if choices else entry


def _values(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    main = _main(entry)
    return tuple(main.get("enum", [main["const"]] if "const" in main else []))


def _kind(entry: Mapping[str, Any]) -> Kind:
    if {"integer", "string"} <= {choice.get("type") for choice in entry.get("anyOf", ())}:
        return "id"
    entry = _main(entry)
    if "enum" in entry or "const" in entry:
        return "choice"
    if entry.get("type") == "array":
        several: dict[Kind, Kind] = {"number": "numbers", "id": "ids"}
        return several.get(_kind(entry.get("items", {})), "texts")
    return _TYPES.get(str(entry.get("type")), "text")


def _separator(words: Vocabulary) -> re.Pattern[str]:
    joined = "|".join(re.escape(entry) for entry in sorted(words.phrases("conjunctions"), key=len, reverse=True))
    return re.compile(rf"(?:\s*[,;\n]+\s*|\.\s+)(?:(?:{joined})\s+)?|\s+(?:{joined})\s+", re.IGNORECASE)


def is_plain(text: str, slot: str, words: RulesVocabulary, *, of_form: bool = False) -> bool:
    """Tell whether what stands in a slot names things and is no sentence; in doubt it is not, as it is written down."""
    if slot in (*REFERRING, WHEN):
        return True
    if slot == QUERIES and words.asks(text):
        # "How to make tea" is no to-do, but may well be looked up.
        return True
    if vague(text, words):
        return not of_form
    names = items(text, words)
    # "Add tea and show the list" is two wishes.
    orders = _words("answers.orders", words)
    if not names or _is_sentence(text, words) or any(orders.intersection(words_of(name)[:1]) for name in names[1:]):
        return False
    return all(_is_name(name, words) and not (of_form and is_chatter(name, words)) for name in names)


def is_answer(text: str, words: RulesVocabulary, *, errands: bool = False) -> bool:
    """Tell whether a text is a plain list of names and nothing but the answer to a question.

    With `errands` a name may begin as a to-do does ("call mom").
    """
    flat = plain(text).strip()
    if words.asks(flat) or vague(flat, words) or flat.startswith("/") or flat.endswith(_MOODS) or _NO_NAME.search(flat):
        return False
    begins = _words("answers.orders", words) | (frozenset() if errands else _words("answers.errands", words))
    first = words_of(flat)[:1]
    # "Call mom" is a to-do, for all that "mom" is no answer to anything else.
    chores = _words("answers.chores", words) if errands else frozenset()
    others = [name for name in items(flat, words) if chores.isdisjoint(words_of(name)[:1])]
    is_chat = any(words_of(name) and is_chatter(name, words) for name in others)
    return begins.isdisjoint(first) and not is_chat and is_plain(flat, "", words)


def is_order(text: str, words: RulesVocabulary) -> bool:
    """Tell whether a text begins as a word to the assistant does ("show", "delete")."""
    return not _words("answers.orders", words).isdisjoint(words_of(text)[:1])


def is_unfinished(text: str, words: RulesVocabulary) -> bool:
    """Tell whether a text ends with a word that something must follow ("add milk and")."""
    return not _words("answers.unfinished", words).isdisjoint(words_of(text)[-1:])


def is_chatter(text: str, words: RulesVocabulary) -> bool:
    """Tell whether a text is about feelings, the moment or nothing at all ("hungry", "long day", "the second one")."""
    stems = words.stems(text)
    if not stems:
        return True
    first, *later = words_of(text)
    told_endings = tuple(words.phrases("answers.told"))
    if first.endswith(tuple(words.phrases("answers.endings"))) or any(
        f" {word}".endswith(told_endings) for word in later
    ):
        return True
    # One small word may be a name all the same: the language Go.
    small = words.stop | words.listed("pointing", "question") if len(stems) > 1 else frozenset()
    is_small = all(stem in small or stem in words.numbers or stem.isdecimal() for stem in stems)
    return is_small or not words.listed("answers.chatter").isdisjoint(stems)


def _is_name(text: str, words: RulesVocabulary) -> bool:
    tokens = words_of(text)
    if len(tokens) == 1 and text.isupper() and len(text) > 1:
        return True
    if not tokens or len(tokens) > LONGEST_ANSWER or is_unfinished(text, words):
        return False
    # "Tea thanks" is no tea.
    ends = (" ".join(tokens[place:]) for place in range(len(tokens)))
    said_more = any(words.made_of(end, "thanks", "goodbye", "yes", "no", "cancel") for end in ends)
    return not said_more


def _is_sentence(text: str, words: RulesVocabulary) -> bool:
    """Tell whether a text has a pronoun, an auxiliary, a negation or the like; what stands in quotes does not count."""
    tokens = [*words_of(QUOTED.sub(" ", plain(text)))]
    # "Do the laundry" is something to do.
    tokens = tokens[1:] if _words("answers.chores", words).intersection(tokens[:1]) else tokens
    tokens += [part for token in tokens for part in token.split("-")]
    return not {*_words("answers.sentence", words), *words.table["contractions"]}.isdisjoint(tokens)


def _words(name: str, words: Vocabulary) -> frozenset[str]:
    return frozenset(word for phrase in words.phrases(name) for word in words_of(phrase))
