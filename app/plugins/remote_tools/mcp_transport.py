"""Connect to an MCP server: to a process over its standard streams, or to an address (streamable HTTP).

The library passes over an answer that it cannot read, and the call would wait. Here an error takes the place of such an
answer over HTTP; a process that sends one loses its session.
"""

import codecs
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from encodings import utf_8
from functools import cache

import httpx
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, RequestId
from pydantic import ValidationError

from agents.sources.web.ssrf import guarded_client, policy_of
from app.plugins.remote_tools.answer import NoAnswer
from app.plugins.remote_tools.files import ServerSpec

LARGEST_ANSWER = 10_000_000  # Bytes of an answer over HTTP, or characters of a line.
LONGEST_WAIT = 300  # The most seconds of silence in a server's stream.
LINES = "bounded_lines"  # The encoding of a process's streams.
ANSWER = re.compile(r'\s*\{\s*"(?:jsonrpc"\s*:\s*"2\.0"\s*,\s*"id|id|result|error)"\s*:')
ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<half>u[dD][89a-fA-F]\w\w)|.)", re.DOTALL)
EVENT_ID = re.compile(r"(?:^|[\r\n])id:")
LONG, ODD, BROKEN, MISSING = range(-31_004, -31_000)
PROBLEMS: Mapping[int, tuple[str, str]] = {
    LONG: (f"its answer is longer than {LARGEST_ANSWER} bytes", "answer_long"),
    ODD: ("its answer is packed, or neither JSON nor a stream of events", ""),
    BROKEN: ("its answer does not follow the protocol", "answer_lost"),
    MISSING: ("its answer ended too early", "answer_lost"),
}
"""Problems of answers: the reason for the operator, and the phrase for a model. Their numbers are codes of errors."""
End = Callable[[int], None]
"""Takes the problem with which a session ends."""


@asynccontextmanager
async def connected(server: ServerSpec, secrets: Mapping[str, str], end: End) -> AsyncIterator[ClientSession]:
    """Connect to a server; `secrets` are its environment, or the headers of every request."""
    # The library would log a traceback for every line that is not a message; a server may write thousands.
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)

    async def break_off(problem: int) -> None:
        end(problem)
        await read.aclose()

    if server.command:

        async def hear(message: object) -> None:
            if isinstance(message, ValidationError) and (problem := _problem_of(message)):
                await break_off(problem)

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
        return

    async def check(response: httpx.Response) -> None:
        if response.is_error and "last-event-id" in response.request.headers:
            # The rest of a stream does not come; the library would not tell it.
            await break_off(MISSING)
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


@cache
def _bounded_lines() -> str:
    """Return the name of UTF-8 with bounded lines."""
    plain = codecs.lookup("utf-8")
    coder = codecs.CodecInfo(plain.encode, plain.decode, incrementaldecoder=LineDecoder, name=LINES)
    codecs.register(lambda name: coder if name == LINES else None)
    return LINES


class LineDecoder(utf_8.IncrementalDecoder):
    """Decodes UTF-8 in whole lines; one that is too long ends early."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._parts, self._length = list[str](), 0

    def decode(self, input: bytes, final: bool = False) -> str:  # type: ignore[override]  # nothing else comes
        """Return the lines that end in a piece."""
        text, line_end, begun = super().decode(input, final).rpartition("\n")
        lines = "".join([*self._parts, text, line_end]) if line_end else ""
        self._parts = self._parts if not line_end else []
        self._parts.append(begun)
        self._length = len(begun) + (0 if line_end else self._length)
        if self._length > LARGEST_ANSWER:
            lines, self._parts, self._length = "".join([lines, *self._parts, "\n"]), [], 0
        return with_whole_characters(lines)


def with_whole_characters(text: str) -> str:
    """Return JSON in which no escape stands for half a character: the library reads no such text."""
    return ESCAPE.sub(lambda escape: r"\ufffd" if escape["half"] else escape[0], text) if r"\u" in text else text


def _problem_of(line: ValidationError) -> int:
    """Return the problem of a line that is not a message; 0 if it was not meant for an answer."""
    for part in (error["input"] for error in line.errors()):
        if isinstance(part, str) and (len(part) > LARGEST_ANSWER or ANSWER.match(part)):
            return LONG if len(part) > LARGEST_ANSWER else BROKEN
        if isinstance(part, dict) and "jsonrpc" in part and "method" not in part:
            return BROKEN
    return 0


async def _check(response: httpx.Response) -> None:
    """Bound an answer; put an error in place of one for which its call would wait."""
    is_packed = response.headers.get("content-encoding", "identity").lower() != "identity"
    kind, body = response.headers.get("content-type", "").lower(), response.stream
    assert isinstance(body, httpx.AsyncByteStream)
    id = _asked(response.request)
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


def _asked(request: httpx.Request) -> RequestId | None:
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


class UnreadAnswer(NoAnswer):
    """An answer has a problem."""

    def __init__(self, problem: int) -> None:
        reason, remedy = PROBLEMS[problem]
        super().__init__(reason, remedy=remedy)
        self.problem = problem


def cause(error: BaseException) -> str:
    """Return the name of an error, and the status of an answer, without the words of a server."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    code = BROKEN if isinstance(error, ValidationError) else error.error.code if isinstance(error, McpError) else 0
    if code in PROBLEMS:
        return PROBLEMS[code][0]
    return f"{type(error).__name__} {getattr(getattr(error, 'response', None), 'status_code', '')}".rstrip()
