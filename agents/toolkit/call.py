"""A tool call on its way: the tool, what the call may know, and what it came to."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypedDict, cast

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.errors import ParentCommand
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from agents.state.talk import Json
from agents.toolkit.context import Context, ToolState
from agents.toolkit.interrupts import handed_off
from agents.toolkit.result import ToolResult
from agents.toolkit.runtime import Runtime
from agents.toolkit.traits import Traits, traits_of

ToolReply = ToolMessage | Command[str]
Execute = Callable[[ToolCallRequest], Awaitable[ToolReply]]


class CallFacts(TypedDict):
    """What the events of a tool call have in common."""

    speaker: str
    tool: str
    args: Json
    id: str


def call_facts(speaker: str, call: ToolCall) -> CallFacts:
    """Return what the events of a call have in common."""
    return {"speaker": speaker, "tool": call["name"], "args": call["args"], "id": call["id"] or ""}


@dataclass(frozen=True)
class Outcome:
    """What a call came to: the message for the model, and the keys of the state that a `Command` changes."""

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


@dataclass(frozen=True)
class Call:
    """A call of a tool that exists."""

    request: ToolCallRequest
    tool: BaseTool
    execute: Execute = field(repr=False)

    @property
    def raw(self) -> ToolCall:
        """The call as LangChain has it."""
        return self.request.tool_call

    @property
    def state(self) -> ToolState:
        """What the tool sees of the conversation."""
        return cast(ToolState, self.request.state)

    @property
    def lang(self) -> str:
        """The language of the turn."""
        return self.state["lang"]

    @property
    def runtime(self) -> Runtime:
        """What the tool is given beside its arguments."""
        return cast(Runtime, self.request.runtime)

    @property
    def context(self) -> Context:
        """The trusted values of the turn."""
        return self.runtime.context

    @cached_property
    def traits(self) -> Traits:
        """How the tool may be used."""
        return traits_of(self.tool)

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

    def with_args(self, args: Json) -> "Call":
        """Return the call with other arguments."""
        return Call(self.request.override(tool_call={**self.raw, "args": args}), self.tool, self.execute)

    async def run(self) -> Outcome:
        """Run the tool itself; a hand-off of another library becomes the name of who leads next."""
        try:
            answer = await self.execute(self.request)
        except ParentCommand as passed:
            return Outcome(handed_off(passed.args[0], self.raw))
        if isinstance(answer, Command) and (answer.goto or answer.graph):
            return Outcome(handed_off(answer, self.raw))
        update = dict(answer.update or {}) if isinstance(answer, Command) else {"messages": [answer]}
        messages = (each for each in update.pop("messages") if isinstance(each, ToolMessage))
        [message] = [each for each in messages if each.tool_call_id == self.raw["id"]]
        return Outcome(message, update)
