"""An MCP server of odd but legal tools: `python -m tests.plugins.remote_tools.odd_mcp_server FILE`.

It speaks over its standard streams. Each call is written into the file, as a line of JSON with the tool's
name and its arguments.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from mcp import McpError, types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import AnyUrl


class Odd(NamedTuple):
    """The parameters of a tool, and arguments that it takes."""

    schema: Any
    args: dict[str, Any]


def taking(given: Any = None, **properties: Any) -> Odd:
    """Return an object with these properties, and arguments for it."""
    return Odd({"type": "object", "properties": properties}, given or {})


WORD, COUNT = {"type": "string"}, {"type": "integer"}
NODE = {"type": "object", "properties": {"name": WORD, "next": {"$ref": "#/$defs/node"}}}
LEVELS: dict[str, Any] = {"type": "object", "properties": {"bottom": COUNT}}
for level in range(10):
    LEVELS = {"type": "object", "properties": {f"level{level}": LEVELS}}
TOOLS = {
    # Names
    "shop.find/all": taking({"word": "hat"}, word=WORD),
    "shop.find.all": taking({"word": "cap"}, word=WORD),
    "3d-print": taking({"word": "cube"}, word=WORD),
    "-begins-with-a-dash": taking(),
    "поиск": taking({"word": "шляпа"}, word=WORD),
    "list_everything_that_the_shop_has_ever_sold_to_anybody_in_any_of_its_branches": taking(),
    # Keys
    "keys": taking(
        {"$filter": "a", "first name": "b", "имя": "c", "1st": 1, "x" * 70: "d"},
        **{"$filter": WORD, "first name": WORD, "имя": WORD, "1st": COUNT, "x" * 70: WORD},
    ),
    "keys_that_collide": taking({"@id": "a", "$id": "b", "id": "c"}, **{"@id": WORD, "$id": WORD, "id": WORD}),
    "keys_within": taking(
        {"rows": [{"sum $": 1, "by": {"who?": "me"}}]},
        rows={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sum $": COUNT, "by": {"type": "object", "properties": {"who?": WORD}}},
            },
        },
    ),
    "names_of_the_library": taking(
        {"config": {"a": "b"}, "self": "s", "runtime": "r", "run_manager": "m", "args": "g", "kwargs": "k"},
        config={"type": "object", "additionalProperties": WORD},
        **dict.fromkeys(("self", "runtime", "run_manager", "args", "kwargs", "callbacks", "state", "store"), WORD),
    ),
    # Schemas that are no objects
    "true_and_false": taking({"any": [1, {"a": None}]}, any=True, none=False),
    "true_within": taking({"rows": [1, "a"], "pair": {"x": 1}}, rows={"type": "array", "items": True}, pair={}),
    # Lists
    "no_entries": taking({"ids": [1, "a"]}, ids={"type": "array"}),
    "tuple": taking({"at": [1.5, "north"]}, at={"type": "array", "prefixItems": [{"type": "number"}, WORD]}),
    "old_tuple": taking({"at": ["north", 2]}, at={"type": "array", "items": [WORD, COUNT]}),
    "list_of_kinds": taking(
        {"parts": [{"kind": "text", "text": "a"}, {"kind": "link", "to": "b"}]},
        parts={
            "type": "array",
            "items": {
                "oneOf": [
                    {"type": "object", "properties": {"kind": {"const": "text"}, "text": WORD}, "required": ["kind"]},
                    {"type": "object", "properties": {"kind": {"const": "link"}, "to": WORD}, "required": ["kind"]},
                ]
            },
        },
    ),
    # Enums
    "numbers": taking({"size": 2}, size={"type": "integer", "enum": [1, 2, 3]}),
    "mixture": taking({"a": None, "b": "", "c": True}, **{key: {"enum": ["x", "", 7, None, True]} for key in "abc"}),
    "nullable_enum": taking({"a": None}, a={"type": ["string", "null"], "enum": ["x", None]}),
    "constants": taking({"a": 5, "b": "v1"}, a={"const": 5}, b={"const": "v1"}),
    "titled": taking({"a": 2}, a={"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]}),
    "remarks": taking(
        {"a": None, "b": "1", "c": 1},
        a={"type": "string", "nullable": True, "examples": ["x"], "deprecated": True, "x-order": 1},
        b={
            "anyOf": [{"enum": ["1"]}, {"anyOf": [{"enum": [1]}, {"enum": [2]}]}],
            "discriminator": {"propertyName": "b"},
        },
        c={"anyOf": [{"enum": ["1"]}, {"anyOf": [{"enum": [1]}, {"enum": [2]}]}], "readOnly": False},
    ),
    # Unions and types
    "top_of_two": Odd(
        {
            "type": "object",
            "oneOf": [
                {"properties": {"by": {"const": "id"}, "id": COUNT}, "required": ["by", "id"]},
                {"properties": {"by": {"const": "name"}, "the name": WORD}, "required": ["by", "the name"]},
            ],
        },
        {"by": "name", "the name": "hat"},
    ),
    "top_of_all": Odd(
        {
            "allOf": [
                {"type": "object", "properties": {"a": COUNT}, "required": ["a"]},
                {"properties": {"b": {"type": ["integer", "null"]}}},
            ]
        },
        {"a": 1, "b": None},
    ),
    "types": taking({"a": 1, "b": {"k": [1]}}, a={"type": ["integer", "string"]}, b={"type": ["object", "string"]}),
    "unknown_type": taking({"a": "2026-01-01"}, a={"type": "date"}, b={"type": []}),
    # References
    "linked": Odd(
        {"type": "object", "properties": {"first": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
        {"first": {"name": "a", "next": {"name": "b", "next": {"name": "c", "next": {"name": "d"}}}}},
    ),
    "holds_itself": Odd({"$ref": "#/$defs/node", "$defs": {"node": NODE}}, {"name": "a", "next": {"name": "b"}}),
    "lost": taking({"a": 1}, a={"$ref": "#/$defs/nowhere"}, b={"$ref": "http://elsewhere.example/schema"}),
    "circle": Odd(
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/one"}},
            "$defs": {"one": {"$ref": "#/$defs/two"}, "two": {"$ref": "#/$defs/one"}},
        },
        {"a": 1},
    ),
    # Objects
    "open": taking({"fields": {"a.b": [1], "ü": None}}, fields={"type": "object", "additionalProperties": True}),
    "open_at_the_top": Odd({"type": "object", "additionalProperties": WORD}, {"anything at all": "x"}),
    "empty": taking({"nothing": {}}, nothing={"type": "object", "additionalProperties": False}),
    "ghosts": Odd(
        {"type": "object", "properties": {"a": WORD}, "required": ["a", "not described"]},
        {"a": "x", "not described": 1},
    ),
    "no_type": Odd({"properties": {"a": WORD}}, {"a": "x"}),
    "nulls": Odd(
        {
            "type": "object",
            "properties": {"a": {**WORD, "enum": None, "items": None}},
            "required": None,
            "$defs": None,
            "additionalProperties": None,
        },
        {"a": "x"},
    ),
    "deep": taking({"tree": {"level9": {"level8": {"level7": {}}}}}, tree=LEVELS),
    "rules": Odd(
        {
            "type": "object",
            "properties": {
                "u": {"type": "string", "format": "uri", "minLength": "3", "required": True},
                "p": {"type": "string", "pattern": "(?<=a)b"},
                "n": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
            },
            "if": {"required": ["u"]},
            "then": {"required": ["p"]},
        },
        {"u": "http://a.example/", "p": "ab", "n": 1},
    ),
    "wordy": taking({"a": "x"}, a={"type": "string", "description": "About this. " * 500}),
    # What no model can be shown
    "broken": Odd(None, {}),
    "a_list": Odd({"type": "array", "items": WORD}, {}),
    "hidden": taking({}, **{"a\u202eb": WORD}),
    "bottomless": taking(
        {}, a={"type": "array", "items": {"type": "object", "properties": {f"a{n}": LEVELS for n in range(40)}}}
    ),
    # Answers
    "breaks_its_promise": taking(),
    "refuses_arguments": taking(),
    "is_noisy": taking(),
    # A plain one, to see that it works beside the others
    "plain": taking({"word": "x", "count": 2}, word=WORD, count=COUNT),
}
ODD_PARTS = [
    *("one", {"text": "two"}, {"type": "hologram"}, {"type": "resource_link", "uri": "here", "name": "n"}),
    *({"type": "text", "text": 5}, {"type": "text", "text": "half \ud83d, \\ud83d, 👍", "annotations": "?"}),
]
RAW = {
    "never_ends_a_line": "x" * 11_000_000,
    "answers_null": '{"jsonrpc": "2.0", "id": ID, "result": null}\n',
    "answers_in_odd_parts": json.dumps({"jsonrpc": "2.0", "result": {"content": ODD_PARTS}, "id": "ID"}) + "\n",
    "refuses_in_data": '{"jsonrpc": "2.0", "id": ID, "result": {"isError": true, "structuredContent": '
    '{"message": "it is sold out"}}}\n',
}
"""What some tools write in place of an answer to the request ID."""
UNSHOWN = ("broken", "a_list", "hidden", "bottomless")
"""The tools that are left out, by name."""


PROMISED = {"breaks_its_promise": {"type": "object", "properties": {"total": COUNT}, "required": ["total"]}}
"""The schemas of results, by the tools' names."""


