"""Packing of values into bytes for the checkpoints."""

import json
import zlib
from functools import cache
from pathlib import Path
from typing import cast

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agents.state.speaker_state import No

PACKED, NOES = "zlib ", "noes "
"""Prefixes of the kind of a value: one for packed bytes, one for a list with noes."""
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
        noes = [place for place, value in enumerate(obj) if isinstance(value, No)] if isinstance(obj, list) else []
        # Msgpack keeps a no as any other text, which would count as true.
        kind, data = super().dumps_typed([noes, obj] if noes else obj)
        kind = NOES + kind if noes else kind
        # Most values are the writes of a step, of some bytes.
        return (kind, data) if len(data) < LEAST_PACKED else (PACKED + kind, deflated(data))

    def loads_typed(self, data: tuple[str, bytes]) -> object:
        """Return the value that `dumps_typed` has packed. Raises zlib.error or ValueError if its bytes are broken."""
        kind, packed = data
        if kind.startswith(NOES):
            noes, answers = cast(list[list[object]], self.loads_typed((kind.removeprefix(NOES), packed)))
            return [No(answer) if place in noes else answer for place, answer in enumerate(answers)]
        if not kind.startswith(PACKED):
            return super().loads_typed(data)
        return self.loads_typed((kind.removeprefix(PACKED), inflated(packed)))


@cache
def _preset() -> bytes:
    """Return zlib's preset dictionary: names and values that most stored states and records have.

    No byte of it may ever change: values that were packed with it could not be read any more.
    """
    texts_and_values = json.loads(Path(__file__).with_name("preset_dictionary.json").read_bytes())
    return b"".join(part.encode() if isinstance(part, str) else ormsgpack.packb(part) for part in texts_and_values)


def deflated(plain: bytes) -> bytes:
    """Return the bytes packed by zlib."""
    # A higher level takes twice the time for a tenth less.
    stream = zlib.compressobj(1, zdict=_preset())
    return stream.compress(plain) + stream.flush()


def inflated(packed: bytes) -> bytes:
    """Return unpacked bytes; the preset dictionary was used or not. Raises zlib.error or ValueError if broken."""
    stream = zlib.decompressobj(zdict=_preset())
    plain = stream.decompress(packed, LONGEST_VALUE)
    if not stream.eof:
        raise ValueError("a value that is cut off, or too long")
    return plain
