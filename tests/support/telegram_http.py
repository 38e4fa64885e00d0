"""The Bot API's HTTP: a call in the path, parameters in a form, JSON as the answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

Reply = tuple[int, dict[str, Any] | bytes]
Answer = Callable[[str, str, dict[str, Any]], Awaitable[Reply]]
"""A function that takes the token, the method and the parameters, and returns status and JSON."""
NAMES = ("callback_query_id", "language_code", "file_id", "url", "action", "secret_token")
TEXTS = ("text", "caption", "description", *NAMES)


class Upload(bytes):
    """An uploaded file."""

    name: str | None

    def __new__(cls, data: bytes, name: str | None) -> "Upload":
        """Return the file's bytes, with its name."""
        made = super().__new__(cls, data)
        made.name = name
        return made


def cut() -> Reply:
    """Break the connection of the present call."""
    raise ConnectionResetError


@asynccontextmanager
async def listening(answer: Answer) -> AsyncIterator[str]:
    """Answer requests on a free port of loopback during the block; yield the address."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError, ConnectionError, asyncio.IncompleteReadError):
            while True:
                await _exchange(answer, reader, writer)
        tasks.discard(task)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _exchange(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    line, _, rest = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
    fields = (field.partition(b":") for field in rest.split(b"\r\n") if field)
    headers = {name.lower(): value.strip().decode() for name, _, value in fields}
    body = await reader.readexactly(int(headers.get(b"content-length", "0")))
    # A proxy's request has the whole address.
    path = unquote(urlsplit(line.split()[1].decode()).path).removeprefix("/file")
    token, _, method = path.removeprefix("/bot").partition("/")
    status, result = await answer(token, method, parameters(headers.get(b"content-type", ""), body))
    payload = result if isinstance(result, bytes) else json.dumps(result).encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-length: {len(payload)}\r\ncontent-type: application/json\r\n\r\n"
    writer.write(head.encode() + payload)
    await writer.drain()


def parameters(kind: str, body: bytes) -> dict[str, Any]:
    """Return the parameters of a request: JSON values decoded, files as uploads."""
    if not kind.startswith("multipart/"):
        return {name: _value(name, value) for name, value in parse_qsl(body.decode(), keep_blank_values=True)}
    fields: dict[str, Any] = {}
    message = BytesParser(policy=HTTP).parsebytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + body)
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        data = cast(bytes, part.get_payload(decode=True))
        fields[name] = Upload(data, part.get_filename()) if part.get_filename() else _value(name, data.decode())
    return fields


def _value(name: str, text: str) -> Any:
    if name in TEXTS:
        return text
    with suppress(ValueError):
        return json.loads(text)
    return text
