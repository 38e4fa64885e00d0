"""Opens the tools from the files of an operator."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path

from agents.plugin import Report
from agents.toolkit.descriptions import from_source
from agents.toolkit.handover_tools import FILL_FORM
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_search import FINDING, bound_tools
from app.plugins.remote_tools import RemoteToolsSettings
from app.plugins.remote_tools.files import HttpFile, McpFile
from app.plugins.remote_tools.http import http_tools
from app.plugins.remote_tools.secret import secrets_of
from app.plugins.remote_tools.tool_spec import OfferedTool
from app.process.extras import load_extra
from app.process.files import read_env
from app.yaml_file import fault, read_files


@asynccontextmanager
async def with_remote_tools(
    settings: RemoteToolsSettings, speakers: Speakers, absent: Report, unfit: Report
) -> AsyncIterator[Speakers]:
    """Yield the speakers with the tools of `REMOTE_TOOLS` and `MCP_SERVERS`, which work during the block.

    Raises:
        ConfigError: something in a file is wrong, a secret is missing, or a server cannot be reached.
    """
    async with AsyncExitStack() as stack:
        environment = {**read_env(Path(".env")), **os.environ}
        if settings.remote_tools:
            for name, described in read_files("REMOTE_TOOLS", settings.remote_tools, HttpFile):
                secrets = secrets_of(
                    name, "services", {n: s.headers for n, s in described.services.items()}, environment
                )
                offers = await stack.enter_async_context(http_tools(described, secrets))
                speakers = reduce(partial(_with_tool, name), offers, speakers)
        if settings.mcp_servers:
            mcp = load_extra("app.plugins.remote_tools.mcp", "mcp", "MCP_SERVERS: MCP")
            for name, listed in read_files("MCP_SERVERS", settings.mcp_servers, McpFile):
                templates = {n: s.env or s.headers for n, s in listed.servers.items()}
                secrets = secrets_of(name, "servers", templates, environment)
                offers = await stack.enter_async_context(mcp.open_servers(name, listed, secrets, absent, unfit))
                speakers = reduce(partial(_with_tool, name), offers, speakers)
        yield speakers


def _with_tool(file: str, speakers: Speakers, offer: OfferedTool) -> Speakers:
    if offer.speaker not in (names := [speaker.name for speaker in speakers]):
        problem = f"there is no {offer.speaker!r}; there are {', '.join(names)}"
        raise fault(file, f"{offer.where}.speaker", problem)
    # Tools unbound are not bound.
    taken = {tool.name for speaker in speakers for tool in (*speaker.tools, *bound_tools(speaker, speakers))}
    if offer.tool.name in taken | {FILL_FORM, *FINDING}:
        raise fault(file, offer.where, "there is another tool of this name")

    from_source(offer.tool, f"{file}: {offer.where}", offer.fingerprint)

    def changed(speaker: Speaker) -> Speaker:
        return replace(speaker, tools=[*speaker.tools, offer.tool]) if speaker.name == offer.speaker else speaker

    return speakers.each(changed)
