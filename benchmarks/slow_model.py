"""A model that thinks for a while and says the same each time, in a process of its own.

`python -m benchmarks.slow_model SECONDS` prints its address and serves until it is stopped. A process of its own, so
that its CPU time does not count as its caller's.
"""

import asyncio
import json
import sys
from asyncio import StreamReader, StreamWriter

from tests.support.odd_provider import HEAD, read_request, words

ANSWER = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in words("Well, that is how it is."))
WAITING = 2_048
"""Connections that may wait for acceptance: a thousand people may speak at once."""


async def serve(seconds: float) -> None:
    """Answer until cancelled."""

    async def answer(reader: StreamReader, writer: StreamWriter) -> None:
        await read_request(reader)
        await asyncio.sleep(seconds)
        writer.write(HEAD + ANSWER.encode() + b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=WAITING)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
