"""Files and arguments by which a model would set what only the system sets, or reach what the file does not name."""

from typing import Any, cast

import httpx
import pytest
from langgraph.prebuilt import ToolRuntime
from pydantic import ValidationError

from agents.toolkit.context import Context
from agents.toolkit.result import Failed, Misused
from app.plugins.remote_tools.files import HttpFile
from app.plugins.remote_tools.http import request_of
from app.plugins.remote_tools.tool_spec import arguments

TRUSTED: dict[str, Any] = {"trusted": "user"}
COLLIDING: dict[str, dict[str, Any]] = {
    "an object over a trusted member": {
        "order": {"in": "body", "type": "object"},
        "user": {"in": "body", "name": "order.user", **TRUSTED},
    },
    "an object over a fixed member": {
        "order": {"in": "body", "type": "object"},
        "limit": {"in": "body", "name": "order.limit", "fixed": 5},
    },
    "an object over a member of a member": {
        "a": {"in": "body", "name": "a", "type": "object"},
        "b": {"in": "body", "name": "a.b.c", **TRUSTED},
    },
    "two of one name in the body": {
        "user": {"in": "body", **TRUSTED},
        "person": {"in": "body", "name": "user"},
    },
    "two of one dotted name": {
        "a": {"in": "body", "name": "x.y"},
        "b": {"in": "body", "name": "x.y", **TRUSTED},
    },
    "a name that ends in a dot": {"a": {"in": "body", "name": "order."}},
    "a name that begins with a dot": {"a": {"in": "body", "name": ".order"}},
    "a name with two dots": {"a": {"in": "body", "name": "a..b"}},
    "two of one name in the query": {
        "user": {"in": "query", **TRUSTED},
        "person": {"in": "query", "name": "user"},
    },
    "a name that the path's own query has": {"limit": {"in": "query"}},
    "two headers in other letters": {
        "a": {"in": "header", "name": "X-User", **TRUSTED},
        "b": {"in": "header", "name": "x-user"},
    },
    "a header of the service": {"a": {"in": "header", "name": "X-Owner"}},
    "a header of the service in other letters": {"a": {"in": "header", "name": "x-OWNER"}},
    "the key of a write": {"a": {"in": "header", "name": "idempotency-key"}},
    "the type of the body": {"a": {"in": "header", "name": "Content-Type"}},
    "the host": {"a": {"in": "header", "name": "Host"}},
    "the length": {"a": {"in": "header", "name": "content-length"}},
}


def file_with(parameters: dict[str, Any], **tool: Any) -> HttpFile:
    """Return a file with one tool of these parameters."""
    described = {"name": "put", "speaker": "planner", "description": "Put.", "method": "POST", "path": "/x?limit=1"}
    headers = {"X-Owner": {"trusted": "user"}}
    service = {"url": "https://shop.example/api", "headers": headers}
    return HttpFile.model_validate(
        {"services": {"shop": service}, "tools": [{**described, "parameters": parameters, **tool}]}
    )


@pytest.mark.parametrize("parameters", COLLIDING.values(), ids=COLLIDING)
def test_two_values_for_one_place_are_a_fault(parameters: dict[str, Any]) -> None:
    """A file in which a model's value could stand where the system's belongs does not start."""
    with pytest.raises(ValidationError):
        file_with(parameters)


def test_a_services_headers_differ() -> None:
    """A service does not have one header twice."""
    service = {"url": "https://shop.example", "headers": {"X-User": {"trusted": "user"}, "x-user": "me"}}
    with pytest.raises(ValidationError, match="x-user twice"):
        HttpFile.model_validate({"services": {"shop": service}, "tools": []})


class Here:
    """The runtime of a call."""

    context = Context(thread="t", user="ann", models=cast(Any, None), device="terminal")
    state = {"lang": "en"}  # noqa: RUF012
    tool_call_id = "call"


def sent(file: HttpFile, **args: Any) -> Any:
    """Return the request of a call."""
    return request_of(file.tools[0], file.services["shop"], args, cast(ToolRuntime[Context, Any], Here()))


