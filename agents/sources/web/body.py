"""Bodies of HTTP answers, read piece by piece up to a bound."""

import httpx


class BodyRefused(Exception):
    """A body is too long, or packed; the message says which."""


async def read_body(response: httpx.Response, most: int) -> bytes:
    """Return the body of an answer that is at most `most` bytes long and not packed.

    Raises:
        BodyRefused: it is packed, since it could grow beyond any bound in one step, or too long.
    """
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise BodyRefused("its answer is packed, though it was told not to")
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > most:
            raise BodyRefused(f"its answer is longer than {most} bytes")
    return bytes(body)
