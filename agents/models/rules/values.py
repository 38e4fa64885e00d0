"""Typed values from raw words, by the schema of the tool that wants them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.text.stems import plain
from agents.text.vocabulary import Vocabulary

Kind = Literal["text", "texts", "number", "numbers", "flag", "choice", "time"]
_TYPES: dict[str, Kind] = {"string": "text", "boolean": "flag", "integer": "number", "number": "number"}
WHEN = "when"
"""What a parameter is called that takes a time in the user's words."""
QUOTED = re.compile(r'"([^"]+)"|«([^»]+)»|“([^”]+)”')
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
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[1] or found[2] or found[3])
        return f"\x00{len(kept) - 1}\x00"

    parts = _separator(words).split(QUOTED.sub(keep, flat))
    restored = (re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], part) for part in parts)
    cleaned = (clean(part, words) for part in restored)
    return list(dict.fromkeys(item for item in cleaned if item and not _negated(item, words)))


def clean(raw: str, words: Vocabulary) -> str:
    """Cut fillers and punctuation off the edges of a value."""
    flat = plain(raw).strip(_EDGE)
    if (found := QUOTED.fullmatch(flat)) is not None:
        return str(found[1] or found[2] or found[3])
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
    found = words.mention(text, name)
    return clean(text[found[1] :], words) or text if found and found[0] == 0 else text


def named(raw: str, parameter: Parameter, words: Vocabulary) -> Any:
    """Return the value that a word list gives these words ("as done" is True), or that they are; None if neither."""
    name = parameter.name
    said = f" {' '.join(words.stems(raw))} "
    best: tuple[int, str] | None = None
    for value in words.phrases(f"values.{name}"):
        for phrase in words.phrases(f"values.{name}.{value}"):
            key = f" {' '.join(words.stems(phrase))} "
            if key in said and (best is None or len(key) > best[0]):
                best = len(key), value
    if best is None:
        wanted = words.key(clean(raw, words))
        alike = (value for value in parameter.values if words.key(str(value).replace("_", " ")) == wanted)
        return next(alike, None) if wanted else None
    return {"true": True, "false": False}.get(best[1], best[1])


def vague(raw: str, words: Vocabulary) -> bool:
    """Whether the words hold the place of a value without being one ("something")."""
    return words.means(raw, "vague") or not words.stems(raw)


def _main(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a value without the branch that allows none."""
    choices: list[Mapping[str, Any]] = [one for one in entry.get("anyOf", ()) if one.get("type") != "null"]
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
