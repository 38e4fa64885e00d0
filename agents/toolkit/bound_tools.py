"""The tools of a speaker: those that its model is given, and all that it can call."""

from collections.abc import Sequence

from langchain_core.tools import BaseTool

from agents.toolkit.assistant_help import assistant_help
from agents.toolkit.find_tools import call_tool, find_tools
from agents.toolkit.handover_tools import entry_tool, form_tool, hand_back
from agents.toolkit.shelf import Shelf, at_hand
from agents.toolkit.speaker import Speaker, Speakers


def bound_tools(speaker: Speaker, speakers: Speakers, shelf: Shelf | None = None) -> list[BaseTool]:
    """Return the tools that are bound to a speaker's model, in an order that never changes."""
    finding = [find_tools(shelf), call_tool] if shelf else []
    return [*at_hand(speaker), *_protocol_tools(speaker, speakers, finding)]


def tools_of(speaker: Speaker, speakers: Speakers) -> list[BaseTool]:
    """Return every tool of a speaker, those on a shelf included."""
    return [*speaker.tools, *_protocol_tools(speaker, speakers)]


def entry_tools(speakers: Speakers) -> list[BaseTool]:
    """Return the tools by which the supervisor hands over to the dialogs."""
    return [entry_tool(dialog.tool, dialog.description) for dialog in speakers.dialogs.values()]


def _protocol_tools(speaker: Speaker, speakers: Speakers, finding: Sequence[BaseTool] = ()) -> list[BaseTool]:
    """Return the tools that every speaker of this kind has: hand-overs, the form's tool, tool search, help."""
    help = speakers.help or assistant_help
    if speaker.is_supervisor:
        return [*entry_tools(speakers), *finding, help]
    form = [form_tool(speaker.form)] if speaker.form else []
    return [*form, *finding, hand_back, help]
