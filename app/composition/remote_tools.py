"""Remote tools: read their files, open their connections, add them to their speakers, tell what has changed."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import NoReturn

from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore

from agents.errors import ConfigError
from agents.models import Models
from agents.toolkit.descriptions import Schemas, from_source, own_texts, signature
from agents.toolkit.handover_tools import FILL_FORM
from agents.toolkit.shelf import FINDING, bound_tools
from agents.toolkit.speaker import Speaker, Speakers
from app.process.extras import load_extra
from app.process.files import read_env
from app.remote.files import HttpFile, McpFile
from app.remote.http import http_tools
from app.remote.secret import secrets_of
from app.settings import Settings
from app.yaml_file import OfferedTool, fault, read_files

LONGEST_REASON = 300
"""Characters of what a client says of a tool that it does not take."""


def _refuse(error: ConfigError) -> NoReturn:
    raise error from None


@asynccontextmanager
async def with_remote_tools(
    settings: Settings,
    speakers: Speakers,
    absent: Callable[[ConfigError], None] = _refuse,
    unfit: Callable[[ConfigError], None] = _refuse,
) -> AsyncIterator[Speakers]:
    """Yield the speakers with the tools of `REMOTE_TOOLS` and `MCP_SERVERS`, which work during the block.

    `absent` is told of a server that cannot be reached, `unfit` of a tool that no model can be shown; unless they
    raise, the other tools are there.

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
            mcp = load_extra("app.remote.mcp", "mcp", "MCP_SERVERS: MCP")
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
    # What is on a shelf is not bound.
    taken = {tool.name for speaker in speakers for tool in (*speaker.tools, *bound_tools(speaker, speakers))}
    if offer.tool.name in taken | {FILL_FORM, *FINDING}:
        raise fault(file, offer.where, "there is another tool of this name")

    from_source(offer.tool, f"{file}: {offer.where}", offer.fingerprint)

    def changed(speaker: Speaker) -> Speaker:
        return replace(speaker, tools=[*speaker.tools, offer.tool]) if speaker.name == offer.speaker else speaker

    return speakers.each(changed)


def tried(speakers: Speakers, models: Models, lang: str) -> tuple[Speakers, list[str]]:
    """Return the speakers without the tools that their models cannot be given, and a line for each of those.

    Every tool is tried as a turn shows it to a model. What a client refuses would take all turns of its speaker.
    """
    schemas, lines = Schemas(), list[str]()

    def is_taken(tool: BaseTool, speaker: Speaker) -> bool:
        try:
            signature(tool)
            for model in models.chain(speaker.name):
                model.bound([schemas.of(tool, lang)], "")
        except Exception as refusal:
            reason = " ".join(str(refusal).split())[:LONGEST_REASON]
            place = own_texts(tool).source or f"tool {tool.name}"
            lines.append(f"{place}: no model of {speaker.name} gets it: {type(refusal).__name__}: {reason}")
            return False
        return True

    def without_refused(speaker: Speaker) -> Speaker:
        return replace(speaker, tools=[tool for tool in speaker.tools if is_taken(tool, speaker)])

    return speakers.each(without_refused), lines


SEEN_DESCRIPTIONS = ("application", "mcp")


async def note_changes(store: BaseStore, speakers: Speakers) -> list[str]:
    """Return a line for each tool whose description, parameters or results have changed, and remember them."""
    lines = []
    for tool in (tool for speaker in speakers for tool in speaker.tools):
        texts = own_texts(tool)
        if not texts.fingerprint:
            continue
        item = await store.aget(SEEN_DESCRIPTIONS, texts.source)
        last_fingerprint = item.value.get("fingerprint") if item else None
        if last_fingerprint == texts.fingerprint:
            continue
        await store.aput(SEEN_DESCRIPTIONS, texts.source, {"fingerprint": texts.fingerprint})
        if last_fingerprint is not None:
            lines.append(
                f"{texts.source}: the server describes {tool.name} otherwise than at the last start; "
                f"read it: python -m app tools show {tool.name}"
            )
    return lines
