"""Tools that are too many to bind: a shelf from which the fitting ones are handed to the model.

The list of bound tools never changes, so that a provider's cache serves it: the tools that are always at hand,
`find_tools` and `call_tool`. The cards of fitting tools are appended after the history; a card that the
history shows is not repeated. For a small model without a cache the fitting tools can be bound instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool

from agents.language.tool_ranker.ranker import Card, ToolRanker
from agents.state import State
from agents.state.message_notes import notes, notes_of
from agents.toolkit.descriptions import parameters, signature, texts_of
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.traits import traits_of
from prompts import languages, phrase

MOST_BOUND = 24
"""Tools of a speaker that are simply bound; of more, most go on the shelf."""
MOST_OFFERED = 6
"""Cards that a message brings, at most."""
MOST_REMEMBERED = 3
"""Messages before the last one that count when tools are chosen."""
Mode = Literal["append", "bind"]


@dataclass(frozen=True)
class Shelf:
    """The tools of one speaker that are not bound."""

    tools: Mapping[str, BaseTool]
    mode: Mode = "append"

    @cached_property
    def ranker(self) -> ToolRanker:
        """Return what finds the tools; it is trained when it is first asked, since no start should wait for it."""
        return ToolRanker([card_of(tool) for tool in self.tools.values()])

    def fitting(self, state: State, messages: Sequence[AnyMessage]) -> list[BaseTool]:
        """Return the tools that fit what was just said, in the light of the conversation and the screen."""
        texts = [m.text for m in messages if isinstance(m, HumanMessage | AIMessage) and m.text]
        context = [*(shown["title"] for shown in state.get("screen", [])), *texts[-MOST_REMEMBERED - 1 : -1][::-1]]
        return self.search(texts[-1] if texts else "", context)

    def search(self, query: str, context: Sequence[str] = ()) -> list[BaseTool]:
        """Return the tools that fit a query, the best first."""
        return [self.tools[hit.name] for hit in self.ranker.rank(query, MOST_OFFERED, context=context)] if query else []

    def offer(self, state: State, messages: Sequence[AnyMessage]) -> SystemMessage | None:
        """Return the cards that the history does not show yet, as the message to append; None if it shows all."""
        shown = shown_in(messages)
        new = [tool for tool in self.fitting(state, messages) if tool.name not in shown]
        if not new or self.mode == "bind":
            return None
        text = phrase("tools_offered", state["lang"], cards=cards_of(new, state["lang"]))
        return SystemMessage(text, additional_kwargs=notes(cards=[tool.name for tool in new]))


def shelves(speakers: Speakers, mode: Mode = "append") -> dict[str, Shelf]:
    """Return the shelves of the speakers that have too many tools to bind, by their names."""
    unbound = {
        speaker.name: {tool.name: tool for tool in speaker.tools if not traits_of(tool).always}
        for speaker in speakers
        if len(speaker.tools) > MOST_BOUND
    }
    return {name: Shelf(tools, mode) for name, tools in unbound.items() if tools}


def at_hand(speaker: Speaker) -> list[BaseTool]:
    """Return a speaker's tools that are always bound: all of them, or of too many those that are marked so."""
    if len(speaker.tools) <= MOST_BOUND:
        return [*speaker.tools]
    return [tool for tool in speaker.tools if traits_of(tool).always]


def shown_in(messages: Sequence[AnyMessage]) -> set[str]:
    """Return the names of the tools whose cards a history shows."""
    return {name for message in messages for name in notes_of(message).get("cards", ())}


def cards_of(tools: Sequence[BaseTool], lang: str) -> str:
    """Return tools as the model reads them: name, parameters, what comes back, what it is for."""
    return "\n".join(f"- {signature(tool)}: {texts_of(tool, lang)[0]}" for tool in tools)


def card_of(tool: BaseTool) -> Card:
    """Return what is known of a tool by those who look for tools."""
    texts = {lang: texts_of(tool, lang) for lang in languages()}
    return Card(
        name=tool.name,
        descriptions={"en": tool.description} | {lang: text for lang, (text, _) in texts.items() if text},
        examples={lang: examples for lang, (_, examples) in texts.items()},
        parameters=list(parameters(tool).get("properties", {})),
        shortcut=traits_of(tool).shortcut,
    )
