"""The checkpoints of one run of an agent graph, and its own values between two runs.

A value comes back as it was, or the journal reports it. The journal restores the types that the graph's schemas
declare; it treats every other type as the conversation's own checkpoints do.
"""

import base64
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime, time
from enum import Enum
from functools import cache
from typing import Any, cast, get_args, get_type_hints, is_typeddict

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.types import Send
from pydantic import BaseModel

from agents.errors import ContractError
from agents.memory.checkpointer import Saver
from agents.memory.history_blocks import HistoryBlocks
from agents.memory.serializer import Packing
from dialogs import graphs_in

CHANGED = "changed"
"""Metadata of a checkpoint: the keys whose values would not come back as they were."""
PLAIN = (str, int, float, bool, type(None))


class Journal(Saver):
    """The checkpoints of one run. LangGraph itself lends it to the graphs within the graph."""

    def __init__(self, saver: Saver, graph: Pregel[Any, Any, Any, Any]) -> None:
        super().__init__(saver.connection, keep=saver.keep)
        self.serde = self._packing = Packing().with_msgpack_allowlist(_declared(graph))
        self._blocks = HistoryBlocks(self._packing)
        self._changed: dict[str, dict[str, str]] = {}
        """By namespace, the keys of this process's last step whose values would come back changed, with their types."""

    @property
    def changed(self) -> str:
        """The keys whose values would come back changed, with their types; empty if all stay as they are."""
        pairs = {key: kind for keys in self._changed.values() for key, kind in keys.items()}
        return ", ".join(f"{key!r} ({kind})" for key, kind in pairs.items())

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint as any saver does.

        Raises:
            ContractError: a graph within the graph would go on with values that have changed.
        """
        stored = await super().aget_tuple(config)
        if stored and config["configurable"].get("checkpoint_ns") and (changed := changed_in(stored.metadata)):
            raise unkept(changed)
        return stored

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint as any saver does, with the keys that would come back changed in its metadata.

        Raises:
            ContractError: a value cannot be stored at all, or the graph wants to be remembered beyond its task.
        """
        namespace = str(config["configurable"].get("checkpoint_ns", ""))
        if namespace and ":" not in namespace.rpartition("|")[2]:
            raise ContractError(f"runs a graph inside ({namespace}) that is compiled with `checkpointer=True`")
        # With a step of a graph all tasks of the step before are over.
        for other in [name for name in self._changed if not namespace or f"{name}|".startswith(f"{namespace}|")]:
            del self._changed[other]
        if changed := dict(self._changes(checkpoint["channel_values"].items())):
            self._changed[namespace] = changed
            metadata = cast(CheckpointMetadata, {**metadata, CHANGED: self.changed})
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, object]], task_id: str, task_path: str = ""
    ) -> None:
        """Save the writes of a task, unless one of them would come back changed: such a task would be run again.

        Raises:
            ContractError: a value cannot be stored at all.
        """
        values = [write for write in writes if write[0] not in WRITES_IDX_MAP]
        if changed := dict(self._changes(values)):
            self._changed.setdefault(str(config["configurable"].get("checkpoint_ns", "")), {}).update(changed)
        else:
            await super().aput_writes(config, writes, task_id, task_path)

    def packed(self, value: object) -> list[str] | None:
        """Return a value as two texts; None if it would not come back as it is."""
        with suppress(TypeError, ValueError):
            kind, data = self._packing.dumps_typed(value)
            if _is_same(value, self._packing.loads_typed((kind, data))):
                return [kind, base64.b64encode(data).decode()]
        return None

    def unpacked(self, packed: Sequence[str]) -> object:
        """Return the value of two texts that `packed` has made."""
        return self._packing.loads_typed((packed[0], base64.b64decode(packed[1])))

    def _changes(self, values: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str]]:
        """Yield the keys whose values would come back changed, each with the value's type."""
        for key, value in values:
            if is_plain(value):
                continue
            kind = type(value).__name__
            try:
                stored = self._packing.loads_typed(self._packing.dumps_typed(value))
            except (TypeError, ValueError) as broken:
                raise ContractError(f"holds under {key!r} what cannot be stored ({kind}: {broken})") from None
            if not _is_same(value, stored):
                yield key, kind