async def serve(log: Path) -> None:
    """Serve until the client leaves."""
    server: Server[object] = Server("odd")

    @server.list_tools()  # type: ignore[no-untyped-call,untyped-decorator]
    async def listed() -> list[types.Tool]:
        return [
            types.Tool.model_construct(
                name=name, description="It is odd. " * 300, inputSchema=odd.schema, outputSchema=PROMISED.get(name)
            )
            for name, odd in {**TOOLS, **dict.fromkeys(RAW, taking())}.items()
        ]

    async def called(request: types.CallToolRequest) -> types.ServerResult:
        name, args = request.params.name, request.params.arguments
        with log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps([name, args]) + "\n")
        if name == "refuses_arguments":
            raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message="the number must be positive"))
        if name in RAW:
            sys.stdout.write(RAW[name].replace("ID", str(server.request_context.request_id)))
            sys.stdout.flush()
            await asyncio.Event().wait()
        if name == "is_noisy":
            sys.stdout.buffer.write(b"Working in caf\xe9\n\n")
            sys.stdout.buffer.flush()
        link = types.ResourceLink(type="resource_link", name="receipt", uri=AnyUrl("https://shop.example/1"))
        return types.ServerResult(types.CallToolResult(content=[types.TextContent(type="text", text="done"), link]))

    # The library's own handler would refuse an answer that breaks a promise.
    server.request_handlers[types.CallToolRequest] = called
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
