"""Make tools of what MCP servers offer."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langchain_mcp_adapters.sessions import StdioConnection
from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
from langgraph.prebuilt import ToolRuntime
from mcp.types import CallToolResult, Tool

from agents.aliases import MARK
from agents.errors import ConfigError
from agents.state import Context
from agents.tools.outcome import LONGEST, Answer, Failed, Refused, result
from agents.tools.recorded import OUTSIDE
from agents.tools.remote.parts import Offer, fault
from agents.tools.remote.request import trusted_values
from agents.tools.remote.sending import is_shallow
from agents.tools.remote.servers import McpFile, ServerTool
from agents.tools.remote.session import Held, Lost
from agents.tools.texts import Texts, with_texts
from agents.tools.traits import Traits, with_traits
from prompts import FALLBACK, phrase

LONGEST_REASON = 500
LONGEST_DESCRIPTION = 1_000
"""Characters of a server's own words that a model is told."""
NOWHERE: StdioConnection = {"transport": "stdio", "command": "", "args": []}
"""In place of a connection: every call is taken to the session that is held."""


@asynccontextmanager
async def open_servers(
    name: str, file: McpFile, secrets: Mapping[str, Mapping[str, str]], absent: Callable[[ConfigError], None]
) -> AsyncIterator[list[Offer]]:
    """Hold the servers of a file during the block; yield their tools. `absent` is told of one that is not there.

    Raises:
        ConfigError: a server does not offer what the file takes.
    """
    async with AsyncExitStack() as stack:
        offers: list[Offer] = []
        for label, server in file.servers.items():
            held = Held(label, server, secrets[label])
            stack.push_async_callback(held.close)
            try:
                offered = {tool.name: tool for tool in await held.tools()}
            except Lost as lost:
                absent(fault(name, f"servers.{label}", str(lost)))
                continue
            for wanted, said in server.tools.items():
                where = f"servers.{label}.tools.{wanted}"
                if wanted not in offered:
                    raise fault(name, where, f"the server has no such tool; it has {', '.join(sorted(offered))}")
                known = _checked(name, where, offered[wanted], said or ServerTool())
                offers.append(Offer(server.speaker, _tool(held, offered[wanted], known), where))
        yield offers


def _checked(name: str, where: str, tool: Tool, known: ServerTool) -> ServerTool:
    """Return what the file says of a tool, if it fits what the server says."""
    parameters = tool.inputSchema.get("properties", {})
    fields = {*parameters, *_named(tool.outputSchema)}
    for part, names in (("key", known.key), ("trusted", known.trusted)):
        if unknown := sorted(set(names) - set(parameters)):
            raise fault(name, f"{where}.{part}", f"the tool has no parameter {', '.join(unknown)}")
    if unknown := sorted(set(known.opaque) - fields):
        raise fault(name, f"{where}.opaque", f"the tool has no field {', '.join(unknown)}")
    return known


def _tool(held: Held, tool: Tool, known: ServerTool) -> BaseTool:
    inner = _adapted(held, tool, again=known.effect == "read" or bool(known.key))
    wrapped = _is_wrapped(tool)
    name = known.name or tool.name

    async def call(runtime: ToolRuntime[Context, Any], **args: Any) -> Answer:
        trusted = trusted_values(runtime)
        given = {**args, **{parameter: trusted[value] for parameter, value in known.trusted.items()}}
        assert inner.coroutine is not None  # the adapter makes tools of coroutines only
        try:
            content, artifact = await inner.coroutine(**given)
        except ToolException as refused:
            reason = " ".join(str(refused).split())[:LONGEST_REASON]
            raise Refused(phrase("tool_rejected", runtime.state["lang"], tool=name, reason=reason)) from None
        except Lost:
            raise Failed from None
        found = (artifact or {}).get("structured_content")
        if found is None or not is_shallow(found):
            return result(message=_words(content))
        return result(found["result"] if wrapped else found)

    made = StructuredTool.from_function(
        coroutine=call,
        name=name,
        description=known.description.get(FALLBACK) or inner.description[:LONGEST_DESCRIPTION] or name,
        args_schema=_schema(tool.inputSchema, known),
        infer_schema=False,
        response_format="content_and_artifact",
        tags=[OUTSIDE],
    )
    with_texts(made, Texts(descriptions=known.description, examples=known.examples))
    read = _output(tool, known.opaque)
    repeatable = bool(known.key)
    found = Traits(effect=known.effect, key=known.key, repeatable=repeatable, result=read, permission=known.permission)
    return with_traits(made, found)


def _adapted(held: Held, tool: Tool, *, again: bool) -> StructuredTool:
    """Return the adapter's tool, its calls taken to the session that is held."""

    async def to_held(request: MCPToolCallRequest, handler: Any) -> CallToolResult:
        return await held.call(request.name, request.args, again=again)

    made = convert_mcp_tool_to_langchain_tool(None, tool, connection=NOWHERE, tool_interceptors=[to_held])
    return cast(StructuredTool, made)


def _is_wrapped(tool: Tool) -> bool:
    """Tell whether a result is wrapped in an object because it is none: the protocol knows only objects."""
    return list((tool.outputSchema or {}).get("properties", {})) == ["result"]


def _output(tool: Tool, opaque: Mapping[str, str]) -> Mapping[str, Any] | None:
    schema = _marked(tool.outputSchema, opaque)
    if not schema or not _is_wrapped(tool):
        return schema or None
    return {**schema["properties"]["result"], "$defs": schema.get("$defs", {})}


def _schema(schema: Mapping[str, Any], known: ServerTool) -> dict[str, Any]:
    """Return what the model is shown: no trusted parameters, identifiers marked."""
    marked = _marked(schema, known.opaque)
    kept = {name: body for name, body in marked.get("properties", {}).items() if name not in known.trusted}
    required = [name for name in marked.get("required", []) if name not in known.trusted]
    return {**marked, "type": "object", "properties": kept, "required": required}


def _marked(schema: Any, opaque: Mapping[str, str]) -> Any:
    if isinstance(schema, Mapping):
        marked = {name: _marked(value, opaque) for name, value in schema.items()}
        if isinstance(properties := marked.get("properties"), dict):
            for name in opaque.keys() & properties.keys():
                properties[name] = {**properties[name], MARK: opaque[name]}
        return marked
    return [_marked(value, opaque) for value in schema] if isinstance(schema, list) else schema


def _named(schema: Any) -> set[str]:
    """Return the names of all fields in a schema."""
    inner = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    own = schema.get("properties") if isinstance(schema, Mapping) else None
    return {*(own if isinstance(own, Mapping) else ()), *(name for one in inner for name in _named(one))}


def _words(content: Any) -> str:
    """Return the texts of a result; of pictures and files, their kind."""
    if isinstance(content, str):
        return content[:LONGEST]
    parts = [block["text"] if block.get("type") == "text" else f"({block.get('type')})" for block in content]
    return "\n".join(parts)[:LONGEST]
