"""The tools of a speaker: those bound to its model, those that every speaker has, and unbound ones.

A search finds tools that are too many to bind. The list of bound tools never changes, so that a provider's cache serves
it: the tools that are always at hand, `find_tools` and `call_tool`. The cards of fitting tools are appended after the
history; a card that the history shows is not repeated. `assistant_help` is the way out when no other tool fits.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool, StructuredTool, tool
from pydantic import BaseModel

from agents.language.tool_ranker.ranker import Card, ToolRanker, ranker_of
from agents.state import State
from agents.state.message_notes import notes, notes_of
from agents.state.speaker_state import Json
from agents.toolkit.context import Runtime, emitter
from agents.toolkit.descriptions import seen_by, signature, texts_of, translation_of
from agents.toolkit.handover_tools import ask_user, entry_of, form_tool, hand_back
from agents.toolkit.help import HelpRequest
from agents.toolkit.result import Misused
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import traits, traits_of
from agents.toolkit.undo import undo_last
from prompts import FALLBACK, edition, languages, phrase

FIND, CALL = "find_tools", "call_tool"
FINDING = (FIND, CALL)
"""The tools by which a speaker reaches unbound tools; speakers without a search do not have them."""
MOST_BOUND = 16
"""A speaker with more tools than these has most of them unbound; else all are bound."""
MOST_OFFERED = 6
"""Cards that a message brings, at most."""
FITTING = 2.0
"""The ranker's least score of a fitting tool; the best tool for "order a pizza" has about 1."""
MOST_REMEMBERED = 3
"""Messages before the last one that count when tools are chosen."""


@dataclass(frozen=True)
class ToolSearch:
    """The tools of one speaker that are not bound."""

    tools: Mapping[str, BaseTool]
    common: Sequence[BaseTool] = ()
    """Tools that every speaker has: a search adds them to its finds, and they are never offered."""

    rankers: dict[object, ToolRanker] = field(default_factory=dict)
    """By the edition of the texts."""

    @property
    def ranker(self) -> ToolRanker:
        """Return the ranker of the tools; it is loaded, or trained, at its first use: no start waits for it."""
        if edition() not in self.rankers:
            self.rankers.clear()
            self.rankers[edition()] = ranker_of(self.cards)
        return self.rankers[edition()]

    @property
    def cards(self) -> list[Card]:
        """Return the cards of the tools."""
        return [card_of(tool) for tool in self.tools.values() if tool not in self.common]

    def fitting(self, state: State, messages: Sequence[AnyMessage]) -> list[BaseTool]:
        """Return the tools that fit the last message, in the light of the conversation and the screen."""
        texts = [m.text for m in messages if isinstance(m, HumanMessage | AIMessage) and m.text]
        context = [*(shown["title"] for shown in state.get("screen", [])), *texts[-MOST_REMEMBERED - 1 : -1][::-1]]
        return self.search(texts[-1] if texts else "", context)

    def search(self, query: str, context: Sequence[str] = (), least: float = -math.inf) -> list[BaseTool]:
        """Return the tools that fit a query, the best first; only those with a score of at least `least`."""
        hits = self.ranker.rank(query, MOST_OFFERED, context=context) if query else []
        return [self.tools[hit.name] for hit in hits if hit.score >= least]

    def offer(self, state: State, messages: Sequence[AnyMessage]) -> SystemMessage | None:
        """Return the cards that the history does not show yet, as the message to append; None if it shows all."""
        shown = shown_in(messages)
        new = [tool for tool in self.fitting(state, messages) if tool.name not in shown]
        if not new:
            return None
        text = phrase("tools_offered", state["lang"], cards=cards_of(new, state["lang"]))
        return SystemMessage(text, additional_kwargs=notes(cards=[tool.name for tool in new]))


def tool_searches(speakers: Speakers) -> dict[str, ToolSearch]:
    """Return the searches of the speakers with too many tools to bind, by the speakers' names."""
    unbound = {speaker.name: _unbound(speaker) for speaker in speakers}
    common = {tool.name: tool for tool in speakers.common}
    return {name: ToolSearch(tools | common, speakers.common) for name, tools in unbound.items() if tools}


def _unbound(speaker: Speaker) -> dict[str, BaseTool]:
    if len(speaker.tools) <= MOST_BOUND and not speaker.is_cramped:
        return {}
    return {tool.name: tool for tool in speaker.tools if not traits_of(tool).always}


def at_hand(speaker: Speaker) -> list[BaseTool]:
    """Return a speaker's tools that are always bound: all of them or, if they are too many, those marked so."""
    unbound = _unbound(speaker)
    return [tool for tool in speaker.tools if tool.name not in unbound]


