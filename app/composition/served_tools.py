"""Served tools: plug-ins open them. The log names tools that no model takes, and tools that a server has changed."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import NoReturn

from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore

from agents.discovery import code_of
from agents.errors import ConfigError
from agents.models import Models
from agents.plugin import OpenTools, Plugin, Report
from agents.toolkit.descriptions import Schemas, own_texts, signature, tool_place
from agents.toolkit.speaker import Speaker, Speakers
from app.extensions import module_of
from app.settings import read

LONGEST_REASON = 300
"""The most characters of a client's reason for the refusal of a tool."""


def _refuse(error: ConfigError) -> NoReturn:
    raise error from None


def openers(plug_ins: Mapping[str, Plugin]) -> dict[str, OpenTools]:
    """Return the openers of served tools by plug-in, from the settings of plug-ins."""
    openings = dict[str, OpenTools | None]()
    for name, plugin in plug_ins.items():
        if plugin.served_tools:
            with code_of(module_of(name)):
                openings[name] = plugin.served_tools(plugin.settings and read(plugin.settings))
    return {name: opening for name, opening in openings.items() if opening}


@asynccontextmanager
async def with_served_tools(
    plug_ins: Mapping[str, Plugin], speakers: Speakers, absent: Report = _refuse, unfit: Report = _refuse
) -> AsyncIterator[Speakers]:
    """Yield the speakers with the served tools, which work during the block.

    `absent` gets the fault of an unreachable server, `unfit` that of a tool that no model can take; unless they
    raise, the other tools are there.

    Raises:
        ConfigError: a description of the tools is wrong, or a server cannot be reached.
    """
    async with AsyncExitStack() as stack:
        for name, opening in openers(plug_ins).items():
            with code_of(module_of(name)):
                speakers = await stack.enter_async_context(opening(speakers, absent, unfit))
        yield speakers


def tried(speakers: Speakers, models: Models, lang: str) -> tuple[Speakers, list[str]]:
    """Return the speakers without the tools that their models' clients refuse, and a line for each of those.

    Every tool is tried in the form of a turn. A refused tool would make all turns of its speaker fail.
    """
    schemas, lines = Schemas(), list[str]()

    def is_taken(tool: BaseTool, speaker: Speaker) -> bool:
        try:
            signature(tool)
            for model in models.chain(speaker.name):
                model.bound([schemas.of(tool, lang)], "")
        except Exception as refusal:
            reason = " ".join(str(refusal).split())[:LONGEST_REASON]
            lines.append(f"{tool_place(tool)}: no model of {speaker.name} gets it: {type(refusal).__name__}: {reason}")
            return False
        return True

    def without_refused(speaker: Speaker) -> Speaker:
        return replace(speaker, tools=[tool for tool in speaker.tools if is_taken(tool, speaker)])

    return speakers.each(without_refused), lines


SEEN_DESCRIPTIONS = ("application", "mcp")


async def as_accepted(store: BaseStore, speakers: Speakers) -> tuple[Speakers, list[str]]:
    """Return the speakers without the tools whose server has changed their description, and a line for each of those.

    A server's first description is accepted, since the operator has just named the server.
    """
    changed = set[str]()
    lines = []
    for tool in (tool for speaker in speakers for tool in speaker.tools):
        texts = own_texts(tool)
        item = await store.aget(SEEN_DESCRIPTIONS, texts.source) if texts.fingerprint else None
        if texts.fingerprint and item is None:
            await accept(store, tool)
        elif item and item.value.get("fingerprint") != texts.fingerprint:
            changed.add(tool.name)
            lines.append(
                f"{texts.source}: the server describes {tool.name} otherwise than what was accepted, so nobody has it; "
                f"read it: python -m app tools show {tool.name}; accept it: python -m app tools accept {tool.name}"
            )

    def without_changed(speaker: Speaker) -> Speaker:
        return replace(speaker, tools=[tool for tool in speaker.tools if tool.name not in changed])

    return (speakers.each(without_changed) if changed else speakers), lines


async def accept(store: BaseStore, tool: BaseTool) -> None:
    """Accept a server's present description of a tool for models."""
    texts = own_texts(tool)
    await store.aput(SEEN_DESCRIPTIONS, texts.source, {"fingerprint": texts.fingerprint})
