"""MCP tools: the servers' descriptions, cleaned, cut and compared with the file, and the calls to the servers."""

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

from langchain_core.tools import BaseTool
from mcp.types import CallToolResult, Tool

from agents.errors import ConfigError
from agents.language.identifiers import MARK, Schema, resolved
from agents.language.text.clean import DEEPEST, clean, is_shallow
from agents.state.speaker_state import Json
from agents.toolkit.argument_forms import received
from agents.toolkit.context import Runtime
from agents.toolkit.descriptions import translation_of
from agents.toolkit.json_schema import UNTOLD, safe_names
from agents.toolkit.result import LONGEST_OBJECT, Answer, in_json
from app.plugins.remote_tools.answer import NoAnswer, answer_of, failure, refusal, tool_of
from app.plugins.remote_tools.files import OWN, McpFile, ServerTool
from app.plugins.remote_tools.mcp_session import HeldServer
from app.plugins.remote_tools.secret import Mask, masks
from app.plugins.remote_tools.tool_spec import OfferedTool
from app.yaml_file import fault
from prompts import FALLBACK

LOG = logging.getLogger(__name__)
LONGEST_DESCRIPTION = 1_000  # Characters of a server's own words on a tool.
LONGEST_PART = 300  # Characters of its words on a parameter, and of a name or a value in a schema.
LARGEST_SCHEMA = 20_000  # Characters of a schema as JSON.
MOST_VALUES = 200  # Values that a schema lists, and parts that it combines.
Several = TypeVar("Several", bound=Collection[object])
TEXTS = ("title", "description")
NULLABLE = ("const", "default")
BY_NAME = ("properties", "$defs", "definitions")
INNER = ("items", "additionalItems", "additionalProperties")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
VALUES = frozenset(
    (
        *("enum", "const", "default", "type", "required", "$ref", "format", "pattern", "uniqueItems", "nullable"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "minItems", "maxItems"),
    )
)


@asynccontextmanager
async def open_servers(
    name: str,
    file: McpFile,
    secrets: Mapping[str, Mapping[str, str]],
    absent: Callable[[ConfigError], None],
    unfit: Callable[[ConfigError], None],
) -> AsyncIterator[list[OfferedTool]]:
    """Hold the servers of a file during the block; yield their tools.

    `absent` gets the fault of a missing server, `unfit` that of a tool that no model can take; both are left out.

    Raises:
        ConfigError: a server does not offer a tool of the file.
    """
    async with AsyncExitStack() as stack:
        offers: list[OfferedTool] = []
        names = safe_names([tool for server in file.servers.values() for tool in server.tools], "tool")
        for label, server in file.servers.items():
            held = HeldServer(label, server, secrets[label])
            stack.push_async_callback(held.close)
            try:
                offered = await held.tools()
            except NoAnswer as lost:
                absent(fault(name, f"servers.{label}", str(lost)))
                continue
            for offered_name, texts in server.tools.items():
                where, spec = f"servers.{label}.tools.{offered_name}", texts or ServerTool()
                if offered_name not in offered:
                    there_are = clean(", ".join(sorted(offered)))[:LONGEST_DESCRIPTION]
                    raise fault(name, where, f"the server has no such tool; it has {there_are}")
                hiding, own_name = masks(spec, server.env or server.headers, secrets[label]), names[offered_name]
                try:
                    if (as_offered := offered[offered_name]) is None:
                        raise ValueError("its description breaks the protocol")
                    tool = trimmed(as_offered)
                    check_fits(name, where, tool, spec)
                    made_tool = _tool(held, tool, spec, hiding, name=spec.name or own_name, foreign=server.foreign)
                    if wrong := translation_of(made_tool).fault:
                        raise ValueError(wrong)
                except ConfigError:
                    raise
                except Exception as odd:
                    # An odd schema must not cost the server its other tools.
                    unfit(fault(name, where, str(odd) if isinstance(odd, ValueError) else f"its schema ({odd!r:.200})"))
                    continue
                offers.append(OfferedTool(server.speaker, made_tool, where, fingerprint(as_offered, spec)))
        yield offers


