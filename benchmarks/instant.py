"""The model that every contestant gets: it answers at once, and plays its part in many threads at the same time."""

import json
import uuid
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.models import Model, Models
from agents.models.script import Asked, Call, Line, ScriptModel
from benchmarks.conversation import Step, script
from benchmarks.performing import Player

_STEP: ContextVar[Step] = ContextVar("step", default=script()[0])


class Troupe(Player):
    """A player for many threads at once: the step is that of the task which asks."""

    in_words = False
    """Whether answers come word by word, as a provider streams them, or in one piece."""

    @property
    def step(self) -> Step:
        """The step that this task plays."""
        return _STEP.get()

    @step.setter
    def step(self, step: Step) -> None:
        _STEP.set(step)

    def part(self, role: str) -> "Instant":
        """Return the model of a role."""
        return Instant(role=role, script=self)

    def models(self, roles: Sequence[str]) -> Models:
        """Return the models of some roles, as the application takes them."""
        parts = {role: Model(f"script:{role}", self.part(role)) for role in roles}
        return Models(default=parts[roles[0]], roles=parts)

    def spoken(self, messages: Sequence[BaseMessage]) -> Line:
        """Return what the right specialist says: the lookup if one is due, else the answer."""
        looked_up = isinstance(messages[-1], ToolMessage) and messages[-1].name == "lookup"
        exchange = self.step.exchange
        return Call("lookup", {"query": exchange.query}) if exchange.query and not looked_up else exchange.answer


class Instant(ScriptModel):
    """A role of a troupe; unlike other scripts it can be asked for a whole message, and takes tools as they are."""

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Remember the tools, for the record; what they are is worked out when it is asked for."""
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
            return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls))])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(str(line)))])

    def _chunks(self, parts: Sequence[str | Call]) -> Iterator[AIMessageChunk]:
        if isinstance(self.script, Troupe) and self.script.in_words and isinstance(parts[0], str):
            yield from super()._chunks(parts)
            return
        for place, part in enumerate(parts):
            if isinstance(part, str):
                yield AIMessageChunk(content=part)
            else:
                # Not numbered: the calls that are counted are cleared away, and a history must not repeat an id.
                chunk = tool_call_chunk(name=part.tool, args=json.dumps(part.args), id=uuid.uuid4().hex, index=place)
                yield AIMessageChunk(content="", tool_call_chunks=[chunk])
        yield AIMessageChunk(content="", response_metadata={"finish_reason": "stop"})


def plain(call: Asked) -> Asked:
    """Return the record of a call with its tools as a provider gets them."""
    return Asked(call.role, call.messages, [convert_to_openai_tool(tool) for tool in call.tools])
