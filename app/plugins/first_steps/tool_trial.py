"""Run one tool for real, with typed arguments, through the node that runs it in a conversation."""

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
from agents.language.identifiers import Aliases, NumberedIds, Schema
from agents.memory import Memory
from agents.memory.preferences import Preferences
from agents.memory.store import namespace_of
from agents.nodes.tools import ToolCalls
from agents.state import State
from agents.state.speaker_state import Json, Pending
from agents.toolkit.context import Context
from agents.toolkit.descriptions import parameters
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.tool_search import tool_searches
from app.assistant.outcome_store import TERMINAL
from app.assistant.short_term_memory import COMMAND
from app.composition import open_parts
from app.presentation.arguments import argument
from app.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A tool of a speaker, with the arguments of its trial."""

    tool: BaseTool
    speaker: Speaker
    args: Mapping[str, object]
    user: str
    lang: str


@dataclass
class Finding:
    """The result: the object for a model, the view for a user, and the question to a user."""

    ok: bool = True
    object: str = ""
    view: View | None = None
    notices: list[str] = field(default_factory=list)
    question: Interrupt | None = None
    aliases: NumberedIds = field(default_factory=dict)
    """The identifiers behind the small numbers in the object."""
    ms: int = 0

    def plain(self) -> dict[str, Any]:
        """Return the finding as a JSON object; in it an object stays an object, and a sentence is a text."""
        result: object = self.object
        with suppress(ValueError):
            result = json.loads(self.object)
        return {
            "ok": self.ok,
            "object": result,
            "view": self.view.body() if self.view else None,
            "notices": self.notices,
            "question": self.question.body() if self.question else None,
            "aliases": self.aliases,
            "ms": self.ms,
        }


async def tried(trial: Trial, speakers: Speakers, settings: Settings) -> Finding:
    """Run a tool on the configured database, in the name of a user; its writes stay.

    Raises:
        ConfigError: a setting is wrong.
    """
    user = trial.user
    async with open_parts(settings, remote=False, speakers=speakers) as parts, parts.memory.locks.hold(user):
        graph = StateGraph(State, context_schema=Context)
        graph.add_node("tools", ToolCalls(trial.speaker, speakers, tool_searches(speakers).get(trial.speaker.name)))
        graph.add_edge(START, "tools")
        events: list[Event] = []
        zone = (await Preferences.of(parts.memory.store, user)).zone
        context = replace(parts.context(user, user, zone, TERMINAL), sink=events.append)
        state = await _state(trial, parts.memory)
        values = await graph.compile(store=parts.memory.store).ainvoke(state, context=context)
    return _finding(events, cast(State, values))


async def _state(trial: Trial, memory: Memory) -> State:
    """Return a conversation in which the tool has just been called; numbers stand for identifiers."""
    aliases, speaker, id = Aliases(), trial.speaker.name, uuid.uuid4().hex
    args = cast(Json, aliases.hide(trial.args, parameters(trial.tool)))
    call = ToolCall(name=trial.tool.name, args=args, id=id, type="tool_call")
    stored = await memory.store.aget(namespace_of(trial.user, "forms"), speaker)
    form = dict(stored.value) if stored else {}
    # A trial counts as the user's yes.
    about = {"kind": "", "prompt": "", "options": []}
    agreed = cast(Pending, {"call": id, "speaker": speaker, "tool": trial.tool.name, "args": args, **about})
    return {
        "lang": trial.lang,
        "heard": {"id": id, "text": None, "source": COMMAND},
        "aliases": aliases.by_kind,
        "agreed": agreed,
        "talks": {speaker: {"messages": [AIMessage("", tool_calls=[call])], "form": form}},
    }


def _finding(events: list[Event], state: State) -> Finding:
    finding = Finding(aliases=state.get("aliases", {}))
    for waiting in state.get("views", []):
        finding.view = read_view(waiting["body"])
    for event in events:
        match event:
            case ToolEnd():
                finding.ok, finding.object, finding.ms = event.ok, event.object, event.ms
            case Notice():
                finding.notices.append(event.message)
            case Interrupt():
                finding.question = event
    return finding


def typed(pairs: Sequence[str], tool: BaseTool) -> dict[str, object]:
    """Return the arguments of these pairs: texts as they are, other values from JSON.

    Raises:
        UsageError: a pair has no equals sign, names no parameter of the tool, or breaks the tool's schema.
    """
    schema = parameters(tool)
    fields = schema.get("properties", {})
    args: dict[str, object] = {}
    for pair in pairs:
        name, separator, raw = pair.partition("=")
        if not separator or name in args:
            raise UsageError(f"write each argument once, as name=value; found {pair!r}")
        if name not in fields:
            raise UsageError(f"{tool.name} takes no {name!r}; it takes: {', '.join(fields) or 'nothing'}")
        args[name] = argument(raw, fields[name], schema, name)
    _check(tool, args, schema)
    return args


def _check(tool: BaseTool, args: Mapping[str, object], schema: Schema) -> None:
    """Check the arguments against the schema; the tool itself refuses violations of a mere JSON schema."""
    if missing := [name for name in schema.get("required", ()) if name not in args]:
        raise UsageError(f"{tool.name} needs {', '.join(missing)}")
    model = tool.tool_call_schema
    if isinstance(model, type) and issubclass(model, BaseModel):
        try:
            model.model_validate(args)
        except ValidationError as wrong:
            problems = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in wrong.errors())
            raise UsageError("; ".join(problems)) from None
