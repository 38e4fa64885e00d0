"""Connect to an MCP server at an address (streamable HTTP).

The library passes over an answer that it cannot read, and the call would wait: an error takes the place of such an
answer.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, RequestId
from pydantic import ValidationError

from agents.sources.web.ssrf import guarded_client, policy_of
from app.plugins.remote_tools.files import ServerSpec
from app.plugins.remote_tools.mcp_answer import (
    BROKEN,
    LARGEST_ANSWER,
    LONG,
    MISSING,
    ODD,
    PROBLEMS,
    End,
    LineDecoder,
    UnreadAnswer,
    with_whole_characters,
)

LONGEST_WAIT = 300  # The most seconds of silence in a server's stream.
EVENT_ID = re.compile(r"(?:^|[\r\n])id:")


@asynccontextmanager
async def http_session(server: ServerSpec, secrets: Mapping[str, str], end: End) -> AsyncIterator[ClientSession]:
    """Connect to a server; `secrets` are the headers of every request."""

    async def check(response: httpx.Response) -> None:
        if response.is_error and "last-event-id" in response.request.headers:
            # The rest of a stream does not come; the library would not tell it.
            end(MISSING)
            await read.aclose()
        await _check(response)

    policy, timeout = policy_of(server.url, internal=server.internal), httpx.Timeout(server.timeout, read=LONGEST_WAIT)
    # A packed answer could grow beyond any bound in one step.
    headers = {"Accept-Encoding": "identity", **secrets}
    async with (
        guarded_client(policy, headers=headers, timeout=timeout) as client,
        streamable_http_client(server.url, http_client=client) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        client.event_hooks = {"response": [check]}
        yield session


async def _check(response: httpx.Response) -> None:
    """Bound an answer; put an error in place of one for which its call would wait."""
    is_packed = response.headers.get("content-encoding", "identity").lower() != "identity"
    kind, body = response.headers.get("content-type", "").lower(), response.stream
    assert isinstance(body, httpx.AsyncByteStream)
    id = _request_id(response.request)
    if id is None or not response.is_success:
        if is_packed:
            raise httpx.DecodingError(PROBLEMS[ODD][0])
        response.stream = ReplacedBody(body, _bounded(body))
    elif kind.startswith("text/event-stream") and not is_packed:
        response.stream = ReplacedBody(body, _events(body, id))
    else:
        is_read = kind.startswith("application/json") and not is_packed
        problem = MISSING if response.status_code == 202 else 0 if is_read else ODD
        message = _error(problem, id) if problem else await _message(body, id)
        await body.aclose()
        response.status_code, response.headers = 200, httpx.Headers({"content-type": "application/json"})
        response.stream = httpx.ByteStream(message)


def _request_id(request: httpx.Request) -> RequestId | None:
    """Return the id of a request that wants an answer."""
    message = JSONRPCMessage.model_validate_json(request.content).root if request.method == "POST" else None
    return message.id if isinstance(message, JSONRPCRequest) else None


async def _message(body: httpx.AsyncByteStream, id: RequestId) -> bytes:
    """Return the answer to a request, or an error in its place."""
    try:
        text = b"".join([piece async for piece in _bounded(body)]).decode("utf-8-sig", "replace")
        answer = JSONRPCMessage.model_validate_json(text := with_whole_characters(text)).root
        is_answer = isinstance(answer, JSONRPCResponse | JSONRPCError) and str(answer.id) == str(id)
    except UnreadAnswer as unread:
        return _error(unread.problem, id)
    except ValidationError:
        is_answer = False
    return text.encode() if is_answer else _error(BROKEN, id)


async def _events(body: httpx.AsyncByteStream, id: RequestId) -> AsyncIterator[bytes]:
    """Yield the events of a stream, and an error behind them; the library reads up to the answer."""
    problem, goes_on, decoder = MISSING, False, LineDecoder("replace")
    try:
        async for piece in _bounded(body):
            lines = decoder.decode(piece)
            # Behind an event with an id, the library asks for the rest of a stream that ends.
            goes_on = goes_on or bool(EVENT_ID.search(lines))
            yield lines.encode()
    except UnreadAnswer as unread:
        problem = unread.problem
    if problem == LONG or not goes_on:
        yield decoder.decode(b"\n").encode() + b"\n\ndata: %s\n\n" % _error(problem, id)


async def _bounded(body: httpx.AsyncByteStream) -> AsyncIterator[bytes]:
    """Yield the pieces of a body. Raises UnreadAnswer: it is too long, or breaks off."""
    length = 0
    try:
        async for piece in body:
            length += len(piece)
            if length > LARGEST_ANSWER:
                raise UnreadAnswer(LONG)
            yield piece
    except httpx.HTTPError:
        raise UnreadAnswer(MISSING) from None


class ReplacedBody(httpx.AsyncByteStream):
    """The body of an answer with other pieces."""

    def __init__(self, body: httpx.AsyncByteStream, pieces: AsyncIterator[bytes]) -> None:
        self._body, self._pieces = body, pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Return the pieces."""
        return self._pieces

    async def aclose(self) -> None:
        """Close the body."""
        await self._body.aclose()


def _error(problem: int, id: RequestId) -> bytes:
    error = ErrorData(code=problem, message=PROBLEMS[problem][0])
    return JSONRPCError(jsonrpc="2.0", id=id, error=error).model_dump_json().encode()
