"""A tool call while it runs: its tool, its state, its outcome, and the calls before it in the turn."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.errors import ParentCommand
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from agents.events import ToolStart
from agents.state.message_notes import notes_of
from agents.state.speaker_state import Json
from agents.toolkit.argument_forms import passed
from agents.toolkit.context import Runtime, ToolState
from agents.toolkit.result import Refused, ToolResult
from agents.toolkit.tool_code import handed_off
from agents.toolkit.tool_search import meant
from agents.toolkit.traits import traits_of
from prompts import phrase

ToolReply = ToolMessage | Command[str]
TRIES = 3
"""The number of refusals in the same words, for other arguments, that end the calls of a tool."""
Execute = Callable[[ToolCallRequest], Awaitable[ToolReply]]
AroundToolCall = Callable[[ToolCallRequest, Execute], Awaitable[ToolReply]]
"""A function of LangChain's own form (`wrap_tool_call`): it runs a call, or answers itself."""


def started(speaker: str, call: ToolCall) -> ToolStart:
    """Return the event that announces a call."""
    return ToolStart(speaker=speaker, tool=call["name"], args=call["args"], id=call["id"] or "")


@dataclass(frozen=True)
class CallOutcome:
    """The outcome of a call: the message for the model, and the keys of the state that a `Command` changes."""

    message: ToolMessage
    update: Json = field(default_factory=dict)

    @property
    def result(self) -> ToolResult:
        """The parts of the result; an empty result if the tool gave text alone."""
        return self.message.artifact if isinstance(self.message.artifact, ToolResult) else ToolResult()

    @property
    def is_done(self) -> bool:
        """Whether the tool has done its work: it neither failed nor waits for the user."""
        return self.message.status != "error" and self.result.question is None

    def reply(self) -> ToolReply:
        """Return the outcome as a tool node takes it."""
        return Command(update={**self.update, "messages": [self.message]}) if self.update else self.message


def message_of(reply: ToolReply) -> ToolMessage:
    """Return the message for the model; it is the only one in a reply of `CallOutcome`."""
    message: ToolMessage = cast(Json, reply.update)["messages"][0] if isinstance(reply, Command) else reply
    return message


class RunningCall:
    """A call of an existing tool. `raw` is the call as LangChain has it, `state` the conversation for the tool."""

    def __init__(self, request: ToolCallRequest, execute: Execute) -> None:
        self.request, self.tool, self.execute = request, cast(BaseTool, request.tool), execute
        self.raw, self.traits = request.tool_call, traits_of(self.tool)
        self.runtime, self.state = cast(Runtime, request.runtime), cast(ToolState, request.state)
        self.context, self.lang = self.runtime.context, self.state["lang"]

    @cached_property
    def accepted(self) -> Json | None:
        """The checked arguments as plain data; None if they are invalid, which the tool reports when it is run."""
        schema = self.tool.tool_call_schema
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            return self.raw["args"]
        try:
            return schema.model_validate(self.raw["args"]).model_dump(mode="json", warnings=False, fallback=str)
        except ValidationError:
            return None

    async def run(self) -> CallOutcome:
        """Run the tool itself; a handoff of another library becomes the name of the next speaker."""
        request = self.request
        if isinstance(self.tool.args_schema, dict):
            request = request.override(tool_call={**self.raw, "args": passed(self.raw["args"])})
        try:
            answer = await self.execute(request)
        except ParentCommand as gone:
            return CallOutcome(handed_off(gone.args[0], self.raw))
        if isinstance(answer, Command) and (answer.goto or answer.graph):
            return CallOutcome(handed_off(answer, self.raw))
        update = dict(answer.update or {}) if isinstance(answer, Command) else {"messages": [answer]}
        messages = (each for each in update.pop("messages") if isinstance(each, ToolMessage))
        [message] = [each for each in messages if each.tool_call_id == self.raw["id"]]
        return CallOutcome(message, update)


