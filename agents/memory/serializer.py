"""The serializer of checkpoints: it packs and unpacks a message once, as long as nobody changes the message."""

from collections import OrderedDict
from copy import deepcopy
from typing import NamedTuple, TypeVar

import ormsgpack
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde import jsonplus

CACHED = 1024
"""Messages in each cache."""
LONGEST = 16_384
"""Bytes of a message that is worth caching."""

Key = TypeVar("Key", int, bytes)


class CachedMessage(NamedTuple):
    """A message, a copy of its fields from when it was cached, and its packed form."""

    message: BaseMessage
    fields: dict[str, object]
    packed: object

    @property
    def is_unchanged(self) -> bool:
        """Whether the message still has the fields that its packed form holds."""
        return self.message.__dict__ == self.fields


class MessageCache(OrderedDict[Key, CachedMessage]):
    """Messages with their packed form; those that were added last are kept."""

    def add(self, key: Key, cached: CachedMessage) -> None:
        """Add a message, or cache it again after a change."""
        self[key] = cached
        self.move_to_end(key)
        if len(self) > CACHED:
            self.popitem(last=False)


class Serializer(jsonplus.JsonPlusSerializer):
    """LangGraph's serializer with a memory: every checkpoint holds the same messages as the one before, and a few new.

    A message is recognised by its identity when it is packed, and by its bytes when it is unpacked. Checkpoints that
    are written and read one after another share their messages, unless a message was changed in place.
    """

    def __init__(self) -> None:
        # None allows LangChain's and LangGraph's own types only. The default lets a forged row run code
        # unless an environment variable was set before the first import.
        super().__init__(allowed_msgpack_modules=None)
        self._by_identity = MessageCache[int]()
        self._by_bytes = MessageCache[bytes]()

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        """Return the kind and the bytes of `obj`."""
        if obj is None or isinstance(obj, bytes | bytearray):
            return super().dumps_typed(obj)
        return "msgpack", ormsgpack.packb(obj, default=self._pack, option=jsonplus._option)

    def loads_typed(self, data: tuple[str, bytes]) -> object:
        """Return what `dumps_typed` made a kind and bytes of."""
        kind, packed = data
        if kind != "msgpack":
            return super().loads_typed(data)
        return ormsgpack.unpackb(packed, ext_hook=self._unpack, option=ormsgpack.OPT_NON_STR_KEYS)

    def _pack(self, value: object) -> object:
        if not isinstance(value, BaseMessage):
            return jsonplus._msgpack_default(value)
        cached = self._by_identity.get(id(value))
        if cached and cached.is_unchanged:
            return cached.packed
        packed = jsonplus._msgpack_default(value)
        # An Ext does not show its bytes, by which the message is recognised when the checkpoint is read.
        self._cache(value, packed, ormsgpack.unpackb(ormsgpack.packb(packed), ext_hook=lambda _, data: data))
        return packed

    def _unpack(self, code: int, data: bytes) -> object:
        cached = self._by_bytes.get(data)
        if cached and cached.is_unchanged:
            return cached.message
        value = self._unpack_ext_hook(code, data)
        if code == jsonplus.EXT_PYDANTIC_V2 and isinstance(value, BaseMessage):
            self._cache(value, ormsgpack.Ext(code, data), data)
        return value

    def _cache(self, message: BaseMessage, packed: object, data: bytes) -> None:
        """Cache a message, unless it is long or has an artifact, which may be of a type that cannot be compared."""
        if getattr(message, "artifact", None) is None and len(data) <= LONGEST:
            cached = CachedMessage(message, deepcopy(message.__dict__), packed)
            self._by_bytes.add(data, cached)
            self._by_identity.add(id(message), cached)
