"""Speakers of whom one is another one than in the application."""

from dataclasses import replace
from typing import Any

from langchain_core.tools import BaseTool

from agents.toolkit.speaker import Speakers


def changed(speakers: Speakers, name: str, *further: BaseTool, **fields: Any) -> Speakers:
    """Return the speakers, one of them with other fields and with further tools."""
    own = replace(speakers[name], **fields)
    own = replace(own, tools=[*own.tools, *further]) if further else own
    if own.is_supervisor:
        return replace(speakers, supervisor=own)
    return replace(speakers, dialogs={**speakers.dialogs, name: own})
