"""Make tools of what MCP servers offer."""

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langchain_mcp_adapters.sessions import StdioConnection
from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
from mcp.types import CallToolResult, Tool

from agents.errors import ConfigError
from agents.remote.answer import answer_of
from agents.remote.factory import Signature, made, notice, refusal
from agents.remote.http_client import NoAnswer, is_shallow
from agents.remote.http_request import trusted_values
from agents.remote.mcp_file import McpFile, ServerTool
from agents.remote.mcp_schema import arguments, check_fits, is_wrapped, result
from agents.remote.mcp_session import Held, Lost
from agents.remote.secrets import Mask, masks
from agents.remote.yaml_file import Offer, fault
from agents.toolkit.result import LONGEST, Answer, Failed
from agents.toolkit.runtime import Runtime
from prompts import FALLBACK

LOG = logging.getLogger(__name__)
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
            for wanted, words in server.tools.items():
                where, said = f"servers.{label}.tools.{wanted}", words or ServerTool()
                if wanted not in offered:
                    raise fault(name, where, f"the server has no such tool; it has {', '.join(sorted(offered))}")
                check_fits(name, where, offered[wanted], said)
                known = masks(said, server.env or server.headers, secrets[label])
                offers.append(Offer(server.speaker, _tool(held, offered[wanted], said, known), where))
        yield offers


def _tool(held: Held, tool: Tool, said: ServerTool, known: tuple[Mask, Mask]) -> BaseTool:
    inner = _adapted(held, tool, again=not said.writes or bool(said.key))
    wrapped, name = is_wrapped(tool), said.name or tool.name
    unsecret, unseen = known

    async def call(runtime: Runtime, **args: Any) -> Answer:
        given, lang = {**args, **said.set_values(trusted_values(runtime))}, runtime.state["lang"]
        assert inner.coroutine is not None  # the adapter makes tools of coroutines only
        try:
            content, artifact = await inner.coroutine(**given)
            found = (artifact or {}).get("structured_content")
            found = found["result"] if wrapped and found else found
            if found is not None and not isinstance(found, str) and is_shallow(found):
                return answer_of(said, unsecret(found), lang)
            words = found if isinstance(found, str) else _words(content)
            return answer_of(said, unsecret(_parsed(words)), lang, unsecret(words)[:LONGEST])
        except ToolException as refused:
            words = str(refused)
            raise refusal(said, name, unseen(_parsed(words)), unseen(words), lang) from None
        except NoAnswer as failed:
            LOG.warning("tool %s: %s: %s", name, held.name, failed)
            raise Failed(notice(said, lang)) from None
        except Lost:
            raise Failed(notice(said, lang)) from None

    signature = Signature(
        name=name,
        description=said.description.get(FALLBACK) or inner.description[:LONGEST_DESCRIPTION] or name,
        arguments=arguments(tool, said),
        result=result(tool, said),
    )
    return made(said, signature, call)


def _adapted(held: Held, tool: Tool, *, again: bool) -> StructuredTool:
    """Return the adapter's tool, its calls taken to the session that is held."""

    async def to_held(request: MCPToolCallRequest, handler: Any) -> CallToolResult:
        return await held.call(request.name, request.args, again=again)

    made = convert_mcp_tool_to_langchain_tool(None, tool, connection=NOWHERE, tool_interceptors=[to_held])
    return cast(StructuredTool, made)


def _parsed(text: str) -> Any:
    """Return the object or list that a server wrote as a text; None for a text that is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) and is_shallow(found) else None


def _words(content: Any) -> str:
    """Return the texts of a result; of pictures and files, their kind."""
    if isinstance(content, str):
        return content
    parts = [block["text"] if block.get("type") == "text" else f"({block.get('type')})" for block in content]
    return "\n".join(parts)
