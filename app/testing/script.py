"""A model that plays a script: one queue of replies per role, and no other replies.

For tests and demonstrations. It streams as a real model does, and keeps its calls.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from pydantic import ConfigDict, Field

from agents.models import Model, Models, ToolSchema
from agents.models.local_chat import LocalChat
from agents.state.message_notes import notes


class ScriptOver(AssertionError):
    """A role was asked to speak and its queue is empty."""


@dataclass(frozen=True)
class Call:
    """A tool call in a script."""

    tool: str
    args: Mapping[str, object] = field(default_factory=dict)


class Unsure(Call):
    """A tool call of which its model is not sure: the user is asked before it writes."""


@dataclass(frozen=True)
class Asked:
    """One model call: its role, its messages and its tools."""

    role: str
    messages: list[BaseMessage]
    tools: list[ToolSchema]

    @property
    def prefix(self) -> str:
        """Return the prompt as one text, in the order a provider reads it."""
        parts = [json.dumps(self.tools, ensure_ascii=False)] if self.tools else []
        for message in self.messages:
            calls = message.tool_calls if isinstance(message, AIMessage) else []
            parts.append(message.text + "".join(json.dumps(call["args"], ensure_ascii=False) for call in calls))
        return "".join(parts)


Line = str | Call | Exception | Sequence["str | Call"]


@dataclass
class Script:
    """The replies of every role, in order; a reply is a text, a call, both, or an error to raise.

    `delays` are seconds to the first token, by role; a role in `gates` waits for that event after each piece.
    """

    queues: dict[str, list[Line]] = field(default_factory=dict)
    delays: dict[str, float] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    sees: bool = False

    def add(self, **lines: Sequence[Line]) -> None:
        """Append lines to the roles' queues."""
        for role, queue in lines.items():
            self.queues.setdefault(role, []).extend(queue)

    def models(self, roles: Sequence[str]) -> Models:
        """Return models that speak this script."""
        parts = {role: Model(f"script:{role}", ScriptModel(role=role, script=self), images=self.sees) for role in roles}
        return Models(default=parts[roles[0]], roles=parts)

    def left(self) -> dict[str, list[Line]]:
        """Return the lines never spoken."""
        return {role: lines for role, lines in self.queues.items() if lines}

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Take the next line of a role. Raises ScriptOver: there is none."""
        if not self.queues.get(role):
            heard = next((m.text for m in reversed(messages) if m.type == "human"), "nothing")
            raise ScriptOver(f"{role} was asked to speak but its script is over; it heard {heard!r}")
        return self.queues[role].pop(0)


class ScriptModel(LocalChat):
    """One role of a script, as a chat model."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    role: str
    script: Script = Field(repr=False)

    async def answer_in_time(self, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return the next line of the role, after the delay of its first token."""
        self.script.asked.append(Asked(self.role, messages, [*tools]))
        line = self.script.next_line(self.role, messages)
        if delay := self.script.delays.get(self.role):
            await asyncio.sleep(delay)
        if isinstance(line, Exception):
            raise line
        return self.message([line] if isinstance(line, str | Call) else line)

    def message(self, parts: Sequence[str | Call]) -> AIMessage:
        """Return a line as a message; its calls are numbered, so that each has an id of its own."""
        number, calls = len(self.script.asked), [part for part in parts if isinstance(part, Call)]
        return AIMessage(
            "".join(part for part in parts if isinstance(part, str)),
            tool_calls=[
                tool_call(name=call.tool, args=dict(call.args), id=f"call-{number}-{place}")
                for place, call in enumerate(calls)
            ],
            additional_kwargs=notes(unsure=True) if any(isinstance(call, Unsure) for call in calls) else {},
            response_metadata={"finish_reason": "stop"},
        )

    async def pause(self) -> None:
        """Wait for the role's gate, if it has one."""
        if gate := self.script.gates.get(self.role):
            await gate.wait()
