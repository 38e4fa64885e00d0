"""The model calls and tool calls inside an agent graph, as events of its dialog."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from agents.errors import ModelUnavailable
from agents.events import Event, ModelEnd, ModelStart, ToolStart
from agents.state.limits import Limits
from agents.toolkit.context import TurnUsage

UNNAMED = "model"
"""The name in events of a model that does not say its own."""


class UsedUp(GraphBubbleUp):
    """The turn has used up its model calls; nodes do not retry this, and tool nodes pass it on."""


class Reports(BaseCallbackHandler):
    """Sends events of model calls with their tokens, and of tool calls; also of those in graphs within the graph."""

    run_inline = True

    def __init__(self, speaker: str, emit: Callable[[Event], None], spent: TurnUsage, limits: Limits) -> None:
        # The turn counts calls by events, which come later; this run's calls are counted here.
        self._spent, self._limits, self._left = spent, limits, spent.leaves(limits)
        self.refused: list[UUID] = []
        """The model calls beyond the turn's limit."""
        # Code of the graph may run in a thread; events are sent from our loop, in the context of our graph.
        loop, here = asyncio.get_running_loop(), copy_context()
        self._speaker = speaker

        def send(event: Event) -> None:
            # The limits of the day keep a graph from beginning; they do not stop one that runs.
            with suppress(ModelUnavailable):
                emit(event)

        self._emit: Callable[[Event], object] = lambda event: loop.call_soon_threadsafe(send, event, context=here)
        self._models: dict[UUID, tuple[ModelStart, float]] = {}
        self._tools: dict[UUID, tuple[ToolStart, float]] = {}
        self.done: list[ToolStart] = []
        """The tool calls that have succeeded, without handoffs."""
        self.passed_on: Command[Any] | None = None
        """The command that the last handoff tool has returned."""

    def on_chat_model_start(
        self, serialized: Mapping[str, Any], messages: Sequence[Sequence[BaseMessage]], *, run_id: UUID, **more: Any
    ) -> None:
        """Send the start of a model call, or refuse a call beyond the turn's limit."""
        self._left -= 1
        if self._left < 0 or (self._limits.turn_tokens and not self._spent.leaves(self._limits)):
            self.refused.append(run_id)
            return
        name = (more.get("metadata") or {}).get("ls_model_name") or UNNAMED
        start = ModelStart(speaker=self._speaker, model=str(name))
        self._models[run_id] = start, time.perf_counter()
        self._emit(start)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """Send the end of a model call, with its usage."""
        made = [generation for row in response.generations for generation in row]
        chats = [generation.message for generation in made if isinstance(generation, ChatGeneration)]
        usage = [getattr(message, "usage_metadata", None) or {} for message in chats]
        self._end_model(run_id, usage, ok=True)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Send the failure of a model call."""
        self._end_model(run_id, (), ok=False)

    def on_tool_start(self, serialized: Mapping[str, Any], input_str: str, *, run_id: UUID, **more: Any) -> None:
        """Send the start of a tool call."""
        id, args = str(more.get("tool_call_id") or run_id), more.get("inputs") or {"input": input_str}
        shown = {name: value if isinstance(value, PLAIN) else str(value) for name, value in args.items()}
        start = ToolStart(speaker=self._speaker, tool=str(serialized.get("name", "")), args=shown, id=id)
        self._tools[run_id] = start, time.perf_counter()
        self._emit(start)

    def on_tool_end(self, output: object, *, run_id: UUID, **_: Any) -> None:
        """Send the result of a tool call."""
        if passes_on := isinstance(output, Command) and output.graph == Command.PARENT:
            self.passed_on = output
        result = _message_in(output) if isinstance(output, Command) else output
        text = result.text if isinstance(result, BaseMessage) else str(result)
        is_error = isinstance(result, ToolMessage) and result.status == "error"
        self._end_tool(run_id, text, ok=not is_error, passes_on=passes_on)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Send the failure of a tool call; an interrupt or a handoff is no failure."""
        if not isinstance(error, GraphBubbleUp):
            self._end_tool(run_id, f"{type(error).__name__}: {error}", ok=False)

    def _end_model(self, run_id: UUID, usage: Sequence[Mapping[str, Any]], *, ok: bool) -> None:
        if run_id not in self._models:
            return
        start, begun = self._models.pop(run_id)
        end = ModelEnd(
            speaker=start.speaker,
            model=start.model,
            input_tokens=sum(call.get("input_tokens", 0) for call in usage),
            output_tokens=sum(call.get("output_tokens", 0) for call in usage),
            cached_tokens=sum((call.get("input_token_details") or {}).get("cache_read", 0) for call in usage),
            ms=_since(begun),
            ok=ok,
        )
        self._emit(end)

    def _end_tool(self, run_id: UUID, text: str, *, ok: bool, passes_on: bool = False) -> None:
        if run_id not in self._tools:
            return
        start, begun = self._tools.pop(run_id)
        if ok and not passes_on:
            self.done.append(start)
        self._emit(start.ended(ok=ok, object=text, ms=_since(begun)))


class Bound(BaseCallbackHandler):
    """Stops model calls beyond the turn's limit; `Reports` counts them, and is called first."""

    raise_error = True

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def on_chat_model_start(self, *_: object, run_id: UUID, **__: object) -> None:
        """Raise UsedUp if the call was refused."""
        if run_id in self._reports.refused:
            raise UsedUp


def _message_in(command: Command[Any]) -> object:
    """Return the message for the model in a tool's command; without one, the name of the command's next node."""
    messages = command.update.get("messages") if isinstance(command.update, dict) else None
    return messages[-1] if isinstance(messages, list) and messages else f"-> {command.goto}"


PLAIN = (str, int, float, bool, list, dict, type(None))


def _since(begun: float) -> int:
    return round((time.perf_counter() - begun) * 1000)