def shown_in(messages: Sequence[AnyMessage]) -> set[str]:
    """Return the names of the tools whose cards a history shows."""
    return {name for message in messages for name in notes_of(message).get("cards", ())}


def cards_of(tools: Sequence[BaseTool], lang: str) -> str:
    """Return tools as the model reads them: name, parameters, result, description."""
    return "\n".join(f"- {signature(tool)}: {texts_of(tool, lang)[0]} {seen_by(tool, lang)}" for tool in tools)


def card_of(tool: BaseTool) -> Card:
    """Return the card of a tool for the ranker."""
    texts = {lang: texts_of(tool, lang) for lang in languages()}
    return Card(
        name=tool.name,
        descriptions={FALLBACK: tool.description} | {lang: text for lang, (text, _) in texts.items() if text},
        examples={lang: examples for lang, (_, examples) in texts.items()},
        parameters=list(translation_of(tool).schema["properties"]),
        shortcut=traits_of(tool).shortcut,
    )


def bound_tools(speaker: Speaker, speakers: Speakers, tool_search: ToolSearch | None = None) -> list[BaseTool]:
    """Return the tools that are bound to a speaker's model, in an order that never changes."""
    # A window that is too small for tools has no room for these either.
    unfound = () if speaker.is_cramped else speakers.common
    finding = [find_tools(tool_search), call_tool] if tool_search else unfound
    return [*at_hand(speaker), *_protocol_tools(speaker, speakers, finding)]


def tools_of(speaker: Speaker, speakers: Speakers) -> list[BaseTool]:
    """Return every tool of a speaker, unbound ones included."""
    return [*speaker.tools, *_protocol_tools(speaker, speakers, speakers.common)]


def tool_named(name: str, speaker: Speaker, speakers: Speakers) -> BaseTool | None:
    """Return a speaker's tool by its name; None if the speaker has none of this name."""
    return next((tool for tool in tools_of(speaker, speakers) if tool.name == name), None)


def _protocol_tools(speaker: Speaker, speakers: Speakers, finding: Sequence[BaseTool] = ()) -> list[BaseTool]:
    help = speakers.help or assistant_help
    writes = speaker.form or any(traits_of(tool).effect == "write" for tool in speaker.tools)
    undo = [undo_last] if writes and not speaker.agent else []
    if speaker.is_supervisor:
        return [*map(entry_of, speakers.dialogs.values()), *finding, *undo, help]
    form = [form_tool(speaker.form)] if speaker.form else []
    asking = [ask_user] if speaker.agent else []
    return [*form, *finding, *asking, *undo, hand_back, help]


class _NamedCall(BaseModel):
    # LangChain renames a function's parameter `args`, and takes it for a list.
    name: str
    args: Json = {}


@tool(CALL, args_schema=_NamedCall)
def call_tool(name: str, runtime: Runtime, args: Json) -> str:
    """Call a tool that stands on a card. Tools of your list are called directly.

    name: exactly as on the card.
    args: one object with the parameters of the card; those with a ? may be left out.
    """
    # `meant` puts the named tool in its place; only a call without a valid name comes here.
    raise Misused(phrase("tool_unknown", runtime.state["lang"], tool=name, known=FIND))


def find_tools(tool_search: ToolSearch) -> BaseTool:
    """Return the tool that looks for tools unbound."""

    async def find(query: str, runtime: Runtime) -> str:
        """Find further tools of yours before you refuse.

        query: the action and the thing, as in "skip a reminder".
        """
        lang = runtime.state["lang"]
        fitting = cards_of(tool_search.search(query, least=FITTING), lang) or phrase("tools_none", lang)
        return "\n".join(filter(None, (fitting, cards_of(tool_search.common, lang))))

    return StructuredTool.from_function(coroutine=find, name=FIND)


def meant(call: ToolCall) -> ToolCall:
    """Return the call inside a `call_tool`; its arguments may be an object or JSON. Other calls stay."""
    if call["name"] != CALL:
        return call
    name, args = call["args"].get("name"), call["args"].get("args") or {}
    try:
        args = json.loads(args) if isinstance(args, str) else args
    except (ValueError, RecursionError):
        return call
    if isinstance(name, str) and name != CALL and isinstance(args, dict):
        return {**call, "name": name, "args": args}
    return call


@traits(egress=lambda args, runtime: runtime.context.help.reaches_out, foreign=lambda context: context.help.is_foreign)
@tool
async def assistant_help(query: str, runtime: Runtime) -> str:
    """Look up help when no tool or specialist fits, or one has failed.

    query: the question, clear by itself.
    """
    context, call, lang = runtime.context, runtime.tool_call_id or "", runtime.state["lang"]
    about = HelpRequest(query, lang, context.thread, call, context.user, context.is_shared, emitter(runtime))
    return await context.help.ask(about)
