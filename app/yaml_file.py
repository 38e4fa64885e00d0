"""The parts that all YAML files of users share: texts by language, and messages of faults."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from agents.errors import ConfigError, UsageError
from agents.sources.documents.files import Unreadable, contents
from agents.toolkit.questions.form import reason_of
from prompts import FALLBACK

Read = TypeVar("Read", bound=BaseModel)
DEEPEST = 100
"""Levels of lists and maps that a file may have."""
LONGEST_NUMBER = 100
ToolName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class MisfitValue(UsageError):
    """A value does not fit; `path` is its place in the data, and `reason` says why in a language."""

    def __init__(self, message: str, path: Sequence[int | str], reason: Callable[[str], str]) -> None:
        super().__init__(message)
        self.path, self.reason = tuple(path), reason


class FilePart(BaseModel):
    """A part of a file; an unknown key is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _by_language(value: object) -> object:
    if isinstance(value, str | list):
        return {FALLBACK: value}
    if isinstance(value, Mapping) and value and FALLBACK not in value:
        raise ValueError(f"has no {FALLBACK!r}, to which the other languages fall back")
    return value


ByLanguage = Annotated[Mapping[str, str], BeforeValidator(_by_language)]
"""One text for all, or a text for each language."""
NO_TEXTS: Mapping[str, str] = {}
Examples = Annotated[Mapping[str, Sequence[str]], BeforeValidator(_by_language)]
NO_EXAMPLES: Mapping[str, Sequence[str]] = {}


def text_in(texts: Mapping[str, str], lang: str) -> str:
    """Return a text in a language, else in the fallback's; empty if there is none."""
    return texts.get(lang) or texts.get(FALLBACK, "")


def read_files(setting: str, path: Path, kind: type[Read]) -> list[tuple[str, Read]]:
    """Return what a file, or every YAML file of a folder, describes, each with its name.

    Raises:
        ConfigError: there is no such file, or something in one is wrong; names file, tool and field.
    """
    files = sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml")) if path.is_dir() else [path]
    if not files:
        raise ConfigError(f"{setting}: there is no YAML file in {path}")
    return [(str(file), _read(setting, file, kind)) for file in files]


def _read(setting: str, file: Path, kind: type[Read]) -> Read:
    try:
        return parsed(contents(file).decode("utf-8"), kind, str(file), aliases=True)
    except (Unreadable, UnicodeDecodeError) as trouble:
        reason = trouble if isinstance(trouble, Unreadable) else "it is not UTF-8"
        raise ConfigError(f"{setting}: {file} cannot be read: {reason}") from None
    except UsageError as wrong:
        raise ConfigError(str(wrong)) from None


def parsed(text: str, kind: type[Read], where: str, *, aliases: bool = False) -> Read:
    """Return what a text in YAML describes. Raises UsageError: something in it is wrong; names the place."""
    try:
        # A few aliases can stand for more than fits into memory.
        data = read_yaml(text, aliases=aliases)
    except ValueError as broken:
        raise UsageError(f"{where}: not YAML: {broken}") from None
    return validated(kind, {} if data is None else data, where)


def validated(kind: type[Read], data: object, where: str = "") -> Read:
    """Return data as what it describes. Raises UsageError: something in it is wrong; names the place."""
    try:
        return kind.model_validate(data)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        message = re.sub(r"^(Value|Assertion) error, ", "", first["msg"])
        text = ": ".join(filter(None, [where, place(first["loc"], data), message]))
        raise MisfitValue(text, first["loc"], partial(_told, first)) from None


def _told(error: ErrorDetails, lang: str) -> str:
    expected = str(error.get("ctx", {}).get("expected", ""))
    return reason_of(error, lang, [expected] if expected else [])


def read_yaml(text: str, *, aliases: bool = True) -> Any:
    """Return what a text in YAML says. Raises ValueError: it is no YAML, too deep, or has aliases that it may not."""
    depth = 0
    try:
        # The loader in C ends the process where a text is deeper than its stack.
        for event in yaml.parse(text, yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ValueError(f"it is nested deeper than {DEEPEST} levels")
            if isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST_NUMBER and _is_number(event):
                # YAML's numbers to the base of 60 take time that grows faster than they do.
                raise ValueError(f"a number has more than {LONGEST_NUMBER} signs")
            if isinstance(event, yaml.AliasEvent) and not aliases:
                raise ValueError("write no aliases (*name)")
        return yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError as broken:
        raise ValueError(" ".join(str(broken).split())[:300]) from None
    except (LookupError, AttributeError):
        # The loader falls over values that are not what their tags say.
        raise ValueError("a value is not of the kind that its tag names") from None


def _is_number(scalar: yaml.ScalarEvent) -> bool:
    """Tell whether YAML reads a scalar as a number."""
    resolver = yaml.resolver.Resolver()
    tag = resolver.resolve(yaml.ScalarNode, scalar.value, scalar.implicit)  # type: ignore[no-untyped-call]  # no stub
    return str(tag).endswith((":int", ":float"))


def fault(file: str, where: str, message: str) -> ConfigError:
    """Return the error that names a place in a file."""
    return ConfigError(f"{file}: {where}: {message}" if where else f"{file}: {message}")


def place(path: Sequence[int | str], raw: Any) -> str:
    """Return the place of something; entries of lists have their names."""
    words: list[str] = []
    for step in path:
        try:
            raw = raw[step]
        except (LookupError, TypeError):
            raw = None
        named = raw.get("name") if isinstance(step, int) and isinstance(raw, Mapping) else None
        words.append(str(named or step))
    return ".".join(words)
