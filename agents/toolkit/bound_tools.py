"""The tools of a speaker: those that its model is given, and those that every speaker has.

`find_tools` and `call_tool` reach tools that are not bound; `assistant_help` is the way out when no other tool fits.
"""

import json
from collections.abc import Sequence

from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool, StructuredTool, tool

from agents.state.talk import Json
from agents.toolkit.context import Context, emitter
from agents.toolkit.handover_tools import entry_tool, form_tool, hand_back
from agents.toolkit.help import HelpRequest
from agents.toolkit.result import Misused
from agents.toolkit.runtime import Runtime
from agents.toolkit.shelf import Shelf, at_hand, cards_of
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import traits
from prompts import phrase

FIND = "find_tools"
CALL = "call_tool"
FINDING = (FIND, CALL)
"""The tools by which a speaker reaches tools that are not bound; other speakers do not have them."""


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


@tool(CALL)
def call_tool(name: str, runtime: Runtime, args: Json | None = None) -> str:
    """Call a tool by its card. name: as on the card. args: its parameters by name."""
    # `meant` puts the named tool in its place; only a call without a valid name comes here.
    raise Misused(phrase("tool_unknown", runtime.state["lang"], tool=name, known=FIND))


def find_tools(shelf: Shelf) -> BaseTool:
    """Return the tool that looks for tools on a shelf."""

    async def find(query: str, runtime: Runtime) -> str:
        lang = runtime.state["lang"]
        return cards_of(shelf.search(query), lang) or phrase("tools_none", lang)

    return StructuredTool.from_function(
        coroutine=find, name=FIND, description="Find more tools. query: what the tool shall do, in a few words."
    )


def meant(call: ToolCall) -> ToolCall:
    """Return the call that a `call_tool` stands for; its arguments may be an object or JSON. Other calls stay."""
    if call["name"] != CALL:
        return call
    name, args = call["args"].get("name"), _object(call["args"].get("args") or {})
    if isinstance(name, str) and name != CALL and isinstance(args, dict):
        return {**call, "name": name, "args": args}
    return call


def _object(args: object) -> object:
    try:
        return json.loads(args) if isinstance(args, str) else args
    except (ValueError, RecursionError):
        return args


def _reaches_out(context: Context) -> bool:
    return context.help.reaches_out


@traits(egress=_reaches_out, foreign=_reaches_out)
@tool
async def assistant_help(query: str, runtime: Runtime) -> str:
    """Look up help when no tool fits or one has failed. query: the whole question, clear by itself."""
    context = runtime.context
    call, lang = runtime.tool_call_id or "", runtime.state["lang"]
    return await context.help.ask(HelpRequest(query, lang, context.thread, call, context.user, emitter(runtime)))
