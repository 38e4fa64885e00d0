"""A model that plays a script: one queue of replies per role. It refuses to improvise.

For tests and demonstrations. It streams as a real model does, and counts what it was asked.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import ConfigDict, Field

from agents.models import Model, Models


class ScriptOver(AssertionError):
    """A role was asked to speak and its queue is empty."""


@dataclass(frozen=True)
class Call:
    """A tool call in a script."""

    tool: str
    args: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """One call of a model: by whom, with which messages and tools."""

    role: str
    messages: list[BaseMessage]
    tools: list[dict[str, Any]]

    @property
    def characters(self) -> int:
        """Return the size of the prompt: texts, tool-call arguments and tool schemas."""
        return len(self.prefix)

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
    """Whether the models see pictures."""

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
        """Take the next line of a role.

        Raises:
            ScriptOver: there is none.
        """
        if not self.queues.get(role):
            heard = next((m.text for m in reversed(messages) if m.type == "human"), "nothing")
            raise ScriptOver(f"{role} was asked to speak but its script is over; it heard {heard!r}")
        return self.queues[role].pop(0)


class ScriptModel(BaseChatModel):
    """One role of a script, as a chat model."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    role: str
    script: Script = Field(repr=False)
    tools: list[dict[str, Any]] = Field(default_factory=list, repr=False)

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Remember the tools, for the record."""
        return self.model_copy(update={"tools": list(tools)})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise TypeError("a script is only streamed")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.script.asked.append(Asked(self.role, messages, self.tools))
        line = self.script.next_line(self.role, messages)
        if delay := self.script.delays.get(self.role):
            await asyncio.sleep(delay)
        if isinstance(line, Exception):
            raise line
        for chunk in self._chunks([line] if isinstance(line, str | Call) else line):
            yield ChatGenerationChunk(message=chunk)
            if gate := self.script.gates.get(self.role):
                await gate.wait()

    def _chunks(self, parts: Sequence[str | Call]) -> Iterator[AIMessageChunk]:
        number = len(self.script.asked)
        for place, part in enumerate(parts):
            if isinstance(part, str):
                for word in re.findall(r"\s*\S+|\s+$", part):
                    yield AIMessageChunk(content=word)
            else:
                call = tool_call_chunk(
                    name=part.tool, args=json.dumps(part.args), id=f"call-{number}-{place}", index=place
                )
                yield AIMessageChunk(content="", tool_call_chunks=[call])
        yield AIMessageChunk(content="", response_metadata={"finish_reason": "stop"})