def _tool(
    held: HeldServer, tool: Tool, spec: ServerTool, hiding: tuple[Mask, Mask], *, name: str, foreign: bool
) -> BaseTool:
    wrapped = is_wrapped(tool)
    again = not spec.writes or bool(spec.key)
    unsecret, unseen = hiding

    async def call(runtime: Runtime, **args: object) -> Answer:
        values, lang = {**received(args), **spec.set_values(runtime)}, runtime.state["lang"]
        try:
            answer = await held.call(tool.name, values, again=again)
            words, data = words_of(answer), answer.structuredContent
            if answer.isError:
                body = _parsed(words) or data
                reason = words or (in_json(body) if body else "error")
                raise refusal(spec, name, unseen(body), unseen(reason), lang)
            data = data.get("result") if wrapped and isinstance(data, Mapping) else data
            if data is not None and not isinstance(data, str) and is_shallow(data):
                return answer_of(spec, unsecret(data), lang)
            words = data if isinstance(data, str) else words
            return answer_of(spec, unsecret(_parsed(words)), lang, unsecret(words)[:LONGEST_OBJECT])
        except NoAnswer as lost:
            LOG.warning("tool %s: %s: %s", name, held.name, lost)
            raise failure(spec, name, lost, lang) from None

    return tool_of(
        spec,
        call,
        name=name,
        description=spec.description.get(FALLBACK) or tool.description or name,
        arguments=arguments(tool, spec),
        schema=result(tool, spec),
        foreign=foreign,
    )


def _parsed(text: str) -> object:
    """Return the object or list that a server wrote as a text; None if the text is neither."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) and is_shallow(data) else None


def words_of(answer: CallToolResult) -> str:
    """Return the texts and links of an answer, and the kinds of its other parts."""
    return "\n".join(map(_worded, answer.content))


def _worded(block: object) -> str:
    if not isinstance(block, Mapping):
        return "" if block is None else str(block)
    inner = block.get("resource")
    part = inner if isinstance(inner, Mapping) else block
    if (text := part.get("text")) is not None:
        return str(text)
    if block.get("type") == "resource_link" and (address := part.get("uri")):
        return f"{part.get('title') or part.get('name') or 'file'}: {address}"
    return f"({part.get('type') or 'file'})"


def trimmed(tool: Tool) -> Tool:
    """Return a tool with texts for a model: clean, cut, and without keywords that check nothing.

    Raises:
        ValueError: a schema is too large, or has a name or a value that no model can take.
    """
    return tool.model_copy(
        update={
            "title": None,
            "description": clean(tool.description or "")[:LONGEST_DESCRIPTION],
            "inputSchema": _schema(tool.inputSchema),
            "outputSchema": None if tool.outputSchema is None else _schema(tool.outputSchema),
        }
    )


def fingerprint(tool: Tool, spec: ServerTool) -> str:
    """Return a fingerprint that changes with the server's schemas, and with its description unless `spec` has one."""
    described = [spec.description.get(FALLBACK) or tool.description, tool.inputSchema, tool.outputSchema]
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _schema(schema: Schema) -> Schema:
    trimmed = _trimmed(schema, DEEPEST)
    if len(json.dumps(trimmed, ensure_ascii=False)) > LARGEST_SCHEMA:
        raise ValueError(f"its schema has more than {LARGEST_SCHEMA} characters")
    # A model that holds itself is a reference at the top; its properties are looked for there.
    return resolved(trimmed, trimmed if isinstance(trimmed, Mapping) else {})


def _trimmed(schema: object, left: int) -> object:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping) or not left:
        raise ValueError("its schema is nested too deeply, or it is no schema")
    bounded: dict[str, object] = {}
    # Some serializers write null for what a schema lacks.
    for keyword, value in ((name, value) for name, value in schema.items() if value is not None or name in NULLABLE):
        if keyword in TEXTS and isinstance(value, str):
            bounded[keyword] = clean(value)[:LONGEST_PART]
        elif keyword in BY_NAME and isinstance(value, Mapping):
            bounded[keyword] = {_unchanged(name): _trimmed(inner, left - 1) for name, inner in _few(value).items()}
        elif keyword in LISTED and isinstance(value, list):
            bounded[keyword] = [_trimmed(inner, left - 1) for inner in _few(value)]
        elif keyword in INNER:
            bounded[keyword] = _trimmed(value, left - 1)
        elif keyword in VALUES:
            bounded[keyword] = _unchanged(value)
        elif keyword in UNTOLD:
            # The model does not see the rule; `check` reports that there was one.
            bounded[keyword] = {}
    return bounded


