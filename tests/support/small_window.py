"""A server like llama.cpp's with a small window: it refuses longer prompts with its own error, and counts tokens."""

import asyncio
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support import odd_provider
from tests.support.loopback import listening
from tests.support.odd_provider import HEAD, Chunk, in_json, read_request, usage

Answer = Callable[[dict[str, Any]], Sequence[Chunk] | bytes]


@dataclass
class SmallServer:
    """A server with a window of `size` tokens and with `slots`; it answers a fitting prompt by `reply`."""

    reply: Answer
    size: int
    slots: int = 1
    per_token: float = 3.0
    """Characters of a token, with a template's additions."""
    tells: bool = True
    """Whether it tells its window before it refuses a prompt."""
    pace: float = 0
    """Seconds of an answer."""
    models: Sequence[str] = ("tiny",)
    """The models that it lists."""
    url: str = ""
    keys: list[str] = field(default_factory=list)
    """The keys of the requests."""
    prompts: list[int] = field(default_factory=list)
    """The tokens of each prompt."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """The body of each request for an answer."""
    at_once: int = 0
    most_at_once: int = 0
    """Requests for an answer at the same time."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        """Listen on a port of its own."""
        async with listening(self._serve) as address:
            self.url = f"{address}/v1"
            yield self

    @property
    def key(self) -> str:
        """The key of the last request."""
        return self.keys[-1]

    @property
    def port(self) -> int:
        """The port of its own."""
        return int(self.url.removesuffix("/v1").rpartition(":")[2])

    @property
    def refused(self) -> int:
        """The number of refused prompts."""
        return sum(tokens >= self.size for tokens in self.prompts)

    def count(self, *texts: object) -> int:
        """Return the tokens of texts."""
        written = [it if isinstance(it, str) else json.dumps(it, ensure_ascii=False) for it in texts]
        return math.ceil(sum(map(len, written)) / self.per_token)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, body = await read_request(reader)
        path = head.split()[1].partition("?")[0]
        self.keys += [line.split()[-1] for line in head.splitlines() if line.lower().startswith("authorization:")]
        is_asked = path.endswith("/chat/completions")
        self.at_once += is_asked
        self.most_at_once = max(self.most_at_once, self.at_once)
        answer = self._answer(path, body)
        await asyncio.sleep(self.pace if is_asked else 0)
        writer.write(answer)
        await writer.drain()
        self.at_once -= is_asked
        writer.close()

    def _answer(self, path: str, body: dict[str, Any]) -> bytes:
        facts = {
            "/props": {"default_generation_settings": {"n_ctx": self.size}, "total_slots": self.slots},
            "/v1/models": {"data": [{"id": model} for model in self.models]},
        }
        if path in facts and (self.tells or path == "/v1/models"):
            return in_json(200, facts[path])
        return (
            self._completion(body) if path.endswith("/chat/completions") else in_json(404, {"error": "no such place"})
        )

    def _completion(self, body: dict[str, Any]) -> bytes:
        tokens = self.count(*(message for message in body["messages"]), *body.get("tools", []))
        self.prompts.append(tokens)
        self.bodies.append(body)
        if tokens >= self.size:
            problem = {
                "code": 400,
                "message": f"request ({tokens} tokens) exceeds the available context size ({self.size} tokens), "
                "try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": tokens,
                "n_ctx": self.size,
            }
            return in_json(400, {"error": problem})
        reply = self.reply(body)
        if isinstance(reply, bytes):
            return reply
        chunks = [*reply, usage(tokens, 10, 0)]
        events = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in [*chunks, "[DONE]"]]
        return HEAD + "".join(f"data: {event}\n\n" for event in events).encode()


def talker(body: dict[str, Any]) -> list[Chunk]:
    """Answer at some length; call a tool of a dialog that needs no arguments with every third message."""
    tools = [tool["function"] for tool in body.get("tools", [])]
    if not tools:
        return odd_provider.words("stay")
    last = body["messages"][-1]
    free = [it["name"] for it in tools if not it["parameters"].get("required") and it["name"].startswith("list_")]
    if last["role"] == "user" and free and re.search(r"turn \d*3", last["content"]):
        return odd_provider.call(free[0], "{}")
    return odd_provider.words("That is how it is, and there is more to say of it. " * 6 + "What else?")
