"""Tell the operator of tools that their MCP server describes otherwise than at the last start."""

from langgraph.store.base import BaseStore

from agents.toolkit.descriptions import own_texts
from agents.toolkit.speaker import Speakers

SEEN = ("application", "mcp")


async def note_changes(store: BaseStore, speakers: Speakers) -> list[str]:
    """Return a line for each tool whose description, parameters or results have changed, and remember them."""
    lines = []
    for tool in (tool for speaker in speakers for tool in speaker.tools):
        texts = own_texts(tool)
        if not texts.fingerprint:
            continue
        item = await store.aget(SEEN, texts.source)
        last_fingerprint = item.value.get("fingerprint") if item else None
        if last_fingerprint == texts.fingerprint:
            continue
        await store.aput(SEEN, texts.source, {"fingerprint": texts.fingerprint})
        if last_fingerprint is not None:
            lines.append(
                f"{texts.source}: the server describes {tool.name} otherwise than at the last start; "
                f"read it: python -m app tools show {tool.name}"
            )
    return lines
