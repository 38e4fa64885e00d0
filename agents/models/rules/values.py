"""Values from raw words: typed by the schema of a tool, and told from words that are no answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.text.stems import plain
from agents.text.stems import words as words_of
from agents.text.vocabulary import Vocabulary

Kind = Literal["text", "texts", "number", "numbers", "flag", "choice", "time"]
_TYPES: dict[str, Kind] = {"string": "text", "boolean": "flag", "integer": "number", "number": "number"}
WHEN = "when"
"""What a parameter is called that takes a time in the user's words."""
QUOTED = re.compile(r'"([^"]+)"|«([^»]+)»|“([^”]+)”')
LONGEST_ANSWER = 12
"""Words of an answer that names one thing; a longer one is a story."""
_EDGE = " \t\n.,;:!?—–-"


@dataclass(frozen=True)
class Parameter:
    """A tool's parameter: what kind of value it takes and whether it may be left out."""

    name: str
    kind: Kind
    required: bool
    optional: bool
    """Whether leaving it out means "no value"; false where a default value stands in."""
    values: tuple[Any, ...] = ()
    """What a choice admits."""


def parameters(function: Mapping[str, Any]) -> dict[str, Parameter]:
    """Read the parameters of a tool in OpenAI's form."""
    schema = function.get("parameters", {})
    required = set(schema.get("required", ()))
    return {
        name: Parameter(
            name,
            "time" if name == WHEN else _kind(entry),
            name in required,
            entry.get("default") is None,
            _values(entry),
        )
        for name, entry in schema.get("properties", {}).items()
    }


def items(raw: str, words: Vocabulary) -> list[str]:
    """Split an enumeration into its items; quotation marks keep an item whole, "not X" is no item."""
    flat = plain(raw)
    quoted: list[str] = []

    def keep(piece: re.Match[str]) -> str:
        quoted.append(piece[1] or piece[2] or piece[3])
        return f"\x00{len(quoted) - 1}\x00"

    parts = _separator(words).split(QUOTED.sub(keep, flat))
    restored = (re.sub("\x00(\\d+)\x00", lambda piece: quoted[int(piece[1])], part) for part in parts)
    cleaned = (clean(part, words) for part in restored)
    return list(dict.fromkeys(item for item in cleaned if item and not _negated(item, words)))


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


def without(raw: str, words: Vocabulary, name: str) -> str:
    """Return a value without the phrase of a word list that it begins with: "maybe cooking"."""
    text = clean(raw, words)
    span = words.mention(text, name)
    return clean(text[span[1] :], words) or text if span and span[0] == 0 else text


def named(raw: str, parameter: Parameter, words: Vocabulary) -> Any:
    """Return the value that a word list gives these words ("as done" is True), or that they are; None if neither."""
    name = parameter.name
    spaced = f" {' '.join(words.stems(raw))} "
    best: tuple[int, str] | None = None
    for value in words.phrases(f"values.{name}"):
        for phrase in words.phrases(f"values.{name}.{value}"):
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
    entry = _main(entry)
    if "enum" in entry or "const" in entry:
        return "choice"
    if entry.get("type") == "array":
        return "numbers" if _kind(entry.get("items", {})) == "number" else "texts"
    return _TYPES.get(str(entry.get("type")), "text")


def _separator(words: Vocabulary) -> re.Pattern[str]:
    joined = "|".join(re.escape(entry) for entry in sorted(words.phrases("conjunctions"), key=len, reverse=True))
    return re.compile(rf"(?:\s*[,;\n]+\s*|\.\s+)(?:(?:{joined})\s+)?|\s+(?:{joined})\s+", re.IGNORECASE)


def _negated(item: str, words: Vocabulary) -> bool:
    stems = words.stems(item)
    return any(stems[: len(key)] == key for key in map(words.stems, words.phrases("negation")))


def is_answer(text: str, words: Vocabulary, *, may_command: bool = False) -> bool:
    """Tell whether a text is a plain list of names; in doubt it is not, because an answer is written down.

    With `may_command` a name may begin like a command, as a to-do does ("call mom").
    """
    if words.asks(text):
        return False
    names = items(text, words)
    return bool(names) and not _is_negated(text, words) and all(_is_name(name, words, may_command) for name in names)


def is_small(text: str, words: Vocabulary) -> bool:
    """Tell whether a text has no word that names anything ("the second one", "I can do everything")."""
    if words.means(text, "vague", "references.all"):
        return True
    stems = words.stems(text)
    small = words.stop | words.listed("pointing", "question", "answers.around")
    # One small word may be a name all the same: the language Go.
    small = small if len(stems) > 1 else words.listed("answers.around")
    return all(stem in small or stem in words.numbers or stem.isdecimal() for stem in stems)


def _is_name(text: str, words: Vocabulary, may_command: bool) -> bool:
    tokens = words_of(text)
    if len(tokens) == 1 and text.isupper() and len(text) > 1:
        return True
    if is_small(text, words) or len(tokens) > LONGEST_ANSWER:
        return False
    is_command = not may_command and tokens[0] in _words("answers.commands", words)
    sentence = {*_words("answers.sentence", words), *words.table["contractions"]}
    return not is_command and not sentence.intersection(tokens)


def _is_negated(text: str, words: Vocabulary) -> bool:
    negations = {word for phrase in words.phrases("negation") for word in words_of(phrase)[:1]}
    return bool(negations.intersection(words_of(clean(plain(text), words))))


def _words(name: str, words: Vocabulary) -> frozenset[str]:
    return frozenset(word for phrase in words.phrases(name) for word in words_of(phrase))
