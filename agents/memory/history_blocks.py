"""Histories in checkpoints: each full block of messages is stored once, and the checkpoints of its thread refer to it.

A history only grows until it is cut. So a checkpoint holds the last messages of each history, and the rest is the same
blocks as before. The packed bytes of blocks and of single messages are remembered: a message is packed when it is new.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

import ormsgpack
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol

from agents.memory.serializer import deflated, inflated

BLOCK, MOST_BLOCKS = 8, 4_000
"""Messages of a full block, and blocks that are remembered; a single message is one, too."""
BLOCKS, SINGLES = "blocks ", "singles "
"""Prefixes of the kind of a packed checkpoint: one with references to blocks, one with single messages beside it."""
DIGEST = 12
"""Bytes by which a checkpoint refers to a block."""
Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Block:
    """Messages that follow each other in a history."""

    messages: Sequence[AnyMessage]
    packed: bytes
    digest: bytes


class HistoryBlocks:
    """Packs and unpacks checkpoints, and remembers the blocks that were used last."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde
        self._by_digest: dict[bytes, Block] = {}
        self._by_messages: dict[tuple[int, ...], Block] = {}
        """Blocks by the identities of their messages, which a block holds, so that no other messages get these."""

    def pack(self, checkpoint: Checkpoint, serde: SerializerProtocol) -> tuple[str, bytes, list[Block]]:
        """Return the kind and the bytes of a checkpoint, and the blocks that it refers to."""
        blocks, singles = list[Block](), list[Block]()
        shortened = _in_histories(checkpoint, lambda talk: self._taken_out(talk, blocks, singles))
        kind, data = serde.dumps_typed(shortened)
        if singles:
            bundle = deflated(ormsgpack.packb([single.packed for single in singles]))
            kind, data = SINGLES + kind, ormsgpack.packb([bundle, data])
        if blocks:
            kind, data = BLOCKS + kind, ormsgpack.packb([*(block.digest for block in blocks), data])
        return kind, data, blocks

    def unpack(self, kind: str, data: bytes, blocks: Sequence[Block | bytes], serde: SerializerProtocol) -> Checkpoint:
        """Return the checkpoint; it refers to `blocks`. Raises any error if bytes are broken."""
        if kind.startswith(BLOCKS):
            kind, data = kind.removeprefix(BLOCKS), ormsgpack.unpackb(data)[-1]
        singles: Sequence[bytes] = ()
        if kind.startswith(SINGLES):
            bundle, data = ormsgpack.unpackb(data)
            kind, singles = kind.removeprefix(SINGLES), ormsgpack.unpackb(inflated(bundle))
        checkpoint = cast(Checkpoint, serde.loads_typed((kind, data)))
        earlier = [block if isinstance(block, Block) else self._unpacked(block) for block in blocks]
        last = [self.remembered(_digest(single)) or self._unpacked(single) for single in singles]
        return _in_histories(checkpoint, lambda talk: _put_back(talk, earlier, last)) if earlier or last else checkpoint

    def remembered(self, digest: bytes) -> Block | None:
        """Return a block that was used lately; any thread of the process may ask."""
        return self._by_digest.get(digest)

    def _unpacked(self, packed: bytes) -> Block:
        kind, _, data = packed.partition(b"\0")
        messages = cast(Sequence[AnyMessage], self._serde.loads_typed((kind.decode(), data)))
        return self._remember(Block(messages, packed, _digest(packed)))

    def _taken_out(self, talk: Mapping[str, Any], blocks: list[Block], singles: list[Block]) -> Mapping[str, Any]:
        """Put the messages of a history among the blocks and the single ones, and their places into the talk."""
        messages: Sequence[AnyMessage] = talk.get("messages", ())
        if not messages:
            return talk
        blocks_end, first, first_single = len(messages) // BLOCK * BLOCK, len(blocks), len(singles)
        blocks += (self._block_of(messages[start : start + BLOCK]) for start in range(0, blocks_end, BLOCK))
        singles += (self._block_of([message]) for message in messages[blocks_end:])
        places = {"blocks": [first, len(blocks)], "singles": [first_single, len(singles)]}
        return {**talk, "messages": [], **places}

    def _block_of(self, messages: Sequence[AnyMessage]) -> Block:
        if block := self._by_messages.get(tuple(map(id, messages))):
            return block
        kind, data = self._serde.dumps_typed(messages)
        packed = kind.encode() + b"\0" + data
        return self._remember(Block(messages, packed, _digest(packed)))

    def _remember(self, block: Block) -> Block:
        self._by_messages[tuple(map(id, block.messages))] = self._by_digest[block.digest] = block
        while len(self._by_messages) > MOST_BLOCKS:
            forgotten = self._by_messages.pop(next(iter(self._by_messages)))
            self._by_digest.pop(forgotten.digest, None)
        return block


def _digest(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=DIGEST).digest()


def references(kind: str, data: bytes) -> Sequence[bytes]:
    """Return the references of a packed checkpoint: the digests of blocks, or, in older files, the packed blocks."""
    # The stored bytes may be anything; unpacking them reports that they are broken.
    with suppress(TypeError, ValueError):
        if kind.startswith(BLOCKS):
            return [each for each in ormsgpack.unpackb(data)[:-1] if isinstance(each, bytes)]
    return ()


def _put_back(talk: Mapping[str, Any], blocks: Sequence[Block], singles: Sequence[Block]) -> Mapping[str, Any]:
    if "blocks" not in talk:
        return talk
    talk = {**talk}
    earlier, last = blocks[slice(*talk.pop("blocks"))], singles[slice(*talk.pop("singles", (0, 0)))]
    # Older files have the last messages in the talk.
    return {**talk, "messages": [*_messages(earlier), *talk["messages"], *_messages(last)]}


def _messages(blocks: Sequence[Block]) -> Iterator[AnyMessage]:
    return chain.from_iterable(block.messages for block in blocks)


def _in_histories(checkpoint: Checkpoint, change: Change) -> Checkpoint:
    """Return a checkpoint with its talks changed, also those of people who are set aside."""
    state: dict[str, Any] = checkpoint["channel_values"]
    if not isinstance(state.get("talks"), dict):
        return checkpoint

    def changed(talks: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
        return {name: change(talk) if isinstance(talk, dict) else talk for name, talk in talks.items()}

    persons = state.get("persons", {}).items()
    aside = {user: {**person, "talks": changed(person.get("talks", {}))} for user, person in persons}
    changes = {"talks": changed(state["talks"]), **({"persons": aside} if aside else {})}
    return {**checkpoint, "channel_values": {**state, **changes}}
