"""The common parts of all YAML files of users: texts by language, and messages of faults."""

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
from prompts import FALLBACK, retold, sentence

Read = TypeVar("Read", bound=BaseModel)
DEEPEST = 100
"""The most levels of lists and maps in a file."""
LONGEST_NUMBER = 100
MERGE = "tag:yaml.org,2002:merge"
ToolName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class MisfitValue(UsageError):
    """A value does not fit; `path` is its place in the data, `where` the place in words, `reason` words the reason."""

    def __init__(
        self, message: str, path: Sequence[int | str], reason: Callable[[str], str], where: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.path, self.reason, self.where = tuple(path), reason, where

    def told(self, lang: str) -> str:
        """Return the message in a language; in the fallback language it has the parser's own words."""
        return str(self) if lang == FALLBACK else ": ".join([*self.where, self.reason(lang)])


class FilePart(BaseModel):
    """A part of a file; an unknown key is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _by_language(value: object) -> object:
    if isinstance(value, str | list):
        return {FALLBACK: value}
    if isinstance(value, Mapping) and value and FALLBACK not in value:
        raise ValueError(sentence("form_errors", "no_fallback", FALLBACK, lang=FALLBACK))
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
    """Return the content of a file, or of every YAML file of a folder, each with its name.

    Raises:
        ConfigError: there is no such file, or something in one is wrong; the message names file, tool and field.
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
    """Return a text in YAML as a model of a kind. Raises UsageError, with the place: something in it is wrong."""
    try:
        # A few aliases can stand for more than fits into memory.
        data = read_yaml(text, aliases=aliases)
    except BrokenYaml as broken:
        raise _misfit(f"not YAML: {broken}", (), broken.told, where) from None
    return validated(kind, {} if data is None else data, where)


def validated(kind: type[Read], data: object, where: str = "") -> Read:
    """Return plain data as a model of a kind. Raises UsageError, with the place: something in it is wrong."""
    try:
        return kind.model_validate(data)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        message = re.sub(r"^(Value|Assertion) error, ", "", first["msg"])
        raise _misfit(message, first["loc"], partial(_told, first), where, place(first["loc"], data)) from None


def _misfit(message: str, path: Sequence[int | str], reason: Callable[[str], str], *where: str) -> MisfitValue:
    places = [words for words in where if words]
    return MisfitValue(": ".join([*places, message]), path, reason, places)


def _told(error: ErrorDetails, lang: str) -> str:
    context = error.get("ctx", {})
    if isinstance(refusal := context.get("error"), UsageError):
        return refusal.told(lang)
    expected = str(context.get("expected", ""))
    return retold("form_errors", reason_of(error, lang, [expected] if expected else []), lang)


class BrokenYaml(UsageError):
    """A text is not YAML, too deep, or has forbidden aliases; `key` names the sentence for the fault."""

    def __init__(self, key: str, message: str = "", **facts: object) -> None:
        self._told = partial(sentence, "form_errors", f"yaml.{key}", **facts)
        super().__init__(message or self._told(FALLBACK))

    def told(self, lang: str) -> str:
        """Return the fault, in a language."""
        return self._told(lang)


def read_yaml(text: str, *, aliases: bool = True) -> Any:
    """Return the plain data of a text in YAML. Raises BrokenYaml."""
    depth = 0
    try:
        # The loader in C ends the process where a text is deeper than its stack.
        for event in yaml.parse(text, yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise BrokenYaml("deep", most=DEEPEST)
            if isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST_NUMBER and _is_number(event):
                # The time for YAML's numbers to the base of 60 grows faster than their length.
                raise BrokenYaml("number", most=LONGEST_NUMBER)
            if isinstance(event, yaml.AliasEvent) and not aliases:
                raise BrokenYaml("alias")
        if second := _second_key(yaml.compose(text, yaml.CSafeLoader)):
            raise BrokenYaml("twice", name=second.value, line=second.start_mark.line + 1)
        return yaml.load(text, yaml.CSafeLoader)
    except BrokenYaml:
        raise
    except yaml.YAMLError as broken:
        mark = getattr(broken, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise BrokenYaml("syntax", " ".join(str(broken).split())[:300], line=line) from None
    except (LookupError, AttributeError, ValueError):
        # The loader fails at values that do not fit their tags, and at impossible dates.
        raise BrokenYaml("tag") from None


def _second_key(root: yaml.Node | None) -> yaml.Node | None:
    """Return a key that stands twice in a map, of which the last one would count; None without one."""
    nodes, visited = [root], set[int]()
    # The list grows while it is gone through; aliases lead to the same node again.
    for node in nodes:
        if isinstance(node, yaml.CollectionNode) and id(node) not in visited:
            visited.add(id(node))
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            keys = [key for key, _ in pairs if isinstance(key, yaml.ScalarNode) and key.tag != MERGE]
            first = {(key.tag, key.value): key for key in reversed(keys)}
            if second := next((key for key in keys if first[key.tag, key.value] is not key), None):
                return second
            nodes += [part for pair in pairs for part in pair] or node.value
    return None


def _is_number(scalar: yaml.ScalarEvent) -> bool:
    """Tell whether YAML reads a scalar as a number."""
    resolver = yaml.resolver.Resolver()
    tag = resolver.resolve(yaml.ScalarNode, scalar.value, scalar.implicit)  # type: ignore[no-untyped-call]  # no stub
    return str(tag).endswith((":int", ":float"))


def fault(file: str, where: str, message: str) -> ConfigError:
    """Return an error with its place in a file."""
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
