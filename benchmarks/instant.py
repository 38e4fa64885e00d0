"""The model that every contestant gets: it answers at once, and plays its part in many threads at the same time."""

import uuid
from collections.abc import Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from agents.models import Model, Models
from app.testing.script import Asked, Call, Line, ScriptModel
from benchmarks.conversation import Step, script
from benchmarks.performing import Player

_STEP: ContextVar[Step] = ContextVar("step", default=script()[0])


class Troupe(Player):
    """A player for many threads at once: each task has a step of its own."""

    in_words = False
    """Whether answers come word by word, as from a provider, or in one piece."""
    slots: int | None = None
    """The number of prompts that the models' server keeps, as the application's setting says it."""

    @cached_property
    def replies(self) -> list[AIMessage]:
        """The models' replies, one for each recorded call."""
        return []

    @property
    def step(self) -> Step:
        """The step of the current task."""
        return _STEP.get()

    @step.setter
    def step(self, step: Step) -> None:
        _STEP.set(step)

    def part(self, role: str) -> "Instant":
        """Return the model of a role."""
        return Instant(role=role, script=self)

    def models(self, roles: Sequence[str]) -> Models:
        """Return the models of some roles, in the application's form."""
        habits = {"slots": float(self.slots)} if self.slots else {}
        parts = {role: Model("script", self.part(role), habits=habits) for role in roles}
        return Models(default=parts[roles[0]], roles=parts)

    def spoken(self, messages: Sequence[BaseMessage]) -> Line:
        """Return the right specialist's line: the lookup if one is due, else the answer."""
        looked_up = isinstance(messages[-1], ToolMessage) and messages[-1].name == "lookup"
        exchange = self.step.exchange
        return Call("lookup", {"query": exchange.query}) if exchange.query and not looked_up else exchange.answer


class Instant(ScriptModel):
    """A role of a troupe; unlike other scripts it also answers with a whole message, and takes tools unchanged."""

    tools: Any = Field(default=(), repr=False)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """Remember the tools for the record; `plain` converts them on demand."""
        return self.model_copy(update={"tools": tools})

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.script.asked.append(Asked(self.role, messages, self.tools))
        line = self.script.next_line(self.role, messages)
        if isinstance(line, Call):
            calls = [tool_call(name=line.tool, args=dict(line.args), id=uuid.uuid4().hex)]
            return ChatResult(generations=[ChatGeneration(message=self._replied(AIMessage("", tool_calls=calls)))])
        return ChatResult(generations=[ChatGeneration(message=self._replied(AIMessage(str(line))))])

    def _replied(self, message: AIMessage) -> AIMessage:
        if isinstance(self.script, Troupe):
            self.script.replies.append(message)
        return message

    async def answer_in_time(self, messages: list[BaseMessage], tools: Sequence[Any]) -> AIMessage:
        """Return the next line, and record the call with its bound tools."""
        return self._replied(await super().answer_in_time(messages, self.tools))

    def message(self, parts: Sequence[str | Call]) -> AIMessage:
        """Return a line as a message with ids of its own: the cleared record would number its calls alike again."""
        message = super().message(parts)
        calls = [{**call, "id": uuid.uuid4().hex} for call in message.tool_calls]
        return message.model_copy(update={"tool_calls": calls})

    def pieces(self, text: str) -> Sequence[str]:
        """Return a text in one piece, unless the troupe speaks word by word."""
        in_words = isinstance(self.script, Troupe) and self.script.in_words
        return super().pieces(text) if in_words else [text] if text else []


def plain(call: Asked) -> Asked:
    """Return the record of a call with its tools in a provider's form."""
    return Asked(call.role, call.messages, [convert_to_openai_tool(tool) for tool in call.tools])
