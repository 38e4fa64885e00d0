"""A service over HTTP with a test's answers, faults included; it remembers each request."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support.simulated_time import advance
from tests.support.telegram_http import parameters


@dataclass(frozen=True)
class Answer:
    """One answer; `body` is sent as JSON unless it is bytes."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    pace: float = 0
    """Seconds before it is sent."""
    comes_after: float = 0
    """Seconds without an answer: the clock jumps, and the client gives up."""


@dataclass(frozen=True)
class Asked:
    """One request as it arrived; of a form it holds the fields and files."""

    method: str
    target: str
    headers: dict[str, str]
    body: Any


@dataclass
class Service:
    """Answer with the next of `answers`; the last one stays."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    serving: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def open(cls, *answers: Answer, port: int = 0) -> AsyncIterator[Self]:
        """Listen on loopback during the block."""
        service = cls(list(answers))
        server = await asyncio.start_server(service._serve, "127.0.0.1", port)
        service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield service
        finally:
            server.close()
            for task in service.serving:
                task.cancel()
            await asyncio.gather(*service.serving, return_exceptions=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    def answer_to(self, asked: Asked) -> Answer:
        """Return the answer to a request."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.append(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, target, _ = head[0].split(" ")
            pairs = (line.split(": ", 1) for line in head[1:] if line)
            headers = {name.lower(): value for name, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.asked.append(Asked(method, target, headers, _read(headers.get("content-type", ""), body)))
            answer = self.answer_to(self.asked[-1])
            if answer.comes_after:
                advance(answer.comes_after)
                # The client hangs up.
                await reader.read()
            await asyncio.sleep(answer.pace)
            raw = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            lines = {"Content-Type": answer.kind, "Content-Length": str(len(raw)), **answer.headers}
            fields = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
            writer.write(f"HTTP/1.1 {answer.status} X\r\n{fields}Connection: close\r\n\r\n".encode() + raw)
            await writer.drain()
        writer.close()


def _read(kind: str, body: bytes) -> Any:
    if not body:
        return None
    return parameters(kind, body) if kind.startswith("multipart/") else json.loads(body)
