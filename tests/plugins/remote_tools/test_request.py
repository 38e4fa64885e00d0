"""Requests: a value stays in its place, whatever it is."""

from typing import Any, cast

import httpx
import pytest
from langgraph.prebuilt import ToolRuntime

from agents.toolkit.context import Context
from app.plugins.remote_tools.files import HttpFile
from app.plugins.remote_tools.http import request_of

ITEM = {
    "services": {"shop": {"url": "https://shop.example/api"}},
    "tools": [
        {
            "name": "item",
            "speaker": "planner",
            "description": "Show an item.",
            "path": "/items/{id}/parts?full=1",
            "parameters": {
                "id": {"in": "path"},
                "note": {"in": "header", "name": "X-Note", "required": False},
                "tags": {"in": "query", "type": "array", "required": False},
            },
        }
    ],
}


class Present:
    """The runtime of a call, as far as a request needs it."""

    context = Context(thread="t", user="ann", models=cast(Any, None), device="terminal")
    state = {"lang": "en"}  # noqa: RUF012
    tool_call_id = "call"


def target(**args: Any) -> httpx.URL:
    """Return the target of a call."""
    file = HttpFile.model_validate(ITEM)
    request = request_of(file.tools[0], file.services["shop"], args, cast(ToolRuntime[Context, Any], Present()))
    url = httpx.URL(request.url)
    assert (url.scheme, url.host, url.port) == ("https", "shop.example", None)
    assert all(value.isprintable() and value.isascii() for value in request.headers.values())
    return url


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("a?b=c&d#e", "a%3Fb%3Dc%26d%23e"),
        ("@evil.example", "%40evil.example"),
        (":8080", "%3A8080"),
        ("{id}", "%7Bid%7D"),
        ("ключ 1", "%D0%BA%D0%BB%D1%8E%D1%87%201"),
    ],
)
def test_a_value_is_one_part_of_the_path(given: str, path: str) -> None:
    """Whatever a model gives stays within the part of the path that it stands for."""
    assert target(id=given).raw_path == f"/api/items/{path}/parts?full=1".encode()


def test_other_places_are_escaped_too() -> None:
    """A list is repeated in the query; a line break in a header is escaped, not sent."""
    assert target(id="1", tags=["a&b", "c=d"], note="x\r\nHost: evil").query == b"full=1&tags=a%26b&tags=c%3Dd"
