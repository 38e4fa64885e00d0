"""Run one tool for real, with arguments as typed, through the node that runs it in a conversation."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.graph import START, StateGraph
from pydantic import BaseModel, ValidationError

from agents.errors import UsageError
from agents.events import Event, Interrupt, ToolEnd
from agents.events.views import Notice, View, read_view
from agents.language.identifiers import MARK, Aliases, NumberedIds, resolved
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
from app.short_term_memory import COMMAND


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
        context = replace(parts.context(trial.user, trial.user, zone, TERMINAL), sink=events.append)
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


def typed(pairs: Sequence[str], tool: BaseTool) -> dict[str, Any]:
    """Return the arguments that these pairs stand for: a text as it is, anything else as JSON.

    Raises:
        UsageError: a pair is none, names what the tool does not take, or the tool's schema refuses it.
    """
    schema = parameters(tool)
    fields = schema.get("properties", {})
    args: dict[str, Any] = {}
    for pair in pairs:
        name, separator, raw = pair.partition("=")
        if not separator or name in args:
            raise UsageError(f"write each argument once, as name=value; found {pair!r}")
        if name not in fields:
            raise UsageError(f"{tool.name} takes no {name!r}; it takes: {', '.join(fields) or 'nothing'}")
        args[name] = _value(name, raw, fields[name], schema)
    _check(tool, args, schema)
    return args


def _value(name: str, raw: str, field: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    resolved_field = resolved(field, root)
    branches = [
        resolved(branch, root)
        for branch in resolved_field.get("anyOf") or resolved_field.get("oneOf") or [resolved_field]
    ]
    allowed = [value for branch in branches for value in (*branch.get("enum", ()), branch.get("const"))]
    if raw in (by_text := {str(value): value for value in allowed if value is not None}):
        return by_text[raw]
    if any(branch.get("type") == "string" or MARK in branch for branch in branches):
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        kinds = " or ".join(str(branch.get("type", "any")) for branch in branches if branch.get("type") != "null")
        raise UsageError(f'{name} is {kinds}, written as JSON (2, true, [1, 2], ["a"]); found {raw!r}') from None


def _check(tool: BaseTool, args: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Hold the arguments against the schema; what only a JSON schema says is for the tool to refuse."""
    if missing := [name for name in schema.get("required", ()) if name not in args]:
        raise UsageError(f"{tool.name} needs {', '.join(missing)}")
    model = tool.tool_call_schema
    if isinstance(model, type) and issubclass(model, BaseModel):
        try:
            model.model_validate(args)
        except ValidationError as wrong:
            problems = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in wrong.errors())
            raise UsageError("; ".join(problems)) from None
