"""Connect to an MCP server that is a process, over its standard streams.

The library passes over a line that it cannot read, and the call would wait. A process that sends such an answer
loses its session.
"""

import codecs
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import ValidationError

from app.plugins.remote_tools.files import ServerSpec
from app.plugins.remote_tools.mcp_answer import BROKEN, LARGEST_ANSWER, LONG, End, LineDecoder

LINES = "bounded_lines"  # The encoding of a process's streams.
ANSWER = re.compile(r'\s*\{\s*"(?:jsonrpc"\s*:\s*"2\.0"\s*,\s*"id|id|result|error)"\s*:')


@asynccontextmanager
async def process_session(server: ServerSpec, secrets: Mapping[str, str], end: End) -> AsyncIterator[ClientSession]:
    """Start a server and connect to it; `secrets` are its environment."""

    async def hear(message: object) -> None:
        if isinstance(message, ValidationError) and (problem := _problem_of(message)):
            end(problem)
            await read.aclose()

    parameters = StdioServerParameters(
        command=server.command,
        args=[*server.args],
        env={**secrets},
        cwd=server.cwd,
        encoding=_bounded_lines(),
        encoding_error_handler="replace",
    )
    # A server's own messages would garble the terminal, and may quote the user.
    with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230  # the null device never waits
        async with (
            stdio_client(parameters, nowhere) as (read, write),
            ClientSession(read, write, message_handler=hear) as session,
        ):
            yield session


@cache
def _bounded_lines() -> str:
    """Return the name of UTF-8 with bounded lines."""
    plain = codecs.lookup("utf-8")
    coder = codecs.CodecInfo(plain.encode, plain.decode, incrementaldecoder=LineDecoder, name=LINES)
    codecs.register(lambda name: coder if name == LINES else None)
    return LINES


def _problem_of(line: ValidationError) -> int:
    """Return the problem of a line that is not a message; 0 if it was not meant for an answer."""
    for part in (error["input"] for error in line.errors()):
        if isinstance(part, str) and (len(part) > LARGEST_ANSWER or ANSWER.match(part)):
            return LONG if len(part) > LARGEST_ANSWER else BROKEN
        if isinstance(part, dict) and "jsonrpc" in part and "method" not in part:
            return BROKEN
    return 0
