"""Make tools of what MCP servers offer."""

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langchain_mcp_adapters.sessions import StdioConnection
from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
from mcp.types import CallToolResult, Tool

from agents.errors import ConfigError
from agents.language.text.clean import clean
from agents.remote.answer import Mask, answer_of, masks
from agents.remote.factory import made, notice, refusal
from agents.remote.http_client import NoAnswer, is_shallow, trusted_values
from agents.remote.mcp_file import McpFile, ServerTool
from agents.remote.mcp_schema import (
    LONGEST_DESCRIPTION,
    arguments,
    check_fits,
    fingerprint,
    is_wrapped,
    result,
    trimmed,
)
from agents.remote.mcp_session import HeldServer, ServerLost
from agents.remote.yaml_file import Offer, fault
from agents.state.talk import Json
from agents.toolkit.result import LONGEST_OBJECT, Answer, Failed
from agents.toolkit.runtime import Runtime
from prompts import FALLBACK

LOG = logging.getLogger(__name__)
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
            held = HeldServer(label, server, secrets[label])
            stack.push_async_callback(held.close)
            try:
                offered = {tool.name: tool for tool in await held.tools()}
            except ServerLost as lost:
                absent(fault(name, f"servers.{label}", str(lost)))
                continue
            for offered_name, texts in server.tools.items():
                where, spec = f"servers.{label}.tools.{offered_name}", texts or ServerTool()
                if offered_name not in offered:
                    there_are = clean(", ".join(sorted(offered)))[:LONGEST_DESCRIPTION]
                    raise fault(name, where, f"the server has no such tool; it has {there_are}")
                try:
                    tool = trimmed(offered[offered_name])
                except ValueError as wrong:
                    raise fault(name, where, str(wrong)) from None
                check_fits(name, where, tool, spec)
                known_masks = masks(spec, server.env or server.headers, secrets[label])
                made_tool = _tool(held, tool, spec, known_masks, foreign=server.foreign)
                offers.append(Offer(server.speaker, made_tool, where, fingerprint(offered[offered_name])))
        yield offers


def _tool(held: HeldServer, tool: Tool, spec: ServerTool, known_masks: tuple[Mask, Mask], *, foreign: bool) -> BaseTool:
    inner = _adapted(held, tool, again=not spec.writes or bool(spec.key))
    wrapped, name = is_wrapped(tool), spec.name or tool.name
    unsecret, unseen = known_masks

    async def call(runtime: Runtime, **args: object) -> Answer:
        values, lang = {**args, **spec.set_values(trusted_values(runtime))}, runtime.state["lang"]
        assert inner.coroutine is not None  # the adapter makes tools of coroutines only
        try:
            content, artifact = await inner.coroutine(**values)
            data = (artifact or {}).get("structured_content")
            data = data["result"] if wrapped and data else data
            if data is not None and not isinstance(data, str) and is_shallow(data):
                return answer_of(spec, unsecret(data), lang)
            words = data if isinstance(data, str) else _words(content)
            return answer_of(spec, unsecret(_parsed(words)), lang, unsecret(words)[:LONGEST_OBJECT])
        except ToolException as refused:
            words = str(refused)
            raise refusal(spec, name, unseen(_parsed(words)), unseen(words), lang) from None
        except NoAnswer as failed:
            LOG.warning("tool %s: %s: %s", name, held.name, failed)
            raise Failed(notice(spec, lang)) from None
        except ServerLost:
            raise Failed(notice(spec, lang)) from None

    return made(
        spec,
        call,
        name=name,
        description=spec.description.get(FALLBACK) or inner.description or name,
        arguments=arguments(tool, spec),
        result=result(tool, spec),
        foreign=foreign,
    )


def _adapted(held: HeldServer, tool: Tool, *, again: bool) -> StructuredTool:
    """Return the adapter's tool, its calls taken to the session that is held."""

    async def to_held(request: MCPToolCallRequest, handler: object) -> CallToolResult:
        return await held.call(request.name, request.args, again=again)

    made = convert_mcp_tool_to_langchain_tool(None, tool, connection=NOWHERE, tool_interceptors=[to_held])
    return cast(StructuredTool, made)


def _parsed(text: str) -> object:
    """Return the object or list that a server wrote as a text; None for any other text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) and is_shallow(data) else None


def _words(content: str | Sequence[Json]) -> str:
    if isinstance(content, str):
        return content
    parts = [block["text"] if block.get("type") == "text" else f"({block.get('type')})" for block in content]
    return "\n".join(parts)