ITEM: dict[str, dict[str, Any]] = {
    "id": {"in": "path"},
    "note": {"in": "header", "name": "X-Note", "required": False},
    "tags": {"in": "query", "type": "array", "required": False},
}


def target(**args: Any) -> httpx.URL:
    """Return the target of a call for an item."""
    request = sent(file_with(ITEM, method="GET", path="/items/{id}/parts?full=1"), **args)
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


def test_what_the_system_sets_wins() -> None:
    """Arguments of the names of trusted and fixed parameters, should they come this far, change nothing."""
    file = file_with(
        {
            "user": {"in": "body", **TRUSTED},
            "most": {"in": "body", "fixed": 5},
            "note": {"in": "body", "required": False},
        }
    )
    assert b'"user": "ann"' in sent(file, user="victim", most=500, note="x").body
    assert b'"most": 5' in sent(file, user="victim", most=500).body


PATHS = [
    "5/cancel",
    "5\\cancel",
    "5%2Fcancel",
    "5%2fcancel",
    "5%5Ccancel",
    "5%252Fcancel",
    "5%25252fcancel",
    "/5",
    "5/",
    "//evil.example",
    "..",
    ".",
    "../1",
    "..%2f1",
    "%2e%2e",
    "%2E.",
    "%252e%252e",
    "5\r\nX-Evil: 1",
    "5\0",
    "5\u2028x",
    "5\u202ex",
    "",
]


@pytest.mark.parametrize("value", PATHS)
def test_a_path_value_is_one_part(value: str) -> None:
    """A value of the model's that would be read as more of the path is refused, however it is spelled."""
    with pytest.raises(Misused, match="cannot stand in an address"):
        sent(file_with({"id": {"in": "path"}}, path="/items/{id}"), id=value)


@pytest.mark.parametrize("value", ["../1", "a/../b", "a//b", "/a", "a/", "a/%2e%2e/b", "a/..", "a\\..\\b"])
def test_with_slashes_it_still_does_not_climb(value: str) -> None:
    """`slashes: true` takes folders, and none above or beside them."""
    file = file_with({"id": {"in": "path", "slashes": True}}, path="/items/{id}")
    assert sent(file, id="a/b c").url.endswith("/items/a/b%20c")
    with pytest.raises(Misused, match="cannot stand in an address"):
        sent(file, id=value)


def test_a_users_name_does_not_climb_either() -> None:
    """A trusted value that would lead elsewhere fails the call; no model is told of it."""
    file = file_with({"id": {"in": "path", **TRUSTED}}, path="/users/{id}/items")
    runtime = Here()
    runtime.context = Context(thread="t", user="../admin", models=cast(Any, None), device="terminal")
    with pytest.raises(Failed):
        request_of(file.tools[0], file.services["shop"], {}, cast(ToolRuntime[Context, Any], runtime))


def test_slashes_are_for_the_path() -> None:
    """Elsewhere `slashes` is a fault."""
    with pytest.raises(ValidationError, match="slashes"):
        file_with({"a": {"in": "query", "slashes": True}})


BOMBS = [r"^(a+)+$", r"^(a|aa)+$", r"^(a|a?)+$", r"^(.*a){20}$", r"^([a-zA-Z]+)*$", r"(x+x+)+y"]


@pytest.mark.parametrize("pattern", BOMBS)
def test_a_pattern_of_a_file_takes_no_time(pattern: str) -> None:
    """Patterns are matched in linear time, by pydantic's core; an engine that goes back would never end."""
    model = arguments("put", file_with({"a": {"in": "body", "pattern": pattern}}).tools[0].parameters)
    with pytest.raises(ValidationError):
        model(a="a" * 50_000 + "!", runtime=Here())


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(a)\1", r"(?<!a)b", "(", "a" * 10 + "{1,99999}{1,99999}"])
def test_a_pattern_that_could_go_back_is_a_fault(pattern: str) -> None:
    """A pattern without linear time is a fault at start."""
    with pytest.raises(ValidationError, match="contradicts itself"):
        file_with({"a": {"in": "body", "pattern": pattern}})