def unkept(changed: str) -> ContractError:
    """Return the error of a run that cannot go on: these keys would come back changed."""
    return ContractError(
        f"waits, and would not get back as it was what it holds under {changed}: "
        "declare the type in the graph's schema, at the top of a module, or keep plain data"
    )


def changed_in(metadata: Mapping[str, object]) -> str:
    """Return the keys that the metadata of a checkpoint names as changed."""
    return str(metadata.get(CHANGED) or "")


def is_plain(value: object, *, messages: bool = True) -> bool:
    """Tell whether a value is plain JSON, of these very types; with `messages` LangChain's messages are plain, too."""
    if isinstance(value, BaseMessage):
        # What their fields may hold is LangChain's own agreement with savers.
        return messages and type(value).__module__.startswith("langchain_core.")
    if type(value) is dict:
        return all(type(key) is str and is_plain(it, messages=messages) for key, it in value.items())
    if type(value) is list:
        return all(is_plain(it, messages=messages) for it in value)
    if type(value) is int:
        return -(2**63) <= value < 2**64
    return type(value) in PLAIN and value == value  # NaN is no JSON


def _is_same(value: object, stored: object) -> bool:
    """Tell whether a value has come back as it was, with the types of all its parts."""
    if type(value) is not type(stored):
        return False
    if type(value) in PLAIN:
        return value == stored or value != value
    match value, stored:
        case BaseMessage(), BaseMessage():
            return True
        case Mapping(), Mapping():
            return _is_same([*value], [*stored]) and _is_same([*value.values()], [*stored.values()])
        case ((list() | tuple() | deque()), (list() | tuple() | deque())):
            return len(value) == len(stored) and all(map(_is_same, value, stored))
        case ((set() | frozenset()), (set() | frozenset())):
            return {(type(it), it) for it in value} == {(type(it), it) for it in stored}
        case ((datetime() | time()), (datetime() | time())):
            return value == stored and _is_same(value.tzinfo, stored.tzinfo)
    if parts := _parts(value):
        return _is_same(parts, _parts(stored))
    packing = Packing()
    return packing.dumps_typed(value) == packing.dumps_typed(stored)


def _parts(value: object) -> list[object]:
    """Return the values that a record holds; empty for a value of another kind."""
    if isinstance(value, Send):
        return [value.node, value.arg]
    if isinstance(value, BaseModel):
        return [vars(value), value.__pydantic_extra__, value.__pydantic_private__]
    if is_dataclass(value):
        return [getattr(value, field.name, None) for field in fields(value)]
    return []


@cache
def _declared(graph: Pregel[Any, Any, Any, Any]) -> frozenset[tuple[str, ...]]:
    """Return module and name of each type in the schemas of a graph, and of the graphs within it."""
    hints = list[Any]()
    for each in graphs_in(graph):
        hints += each.builder.schemas if isinstance(each, CompiledStateGraph) else ()
        hints += [channel.ValueType for channel in each.channels.values() if hasattr(channel, "ValueType")]
    kinds = list[Any]()
    # The list grows while it is gone through.
    for hint in hints:
        further = [*get_args(hint), getattr(hint, "__value__", None), getattr(hint, "__supertype__", None)]
        if is_record := isinstance(hint, type) and _is_record(hint):
            kinds.append(hint)
        if is_record or is_typeddict(hint):
            with suppress(NameError, TypeError):
                further += get_type_hints(hint, include_extras=True).values()
        hints += [it for it in further if it is not None and not any(it is other for other in hints)]
    return frozenset((kind.__module__, kind.__name__) for kind in kinds)


def _is_record(kind: type) -> bool:
    return is_dataclass(kind) or issubclass(kind, Enum | BaseModel) or (issubclass(kind, tuple) and kind is not tuple)
