"""How values are packed into bytes for the checkpoints."""

import zlib
from typing import cast

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agents.state.talk import No

PACKED, NOES = "zlib ", "noes "
"""What stands before the kind of a value that is packed, or that has noes."""
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

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        """Return the kind and the bytes of `obj`."""
        noes = [place for place, it in enumerate(obj) if isinstance(it, No)] if isinstance(obj, list) else []
        # Msgpack keeps a no as any other text, which would count as true.
        kind, data = super().dumps_typed([noes, obj] if noes else obj)
        kind = NOES + kind if noes else kind
        # Most values are the writes of a step, of some bytes. A higher level takes twice the time for a tenth less.
        return (kind, data) if len(data) < LEAST_PACKED else (PACKED + kind, zlib.compress(data, 1))

    def loads_typed(self, data: tuple[str, bytes]) -> object:
        """Return what `dumps_typed` made a kind and bytes of. Raises zlib.error or ValueError if they are broken."""
        kind, packed = data
        if kind.startswith(NOES):
            noes, answers = cast(list[list[object]], self.loads_typed((kind.removeprefix(NOES), packed)))
            return [No(it) if place in noes else it for place, it in enumerate(answers)]
        if not kind.startswith(PACKED):
            return super().loads_typed(data)
        return self.loads_typed((kind.removeprefix(PACKED), inflated(packed)))


def inflated(packed: bytes) -> bytes:
    """Return what zlib has packed. Raises zlib.error or ValueError if it is broken."""
    stream = zlib.decompressobj()
    plain = stream.decompress(packed, LONGEST_VALUE)
    if not stream.eof:
        raise ValueError("a value that is cut off, or too long")
    return plain
