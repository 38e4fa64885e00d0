"""Many clients at a time, and those that do not read: a real `serve` process before a slow model."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import pytest

from app.assistant import Assistant
from app.testing.script import Script
from tests.support.http_door import served, streamed
from tests.support.loopback import free_port, listening
from tests.support.odd_provider import HEAD, read_request, words
from tests.support.places import ROOT
from tests.support.scripted_assistant import script_lines
from tests.support.until import until, until_answered

pytestmark = pytest.mark.slow
STREAMS = 500
MOST_PER_STREAM = 500_000
"""Bytes of memory that an open stream may cost."""
WORDS, BUFFER = 20_000, 64 * 1024
"""Words of a long answer, and the bytes of it that a client takes before it reads."""


@dataclass
class HeldModel:
    """A provider that begins each answer, and ends none before so many have begun."""

    awaited: int
    begun: int = 0
    all_begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer that the number in the question was heard."""
        head, body = await read_request(reader)
        if head.startswith("GET ") or " /api/" in head:
            writer.write(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()
            return
        number = re.findall(r"number (\d+)", json.dumps(body["messages"]))[-1]
        first, *others = [json.dumps(chunk) for chunk in words(f"Well, it was {number} that I heard.")]
        writer.write(HEAD + f"data: {first}\n\n".encode())
        self.begun += 1
        if self.begun == self.awaited:
            self.all_begun.set()
        await self.all_begun.wait()
        for chunk in [*others, "[DONE]"]:
            writer.write(f"data: {chunk}\n\n".encode())
            await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(folder: Path, model: str) -> AsyncIterator[tuple[str, int]]:
    """Run `python -m app serve` during the block; give its address and its process."""
    port = free_port()
    settings = {
        "LLM_MODEL": "openai:slow",
        "OPENAI_BASE_URL": f"{model}/v1",
        "OPENAI_API_KEY": "key",
        "DATABASE_URL": f"sqlite:///{folder / 'streams.db'}",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", "serve", "--port", str(port)),
        cwd=ROOT,
        env={**os.environ, **settings},
        stderr=asyncio.subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        await until_answered(f"{url}/readyz", process)
        yield url, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() in (0, 128 + signal.SIGTERM)


def memory(pid: int) -> int:
    """Return the bytes that a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
async def test_many_open_streams(tmp_path: Path) -> None:
    """All streams are open at a time, each gets its own answer, and memory stays in bounds."""
    model = HeldModel(STREAMS)
    limits = httpx.Limits(max_connections=STREAMS + 10, max_keepalive_connections=0)
    async with (
        listening(model.serve) as provider,
        serving(tmp_path, provider) as (url, pid),
        httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client,
    ):
        before = memory(pid)
        talks = [
            asyncio.create_task(streamed(client, f"/threads/t{number}/turns", {"text": f"number {number}"}))
            for number in range(STREAMS)
        ]
        await model.all_begun.wait()
        assert f"answers_running {STREAMS}.0" in (await client.get("/metrics")).text
        used = memory(pid) - before
        events = await asyncio.gather(*talks)
    texts = [[event["text"] for event in turn if event["type"] == "message"] for turn in events]
    assert texts == [[f"Well, it was {number} that I heard."] for number in range(STREAMS)]
    assert used < STREAMS * MOST_PER_STREAM


async def test_a_client_that_does_not_read(assistant: Assistant, script: Script) -> None:
    """An answer ends and is stored though its client reads nothing; read late, its stream is whole."""
    text = " ".join(f"word{number}" for number in range(WORDS))
    script.add(supervisor=[text])
    body = json.dumps({"text": "talk"})
    head = "POST /threads/ann/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nConnection: close\r\n"
    async with served(assistant) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), limit=BUFFER)
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        await until(partial(script_lines, assistant, "ann"))
        assert await script_lines(assistant, "ann") == ["user: talk", f"supervisor: {text}"]
        content = await reader.read()
        writer.close()
    assert content.count(b'"type": "token"') == WORDS
    assert len(content) > 10 * BUFFER
