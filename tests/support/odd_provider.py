"""A small provider of chat completions over HTTP, for the oddities of small servers: ids, chunks, slow words."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support.loopback import listening

Chunk = dict[str, Any] | str
"""One event of a stream: an object, or raw text in its place."""
Reply = Sequence[Chunk] | bytes
"""A stream, or everything that is sent before the connection ends."""
Answer = Callable[[dict[str, Any]], Reply]
"""A function that chooses the reply to a request."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class Provider:
    """Answer every request with the next of `replies`, a chunk every `pace` seconds; the last reply stays."""

    replies: list[Reply | Answer]
    pace: float
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of the requests."""
    sent: int = 0
    """The number of chunks sent."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """An event that is set when a client leaves in the middle of a reply."""
    _sending: asyncio.Condition = field(default_factory=asyncio.Condition)

    @classmethod
    @asynccontextmanager
    async def open(cls, *replies: Reply | Answer, pace: float = 0) -> AsyncIterator[Self]:
        """Listen on a port of its own."""
        provider = cls(list(replies), pace)
        async with listening(provider._serve) as address:
            provider.url = f"{address}/v1"
            yield provider

    async def has_sent(self, chunks: int) -> None:
        """Wait until the provider has sent so many chunks."""
        async with asyncio.timeout(120), self._sending:
            await self._sending.wait_for(lambda: self.sent >= chunks)

    async def is_asked(self, words: str) -> None:
        """Wait until a request ends with a message that has these words."""
        async with asyncio.timeout(120), self._sending:
            await self._sending.wait_for(
                lambda: any(words in str(body["messages"][-1]["content"]) for body in self.bodies)
            )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head, body = await read_request(reader)
            if head.startswith("GET ") or " /api/" in head:
                # The provider answers no question about itself.
                writer.write(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            self.bodies.append(body)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
            chunks = reply(self.bodies[-1]) if callable(reply) else reply
            if isinstance(chunks, bytes):
                writer.write(chunks)
                return
            writer.write(HEAD)
            for chunk in [*chunks, "[DONE]"]:
                writer.write(f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n".encode())
                await writer.drain()
                async with self._sending:
                    self.sent += 1
                    self._sending.notify_all()
                await asyncio.sleep(self.pace)
        except ConnectionError:
            self.left.set()
        finally:
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, Any]]:
    """Return the head of a request, and its JSON."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next((line for line in head.lower().split("\r\n") if line.startswith("content-length:")), ":0")
    body: dict[str, Any] = json.loads(await reader.readexactly(int(length.partition(":")[2])) or b"{}")
    return head, body


def refuse(status: int, problem: Mapping[str, object]) -> bytes:
    """Return a refusal with a status and the reason."""
    return in_json(status, {"error": problem})


def in_json(status: int, body: object) -> bytes:
    """Return a reply with a body, which is text or is sent as JSON."""
    text = (body if isinstance(body, str) else json.dumps(body)).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + text


def words(text: str) -> list[Chunk]:
    """Return a reply of words."""
    first, *others = text.split()
    pieces = [first, *(f" {word}" for word in others)]
    return [delta(role="assistant", content=""), *(delta(content=word) for word in pieces), end("stop")]


def call(name: str, args: str, call_id: str | None = None) -> list[Chunk]:
    """Return a reply that calls a tool, its arguments in two parts; without `call_id` the call has no id."""
    half = len(args) // 2
    named = {"id": call_id} if call_id else {}
    first = {"index": 0, "type": "function", "function": {"name": name, "arguments": args[:half]}, **named}
    second = {"index": 0, "function": {"arguments": args[half:]}}
    return [delta(role="assistant", tool_calls=[first]), delta(tool_calls=[second]), end("tool_calls")]


def delta(**fields: Any) -> dict[str, Any]:
    """Return a piece of a reply."""
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def end(reason: str) -> dict[str, Any]:
    """Return the chunk that ends a reply."""
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def usage(asked: int, answered: int, cached: int) -> dict[str, Any]:
    """Return the chunk with the usage of a reply, in tokens."""
    spent = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    details = {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"object": "chat.completion.chunk", "choices": [], "usage": {**spent, **details}}
