"""Bytes stored as their difference to other bytes that are much alike, such as the state one turn later."""

import zlib

PIECE = 16 * 1024
REACH = 8 * 1024
"""Bytes before and after a piece's own place where its content is looked for; zlib sees 32 kB at once."""
LONGEST = 64 * 1024 * 1024
"""Bytes that a difference may unpack to: a forged one must not fill the memory."""


def pack(data: bytes, base: bytes) -> bytes:
    """Return the difference of `data` to `base`: a zlib stream for each piece, with what stands there in `base`."""
    return b"".join(_packed(data[at : at + PIECE], base, at) for at in range(0, max(len(data), 1), PIECE))


def unpack(packed: bytes, base: bytes) -> bytes:
    """Return what `pack` made a difference of. Raises zlib.error if it is broken or `base` is another one."""
    data = bytearray()
    while packed:
        stream = zlib.decompressobj(zdict=_near(base, len(data)))
        data += stream.decompress(packed, PIECE + 1)
        if not stream.eof or len(data) > LONGEST:
            raise zlib.error("a difference is cut off, or too long")
        packed = stream.unused_data
    return bytes(data)


def _packed(piece: bytes, base: bytes, at: int) -> bytes:
    # What differs from nothing is packed anew one turn later, so it is not worth much time.
    stream = zlib.compressobj(6 if base else 1, zdict=_near(base, at))
    return stream.compress(piece) + stream.flush()


def _near(base: bytes, at: int) -> bytes:
    return base[max(at - REACH, 0) : at + PIECE + REACH]
