"""Files of MCP servers: what is wrong with one is said at start, in a line that names the place."""

import sys
from pathlib import Path
from typing import Any

import pytest

from agents.errors import ConfigError
from app.composition import discover
from tests.plugins.remote_tools.remote_files import library, library_at, opened

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"command": "no-such-command"}, "servers.library: it cannot be reached (FileNotFoundError)"),
        pytest.param({"args": ["-c", "1"]}, "servers.library: it cannot be reached (", marks=pytest.mark.slow),
        (
            {"tools": {"lend": {"parameters": {"book": {"in": "body"}}}}},
            "servers.library.tools.lend.parameters.book.in",
        ),
        (
            {"tools": {"lend": {"key": ["reader"], "parameters": {"reader": {"trusted": "user"}}}}},
            "servers.library.tools.lend: `key` names what the model does not give: reader",
        ),
        ({"tools": {"lend": {"effect": "read", "key": ["book"]}}}, "servers.library.tools.lend: only a write has a"),
        ({"tools": {"lend": {"trusted": {"reader": "user"}}}}, "servers.library.tools.lend.trusted: Extra inputs"),
        ({"tools": {"lend": {"view": {"kind": "hologram"}}}}, "servers.library.tools.lend.view: Input tag 'hologram'"),
        ({"tools": {"lend": {"kind": "selector"}}}, "servers.library.tools.lend: a selector has `options`"),
        (
            {"tools": {"find_books": {"result": {"object": "[0]", "opaque": {"id": "book"}}}}},
            "servers.library.tools.find_books.result: with an `object` or a `schema` of its own",
        ),
        ({"url": "http://127.0.0.1/"}, "servers.library: has either a `command` or a `url`"),
        (
            {"command": None, "args": None, "env": None, "cwd": None, "url": "http://127.0.0.1:9/mcp"},
            "servers.library: 127.0.0.0/8 is Loopback (RFC1122) (a service of one's own needs `internal: true`)",
        ),
        ({"env": {"A": {"env": "NO_SUCH"}}}, "servers.library.A: the environment variable NO_SUCH is not set"),
    ],
)
async def test_a_fault_is_named(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    """A file that cannot be used ends the start with a line that names the place, before a server is asked."""
    await _ends_with(tmp_path, library(**changes), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"tools": {"sing": None}},
            "servers.library.tools.sing: the server has no such tool; it has catalogue, ",
        ),
        (
            {"tools": {"lend": {"parameters": {"who": {"trusted": "user"}}}}},
            "servers.library.tools.lend.parameters.who: the tool has no such parameter; it has book, reader",
        ),
        (
            {"tools": {"new_books": {"parameters": {"most": {"trusted": "user"}}}}},
            "servers.library.tools.new_books.parameters.most: only a string is trusted, this is of type integer",
        ),
        (
            {"tools": {"nap": {"parameters": {"seconds": {"opaque": "nap"}}}}},
            "servers.library.tools.nap.parameters.seconds: only a string is opaque, this is of type number",
        ),
        ({"tools": {"lend": {"key": ["isbn"]}}}, "servers.library.tools.lend.key: the tool has no parameter isbn"),
        (
            {"tools": {"find_books": {"result": {"opaque": {"isbn": "book"}}}}},
            "servers.library.tools.find_books.result.opaque: the server names no field isbn in its results",
        ),
        ({"speaker": "nobody"}, "servers.library.tools.find_books.speaker: there is no 'nobody'"),
    ],
)
async def test_a_fault_that_the_server_shows_is_named(
    tmp_path: Path, library_port: int, changes: dict[str, Any], expected: str
) -> None:
    """A server that does not offer what the file takes ends the start with a line that names the place."""
    await _ends_with(tmp_path, library_at(library_port, **changes), expected)


async def _ends_with(folder: Path, body: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        async with opened(folder, discover()[0], servers=body):
            pass
    assert str(error.value).startswith(f"{folder / 'mcp_servers.yaml'}: {expected}")


async def test_the_extra_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without MCP's package an operator who wants it reads how to install it."""
    monkeypatch.delitem(sys.modules, "app.plugins.remote_tools.mcp", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.types", None)
    with pytest.raises(ConfigError, match=r"install it: pip install --require-hashes -r requirements-mcp\.txt$"):
        async with opened(tmp_path, discover()[0], servers=library()):
            pass
