"""How values are packed into bytes for the checkpoints.

A long history is the same in each checkpoint but for its end. So it is packed in blocks, each once, and the blocks
that were used last are remembered.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agents.state.talk import No

PACKED, NOES, BLOCKS = "zlib ", "noes ", "blocks "
"""What stands before the kind of a value that is packed, that has noes, or that has blocks of messages."""
BLOCK, MOST_BLOCKS = 32, 500
"""Messages of a block, and blocks that are remembered."""
Talks = Mapping[str, Mapping[str, Any]]
LEAST_PACKED = 1000
"""Bytes from which on a value is packed."""
LONGEST_VALUE = 64 * 1024 * 1024
"""Bytes that a value may unpack to: a forged one must not fill the memory."""


class Packing(JsonPlusSerializer):
    """LangGraph's serializer for its own and LangChain's types, and zlib around it."""

    def __init__(self) -> None:
        # None allows those types only. The default lets a forged row run code unless an environment variable was set
        # before the first import.
        super().__init__(allowed_msgpack_modules=None)
        self._packed: dict[tuple[int, ...], tuple[Sequence[AnyMessage], bytes]] = {}
        """By the identities of its messages, which are held so that no other ones get these."""
        self._unpacked: dict[bytes, Sequence[AnyMessage]] = {}

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        """Return the kind and the bytes of `obj`."""
        blocks: list[bytes] = []
        obj = _in_histories(obj, lambda talk: self._with_blocks(talk, blocks))
        kind, data = self._dumps(obj)
        return (BLOCKS + kind, super().dumps_typed([*blocks, data])[1]) if blocks else (kind, data)

    def _dumps(self, obj: object) -> tuple[str, bytes]:
        noes = [place for place, it in enumerate(obj) if isinstance(it, No)] if isinstance(obj, list) else []
        # Msgpack keeps a no as any other text, which would count as true.
        kind, data = super().dumps_typed([noes, obj] if noes else obj)
        kind = NOES + kind if noes else kind
        # Most values are the writes of a step, of some bytes. A higher level takes twice the time for a tenth less.
        return (kind, data) if len(data) < LEAST_PACKED else (PACKED + kind, zlib.compress(data, 1))

    def loads_typed(self, data: tuple[str, bytes]) -> object:
        """Return what `dumps_typed` made a kind and bytes of. Raises zlib.error or ValueError if they are broken."""
        kind, packed = data
        if kind.startswith(BLOCKS):
            *blocks, rest = cast(list[bytes], super().loads_typed(("msgpack", packed)))
            value = self.loads_typed((kind.removeprefix(BLOCKS), rest))
            return _in_histories(value, lambda talk: self._without_blocks(talk, blocks))
        if kind.startswith(NOES):
            noes, answers = cast(list[list[object]], self.loads_typed((kind.removeprefix(NOES), packed)))
            return [No(it) if place in noes else it for place, it in enumerate(answers)]
        if not kind.startswith(PACKED):
            return super().loads_typed(data)
        stream = zlib.decompressobj()
        plain = stream.decompress(packed, LONGEST_VALUE)
        if not stream.eof:
            raise ValueError("a value that is cut off, or too long")
        return self.loads_typed((kind.removeprefix(PACKED), plain))

    def _with_blocks(self, talk: Mapping[str, Any], blocks: list[bytes]) -> Mapping[str, Any]:
        """Put the full blocks of a history among the blocks, and their places into the talk."""
        messages: Sequence[AnyMessage] = talk.get("messages", ())
        whole, first = len(messages) // BLOCK * BLOCK, len(blocks)
        if whole <= BLOCK:
            return talk
        blocks += (self._block(messages[start : start + BLOCK]) for start in range(0, whole, BLOCK))
        return {**talk, "messages": messages[whole:], "blocks": [first, len(blocks)]}

    def _without_blocks(self, talk: Mapping[str, Any], blocks: Sequence[bytes]) -> Mapping[str, Any]:
        if "blocks" not in talk:
            return talk
        talk = {**talk}
        earlier = [message for block in blocks[slice(*talk.pop("blocks"))] for message in self._messages(block)]
        return {**talk, "messages": [*earlier, *talk["messages"]]}

    def _block(self, messages: Sequence[AnyMessage]) -> bytes:
        key = tuple(map(id, messages))
        if key not in self._packed:
            kind, data = super().dumps_typed(messages)
            # A block is packed once.
            self._remember(messages, (PACKED + kind).encode() + b"\0" + zlib.compress(data, 9))
        return self._packed[key][1]

    def _messages(self, block: bytes) -> Sequence[AnyMessage]:
        if block not in self._unpacked:
            kind, _, data = block.partition(b"\0")
            self._remember(cast(Sequence[AnyMessage], self.loads_typed((kind.decode(), data))), block)
        return self._unpacked[block]

    def _remember(self, messages: Sequence[AnyMessage], block: bytes) -> None:
        self._packed[tuple(map(id, messages))] = messages, block
        self._unpacked[block] = messages
        while len(self._packed) > MOST_BLOCKS:
            _, forgotten = self._packed.pop(next(iter(self._packed)))
            self._unpacked.pop(forgotten, None)


def _in_histories(value: object, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> object:
    """Return a checkpoint with its talks changed, also those of people who are set aside; any other value as it is."""
    state = value.get("channel_values", {}) if isinstance(value, dict) else {}
    if not isinstance(value, dict) or not isinstance(state.get("talks"), dict):
        return value

    def changed(talks: Talks) -> Talks:
        return {name: change(talk) for name, talk in talks.items()}

    aside = {user: {**it, "talks": changed(it.get("talks", {}))} for user, it in state.get("persons", {}).items()}
    persons = {"persons": aside} if aside else {}
    return {**value, "channel_values": {**state, "talks": changed(state["talks"]), **persons}}
