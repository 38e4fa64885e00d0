"""Opens the tools from the files of an operator."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
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
                speakers = _with_tools(name, offers, speakers)
        if settings.mcp_servers:
            mcp = load_extra("app.plugins.remote_tools.mcp", "mcp", "MCP_SERVERS: MCP")
            for name, listed in read_files("MCP_SERVERS", settings.mcp_servers, McpFile):
                templates = {n: s.env or s.headers for n, s in listed.servers.items()}
                secrets = secrets_of(name, "servers", templates, environment)
                offers = await stack.enter_async_context(mcp.open_servers(name, listed, secrets, absent, unfit))
                speakers = _with_tools(name, offers, speakers)
        yield speakers


def _with_tools(file: str, offers: Sequence[OfferedTool], speakers: Speakers) -> Speakers:
    names = [speaker.name for speaker in speakers]
    for offer in offers:
        if offer.speaker not in names:
            problem = f"there is no {offer.speaker!r}; there are {', '.join(names)}"
            raise fault(file, f"{offer.where}.speaker", problem)

    def extended(speaker: Speaker) -> Speaker:
        return replace(speaker, tools=[*speaker.tools, *(of.tool for of in offers if of.speaker == speaker.name)])

    everyone, offered = speakers.each(extended), {id(offer.tool) for offer in offers}
    # Tools unbound are not bound.
    present = [tool for speaker in everyone for tool in (*speaker.tools, *bound_tools(speaker, everyone))]
    taken = {FILL_FORM, *FINDING, *(tool.name for tool in present if id(tool) not in offered)}
    for offer in offers:
        if offer.tool.name in taken:
            raise fault(file, offer.where, "there is another tool of this name")
        taken.add(offer.tool.name)
        from_source(offer.tool, f"{file}: {offer.where}", offer.fingerprint)
    return everyone
