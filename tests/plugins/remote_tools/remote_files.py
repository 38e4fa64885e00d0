"""Remote tools for tests: the examples of `docs/remote-tools.md` with the services of a test in place of the shop."""

import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from agents.plugin import Plugin
from agents.toolkit.speaker import Speakers
from app.composition.served_tools import with_served_tools
from app.plugins.remote_tools import RemoteToolsSettings, served_tools
from app.testing.script import Call, Line
from tests.support.http_service import Service
from tests.support.places import ROOT

BEGIN: list[Line] = [Call("plan_things", {"brief": "my orders"})]
ORDERS = {
    "orders": [
        {"id": "0b7e-6f0a", "title": "Blue shoes", "total": {"amount": 60.0}, "secret": 1},
        {"id": "5f0c-2d9e", "title": "Red hat", "total": {"amount": 15.0}, "secret": 2},
    ]
}
FOUND = '[{"id":1,"name":"Blue shoes","price":60.0},{"id":2,"name":"Red hat","price":15.0}]'
Open = Callable[..., AbstractAsyncContextManager[Service]]
EMMA = '[{"id":1,"title":"Emma"}]'
"""The library's answer to a word of that book."""
DOCUMENT = ROOT / "docs" / "remote-tools.md"


def example(name: str) -> dict[str, Any]:
    """Return the example in the document that has this key."""
    blocks = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    return next(block for block in map(yaml.safe_load, blocks) if name in block)


def shop(url: str, **service: Any) -> dict[str, Any]:
    """Return the example of HTTP tools, with the shop at another address."""
    described = example("services")
    described["services"]["shop"] |= {"url": f"{url}/api/v1", "internal": True, **service}
    return described


@asynccontextmanager
async def opened(
    folder: Path, speakers: Speakers, *, http: Any = None, servers: Any = None, **told: Any
) -> AsyncIterator[Speakers]:
    """Yield the speakers with the tools that these files describe; `told` are those who hear what is left out."""
    settings = RemoteToolsSettings()
    for field, body in (("remote_tools", http), ("mcp_servers", servers)):
        if body is not None:
            path = folder / f"{field}.yaml"
            path.write_text(
                body if isinstance(body, str) else yaml.safe_dump(body, allow_unicode=True, sort_keys=False), "utf-8"
            )
            settings = settings.model_copy(update={field: path})
    only = Plugin(served_tools=lambda _: served_tools(settings))
    async with with_served_tools({"remote_tools": only}, speakers, **told) as extended:
        yield extended


def library(**changes: Any) -> dict[str, Any]:
    """Return the example of the document, with this Python as the command and two tools more."""
    body = example("servers")
    server = body["servers"]["library"]
    server |= {
        "command": sys.executable,
        "args": ["-m", "tests.plugins.remote_tools.mcp_server", "stdio"],
        "cwd": str(ROOT),
    }
    server["tools"] |= {"nap": {"effect": "read"}, "collapse": {"effect": "read"}, "freeze": None}
    server |= changes
    body["servers"]["library"] = {key: value for key, value in server.items() if value is not None}
    return body


def library_at(port: int, **changes: Any) -> dict[str, Any]:
    """Return the library, with these changes, at a port of loopback."""
    there = {"url": f"http://127.0.0.1:{port}/mcp", "internal": True, "timeout": 20}
    return library(**{"command": None, "args": None, "env": None, "cwd": None, **there, **changes})


def taking(port: int | None = None, **tools: Any) -> dict[str, Any]:
    """Return the library, as a process or at a port, with these tools in place of those of the same names."""
    body = library() if port is None else library_at(port)
    body["servers"]["library"]["tools"] |= tools
    return body