def _few(values: Several) -> Several:
    if len(values) > MOST_VALUES:
        raise ValueError(f"its schema lists more than {MOST_VALUES} values")
    return values


def _unchanged(value: object) -> object:
    """Return a name or a value unchanged: a cut or cleaned one would be another."""
    if isinstance(value, str) and (len(value) > LONGEST_PART or clean(value) != value):
        raise ValueError("its schema has a name or a value that is too long, or has characters that nobody sees")
    if isinstance(value, Mapping):
        return {_unchanged(name): _unchanged(inner) for name, inner in _few(value).items()}
    return [_unchanged(inner) for inner in _few(value)] if isinstance(value, list) else value


def check_fits(file: str, where: str, tool: Tool, spec: ServerTool) -> None:
    """Compare a file's description of a tool with the server's.

    Raises:
        ConfigError: the file names a part that the server's tool does not have, or that cannot hold the file's value.
    """
    own = tool.inputSchema.get("properties", {})
    there_are = f"it has {', '.join(own) or 'none'}"
    for name, parameter in spec.parameters.items():
        place = f"{where}.parameters.{name}"
        if name not in own:
            raise fault(file, place, f"the tool has no such parameter; {there_are}")
        kind = resolved(own[name], tool.inputSchema).get("type", "string")
        if parameter.trusted and kind != "string":
            raise fault(file, place, f"only a string is trusted, this is of type {kind}")
        if parameter.opaque and kind != "string":
            raise fault(file, place, f"only a string is opaque, this is of type {kind}")
    if unknown := sorted(set(spec.key) - set(own)):
        raise fault(file, f"{where}.key", f"the tool has no parameter {', '.join(unknown)}; {there_are}")
    if unknown := sorted(set(spec.result.opaque) - _fields(tool.outputSchema)):
        raise fault(file, f"{where}.result.opaque", f"the server names no field {', '.join(unknown)} in its results")


def arguments(tool: Tool, spec: ServerTool) -> Json:
    """Return the schema of the model's arguments: without the system's values, and with identifiers marked."""
    schema = tool.inputSchema
    shown = {name: body for name, body in schema.get("properties", {}).items() if name not in spec.hidden}
    for name, parameter in spec.parameters.items():
        if name in shown:
            described = {"description": parameter.description} if parameter.description else {}
            mark = {MARK: parameter.opaque} if parameter.opaque else {}
            shown[name] = {**resolved(shown[name], schema), **described, **mark}
    required = [name for name in schema.get("required", []) if name not in spec.hidden]
    return {**schema, "properties": shown, "required": required}


def result(tool: Tool, spec: ServerTool) -> Schema | None:
    """Return the schema of the result for the model: the file's, else the read part of the server's."""
    if spec.result.schema_ is not None:
        return spec.result.schema_
    schema = _marked(tool.outputSchema, spec.result.opaque)
    if not schema or spec.result.object != OWN or spec.result.message or spec.page:
        return None
    shared = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    if is_wrapped(tool):
        schema = {**schema["properties"]["result"], **shared}
    if spec.options is None:
        return dict(schema)
    # The model gets the chosen candidate.
    return {**schema["items"], **shared} if spec.options.each == OWN and "items" in schema else None


def is_wrapped(tool: Tool) -> bool:
    """Tell whether a server has wrapped a result in an object, since the protocol carries only objects."""
    return list((tool.outputSchema or {}).get("properties", {})) == ["result"]


def _marked(schema: object, opaque: Mapping[str, str]) -> Any:
    if isinstance(schema, Mapping):
        marked = {name: _marked(value, opaque) for name, value in schema.items()}
        if isinstance(properties := marked.get("properties"), dict):
            for name in opaque.keys() & properties.keys():
                properties[name] = {**properties[name], MARK: opaque[name]}
        return marked
    return [_marked(value, opaque) for value in schema] if isinstance(schema, list) else schema


def _fields(schema: object) -> set[str]:
    inner = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    own = schema.get("properties") if isinstance(schema, Mapping) else None
    return {*(own if isinstance(own, Mapping) else ()), *(name for value in inner for name in _fields(value))}
