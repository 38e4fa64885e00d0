"""The graph for a test, compiled once for all tests that have the same speakers."""

import copy
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

import prompts
from agents.conversation.gate import Gate, trained_gate
from agents.discovery import load_each
from agents.graph import Graph, build_graph
from agents.memory import Memory
from agents.plugin import Plugin
from agents.toolkit.speaker import Silence, Speaker, Speakers
from agents.toolkit.tool_node import tool_node
from app.cli.command_line import MODULE_OF, OPEN
from app.composition import discover, faults_of, plugins_found
from app.extensions import shipped
from observers import Observer
from tests.support.prompt_copy import SHIPPED, state_of

T = TypeVar("T")
Find = Callable[..., list[str]]
"""A function that returns the faults of speakers, like `app.composition.faults_of`."""
FindFiles = Callable[[str, str], dict[Path, Path]]
"""A function that returns the files of a language that match a glob, like `prompts.files`."""

MakeNode = Callable[..., ToolNode]
Parse = Callable[[Path], dict[str, Any]]
Load = Callable[..., dict[str, Any]]
"""A function that returns what the files of a package define, like `agents.discovery.load_each`."""


class Cast:
    """Speakers and observers as the key of a cache: two keys are equal if their parts are the same objects."""

    def __init__(self, speakers: Speakers, observers: Mapping[str, Observer]) -> None:
        self.speakers, self.observers = speakers, observers
        self._parts = (
            _identity(speakers.help),
            *(_shape(Same(speaker)) for speaker in (*speakers, *speakers.absent.values())),
            *(len(speakers.dialogs), *speakers.dialogs, *speakers.absent),
            *map(_identity, observers.items()),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cast) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


@dataclass(frozen=True, eq=False)
class Same:
    """A speaker as the key of a cache: a key equals another one only for the same object."""

    speaker: Speaker

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.speaker is other.speaker

    def __hash__(self) -> int:
        return id(self.speaker)


@lru_cache(maxsize=64)
def _shape(same: Same) -> tuple[object, ...]:
    speaker = same.speaker
    return type(speaker), *(_identity(getattr(speaker, each.name)) for each in fields(speaker))


def _identity(value: object) -> object:
    """Return the identity of a living object; a collection has the identity of its members."""
    if isinstance(value, list | tuple):
        return tuple(map(_identity, value))
    if isinstance(value, dict):
        return tuple((key, _identity(each)) for key, each in value.items())
    return value if isinstance(value, str | Silence) else id(value)


discovered = cache(discover)
"""The dialogs and observers of the application, found once."""
specialists = cache(plugins_found)
"""The plug-ins and dialogs with their declarations, found once."""


def compiled(
    memory: Memory, speakers: Speakers, observers: Mapping[str, Observer], gate: Gate | None, direct_switch: bool = True
) -> Graph:
    """Return the graph of the speakers on a memory."""
    options = {"gate": gate, "direct_switch": direct_switch}
    return built_once(speakers, observers, saver=memory.saver, store=memory.store, **options)


def checked_once(faults_of: Find) -> Find:
    """Return a replacement for `faults_of` that remembers the faults of the same speakers with the same prompts."""
    known: dict[object, list[str]] = {}

    def finding(speakers: Speakers, *, complete: bool) -> list[str]:
        if prompts.EXTENSIONS:
            return faults_of(speakers, complete=complete)
        checks = tuple(plugin.check for plugin in plugins_found().values())
        key = Cast(speakers, {}), checks, frozenset(state_of(prompts.FOLDER)), complete
        if key not in known:
            known[key] = faults_of(speakers, complete=complete)
        return [*known[key]]

    return finding


def files_once(files: FindFiles) -> FindFiles:
    """Return a replacement for `prompts.files` that looks for the same files of the shipped prompts once."""
    known: dict[object, dict[Path, Path]] = {}

    def finding(lang: str, pattern: str) -> dict[Path, Path]:
        if not _are_prompts_shipped():
            return files(lang, pattern)
        key = lang, pattern, prompts.OFF
        if key not in known:
            known[key] = files(lang, pattern)
        return {**known[key]}

    return finding


