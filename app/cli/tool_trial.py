"""Run one tool for real, through the node that runs it in a conversation, and return its result."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.graph import START, StateGraph

from agents.events import Event, Interrupt, ToolEnd
from agents.events.views import Notice, View, read_view
from agents.language.identifiers import Aliases, NumberedIds
from agents.memory import Memory
from agents.memory.preferences import Preferences
from agents.memory.store import namespace_of
from agents.nodes.tools import ToolCalls
from agents.state import State
from agents.state.person import Heard
from agents.state.talk import Json, Pending
from agents.toolkit.context import Context
from agents.toolkit.descriptions import parameters
from agents.toolkit.shelf import shelves
from agents.toolkit.speaker import Speaker, Speakers
from app.assistant.closing import TERMINAL
from app.composition import open_parts
from app.settings import Settings

COMMAND = "command"
"""The source of a message that no user wrote."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A tool of a speaker, and the arguments it is tried with."""

    tool: BaseTool
    speaker: Speaker
    args: Mapping[str, object]
    user: str
    lang: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result: what a model would read, what a user would see, and the question a user would be asked."""

    ok: bool
    object: str = ""
    view: View | None = None
    notices: list[Notice] = field(default_factory=list)
    question: Interrupt | None = None
    aliases: NumberedIds = field(default_factory=dict)
    """What the small numbers in the object stand for."""
    ms: int = 0

    def plain(self) -> dict[str, Any]:
        """Return the finding as a JSON object; an object is told as such, a sentence as text."""
        return {
            "ok": self.ok,
            "object": _read(self.object),
            "view": self.view.body() if self.view else None,
            "notices": [notice.message for notice in self.notices],
            "question": self.question.body() if self.question else None,
            "aliases": self.aliases,
            "ms": self.ms,
        }


async def tried(trial: Trial, speakers: Speakers, settings: Settings) -> Finding:
    """Run a tool on the configured database, in the name of a user; what it writes stays written.

    Raises:
        ConfigError: a setting is wrong.
    """
    async with (
        open_parts(settings, remote=False, speakers=speakers) as parts,
        parts.memory.locks.hold(trial.user),
    ):
        graph = StateGraph(State, context_schema=Context)
        graph.add_node("tools", ToolCalls(trial.speaker, speakers, shelves(speakers).get(trial.speaker.name)))
        graph.add_edge(START, "tools")
        events: list[Event] = []
        zone = (await Preferences.of(parts.memory.store, trial.user)).zone
        context = replace(parts.context(trial.user, trial.user, zone, device=TERMINAL), sink=events.append)
        state = await _state(trial, parts.memory)
        values = await graph.compile(store=parts.memory.store).ainvoke(state, context=context)
    return _finding(events, cast(State, values))


async def _state(trial: Trial, memory: Memory) -> State:
    """Return a conversation in which the tool has just been called; identifiers are put in as numbers."""
    aliases = Aliases()
    args = cast(Json, aliases.hide(trial.args, parameters(trial.tool)))
    call = ToolCall(name=trial.tool.name, args=args, id=uuid.uuid4().hex, type="tool_call")
    stored = await memory.store.aget(namespace_of(trial.user, "forms"), trial.speaker.name)
    heard: Heard = {"id": call["id"] or "", "text": None, "source": COMMAND}
    return {
        "lang": trial.lang,
        "heard": heard,
        "aliases": aliases.by_kind,
        # Who tries a tool has said yes to it.
        "agreed": cast(
            Pending, {"call": call["id"], "speaker": trial.speaker.name, "tool": trial.tool.name, "args": args}
        ),
        "talks": {
            trial.speaker.name: {
                "messages": [AIMessage("", tool_calls=[call])],
                "form": dict(stored.value) if stored else {},
            }
        },
    }


def _finding(events: list[Event], state: State) -> Finding:
    end = next((event for event in events if isinstance(event, ToolEnd)), None)
    view = state.get("view")
    return Finding(
        ok=end is None or end.ok,
        object=end.object if end else "",
        view=read_view(view) if view else None,
        notices=[event for event in events if isinstance(event, Notice)],
        question=next((event for event in events if isinstance(event, Interrupt)), None),
        aliases=state.get("aliases", {}),
        ms=end.ms if end else 0,
    )


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