def refuse_repeated(call: RunningCall, tools: Mapping[str, BaseTool]) -> None:
    """Refuse a call that was made in this turn already: a model that goes in a circle makes the same one again.

    A done write runs once, and again after the same tool has done another write, which may have reverted it. A read
    of our own data runs once until the next write. A read of the world outside (`volatile`), a question to the user,
    and a call that failed may answer otherwise the next time: they run `limits.same_calls` times. Raises Refused.
    """
    traits, same = call.traits, _signature(call.raw)
    done = failed = 0
    for earlier, answer in _before(call):
        if _signature(earlier) == same:
            done, failed = (done, failed + 1) if answer is not None and answer.status == "error" else (done + 1, failed)
        elif (traits.effect == "read" or earlier["name"] == call.tool.name) and _wrote(earlier, answer, tools):
            done = failed = 0
    # The user may choose another thing each time.
    once = traits.kind == "general" and not (traits.effect == "read" and traits.volatile)
    if (once and done > 0) or done + failed >= call.context.limits.same_calls:
        raise Refused(phrase("tool_repeated", call.lang, tool=call.tool.name))


def goes_in_circles(talk: Sequence[AnyMessage], heard: str) -> bool:
    """Tell whether a call of the last reply was refused like an earlier one, with no success in between.

    A refusal is the same if the tool and the words are the same. The same refusal of other arguments may be news, such
    as "no such customer": it counts at its third time. A call that was run and failed does not count:
    `refuse_repeated` counts it. Refusals of one reply count once, and one with help beside it gets another
    try. `heard` is the id of the user's message.
    """
    calls: dict[str | None, ToolCall] = {}
    replies: list[dict[tuple[str, str], str]] = [{}]
    """The refusals of each reply: the tool and the words, and the call if the tool itself refused it."""
    rescued: set[tuple[str, str]] = set()
    for message in this_turn(talk, heard):
        if isinstance(message, AIMessage):
            calls |= {call["id"]: call for call in message.tool_calls}
            replies.append({})
            rescued.clear()
        elif not isinstance(message, ToolMessage) or message.status != "error":
            replies = [{}]
        elif (trouble := notes_of(message).get("trouble")) != "failed":
            refusal = message.name or "", message.text.partition("\n")[0]
            call = calls.get(message.tool_call_id)
            replies[-1][refusal] = _signature(call) if call and trouble == "refused" else ""
            if "rescued" in notes_of(message):
                rescued.add(refusal)
    *earlier, last = replies
    for refusal, refused in last.items():
        alike = [reply[refusal] for reply in earlier if refusal in reply]
        if refusal not in rescued and (refused in alike or len(alike) >= TRIES - 1):
            return True
    return False


def this_turn(talk: Sequence[AnyMessage], heard: str) -> list[AnyMessage]:
    """Return the replies with calls, and the results, since the user or the speaker last said something.

    `heard` is the id of the user's message.
    """

    def is_working(message: AnyMessage) -> bool:
        if message.id == heard:
            # The user's message may be the result of a tool that asked for it.
            return False
        return isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(message.tool_calls))

    return [*takewhile(is_working, reversed(talk))][::-1]


def _before(call: RunningCall) -> list[tuple[ToolCall, ToolMessage | None]]:
    """Return the calls of the turn before this one, each with its result.

    A failed call of the same reply has none: the model has not repeated it.
    """
    talk = call.state.get("talk", ())
    begun = len(talk) - len(this_turn(talk, call.state["heard"]["id"]))
    requests = [place for place, message in enumerate(talk) if call.raw["id"] in _ids(message)]
    messages = talk[min([begun, *requests]) :]
    own = _ids(talk[requests[-1]]) if requests else []
    results = [message for message in messages if isinstance(message, ToolMessage)]
    answers = {
        result.tool_call_id: result for result in results if result.tool_call_id not in own or result.status != "error"
    }
    calls = [entry for message in messages if isinstance(message, AIMessage) for entry in message.tool_calls]
    places = [place for place, entry in enumerate(calls) if entry["id"] == call.raw["id"]]
    earlier = calls[: places[-1]] if places else calls
    return [(meant(entry), answers.get(entry["id"] or "")) for entry in earlier]


def _ids(message: AnyMessage) -> list[str | None]:
    """Return the ids of the calls that a message makes."""
    return [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []


def _wrote(call: ToolCall, answer: ToolMessage | None, tools: Mapping[str, BaseTool]) -> bool:
    is_done = answer is not None and answer.status != "error"
    return is_done and call["name"] in tools and traits_of(tools[call["name"]]).effect == "write"


def _signature(call: ToolCall) -> str:
    return json.dumps([call["name"], call["args"]], sort_keys=True, default=str)