def parsed_once(read_toml: Parse) -> Parse:
    """Return a replacement for `prompts.read_toml` that parses the same file, or a copy of it, once."""
    known: dict[object, dict[str, Any]] = {}

    def reading(path: Path) -> dict[str, Any]:
        status = path.stat()
        key = path.parent.name, path.name, status.st_size, status.st_mtime_ns
        if key not in known:
            known[key] = read_toml(path)
        return known[key]

    return reading


def loaded_once(load_each: Load) -> Load:
    """Return a replacement for `load_each` that looks into the same folders once, as long as no file comes or goes."""
    known: dict[object, dict[str, Any]] = {}

    def loading(
        package: str, path: Iterable[str], kind: type[Any], off: Collection[str] = frozenset()
    ) -> dict[str, Any]:
        folders = [Path(place) for place in path]
        times = tuple((place, place.stat().st_mtime_ns) for place in folders if place.is_dir())
        key = package, kind, frozenset(off), times
        if key not in known:
            known[key] = load_each(package, map(str, folders), kind, off)
        return {**known[key]}

    return loading


def built_once(
    speakers: Speakers, observers: Mapping[str, Observer], *, saver: Any, store: Any, **options: Any
) -> Graph:
    """Replace `build_graph`: build the graph of the same speakers once."""
    if not _are_prompts_shipped():
        return build_graph(speakers, observers, saver=saver, store=store, **options)
    graph = copy.copy(_built(Cast(speakers, observers), tuple(options.items())))
    graph.checkpointer, graph.store = saver, store
    return graph


def _are_prompts_shipped() -> bool:
    return prompts.FOLDER == SHIPPED and not prompts.EXTENSIONS


@lru_cache(maxsize=24)
def _built(staff: Cast, options: tuple[tuple[str, Any], ...]) -> Graph:
    return build_graph(staff.speakers, staff.observers, saver=None, store=None, **dict(options))


def build_once(patch: pytest.MonkeyPatch) -> None:
    """Check the same speakers, and build their graph, once in this process and in those that are forked from it."""
    parsed = parsed_once(prompts.read_toml)
    patch.setattr("app.composition.faults_of", checked_once(faults_of))
    patch.setattr("prompts.files", files_once(prompts.files))
    patch.setattr("app.extensions.shipped", cache(shipped))
    for place in ("prompts", "app.presentation.text_files"):
        patch.setattr(f"{place}.read_toml", parsed)
    loading = loaded_once(load_each)
    for module in [*sys.modules.values()]:
        if vars(module).get("load_each") is load_each and module.__name__ != __name__:
            patch.setattr(module, "load_each", loading)
    patch.setattr("app.composition.trained_gate", cache(trained_gate))
    patch.setattr("app.composition.build_graph", built_once)
    patch.setattr("app.testing.build_graph", built_once)
    patch.setattr("agents.nodes.tools.tool_node", once := nodes_once(tool_node))
    patch.setattr("agents.nodes.shortcut.tool_node", once)


def nodes_once(tool_node: MakeNode) -> MakeNode:
    """Return a replacement for `tool_node` that makes the node of the same tools once."""
    made: dict[tuple[object, ...], tuple[ToolNode, Sequence[object]]] = {}

    def node(
        speaker: Speaker, tools: Sequence[BaseTool], further: Sequence[str] = (), hooks: Sequence[object] = ()
    ) -> ToolNode:
        key = speaker.name, *map(id, (*tools, *hooks)), *further
        if key not in made:
            # The tools live as long as the node, so that no other one gets the id of one of them.
            made[key] = tool_node(speaker, tools, further, hooks), (*tools, *hooks)
        return made[key][0]

    return node


def commands_once(application: Callable[..., T], brought: Callable[[], Mapping[str, Plugin]]) -> Callable[..., T]:
    """Return a replacement for `application` that puts the commands of the same plug-ins together once."""
    made: dict[tuple[str, tuple[str, ...], tuple[int, ...]], tuple[T, Sequence[object]]] = {}

    def commands(name: str = "", rest: Sequence[str] = ()) -> T:
        is_of_core = name in MODULE_OF and name not in OPEN
        parts = [] if is_of_core else [plugin.command_line for plugin in brought().values()]
        key = name, (*rest,) if name in OPEN else (), tuple(map(id, parts))
        if key not in made:
            made[key] = application(name, rest), parts
        return made[key][0]

    return commands
