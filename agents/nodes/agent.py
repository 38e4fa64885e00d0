"""Ask an agent graph (LangChain's `create_agent`, or any graph over `messages`) for a dialog's answer."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import Runnable
from langgraph.errors import ParentCommand
from langgraph.types import Command

from agents.errors import ContractError, ModelUnavailable
from agents.events import Event, ToolEnd, ToolStart
from agents.models.failures import diagnose, is_models
from agents.models.message_order import in_order
from agents.models.thinking import ThinkingFilter, without_thinking
from agents.state import SUPERVISOR
from agents.toolkit.call import CallFacts, call_facts
from agents.toolkit.handover_tools import HAND_BACK
from agents.toolkit.interrupts import handed_off

INTERRUPTED = "__interrupt__"
"""Where a graph's values tell that it waits for a person."""


@dataclass
class AgentCall:
    """One call of an agent: its tokens and tool calls become events of the dialog."""

    speaker: str
    emit: Callable[[Event], None]
    hear: Callable[[str], None]
    notes: Mapping[str, object] = field(default_factory=dict)
    """The notes of the role: how messages are given to the agent."""
    _calls: dict[str, CallFacts] = field(default_factory=dict)
    _texts: dict[str | None, ThinkingFilter] = field(default_factory=dict)
    _here: Context = field(default_factory=Context)
    """The context of our graph, in which events are sent."""

    async def __call__(self, agent: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        """Return the agent's answer: the text of its last message.

        The agent runs in a context of its own: in ours it would take itself for a part of our graph, and keep
        checkpoints of its own among ours.

        A hand-off to a graph around the agent gives the conversation back, with the user's message as the wish.

        Raises:
            ModelUnavailable: the provider of the agent's model failed.
            ContractError: the agent waits for a person, which no dialog can do.
        """
        self._here = copy_context()
        task = asyncio.create_task(self._run(agent, messages), context=Context())
        try:
            return await task
        except ParentCommand as passed:
            return _hand_back(passed.args[0], messages)
        except Exception as failure:
            if not is_models(failure):
                raise
            raise ModelUnavailable(diagnose(failure), f"agent of {self.speaker}") from failure
        finally:
            task.cancel()

    async def _run(self, agent: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        # The agent has a role of its own, and our notes are none of its business.
        heard = [message for message in messages if message.type != "system"]
        _, *history = in_order([SystemMessage("", additional_kwargs={**self.notes}), *heard])
        answer, message_count = AIMessage(""), len(history)
        async for part in agent.astream({"messages": history}, stream_mode=["messages", "values"]):
            mode, what = cast(tuple[str, Any], part)
            if mode == "values" and INTERRUPTED in what:
                raise ContractError(
                    f"the agent of {self.speaker} interrupts itself, and cannot go on: its state is kept nowhere; "
                    "let a tool of a dialog ask instead (docs/langgraph-agents.md)"
                )
            if mode == "messages":
                piece = what[0]
                if isinstance(piece, AIMessage) and piece.text:
                    self._hear(self._texts.setdefault(piece.id, ThinkingFilter()).feed(piece.text))
                continue
            for text in self._texts.values():
                self._hear(text.rest())
            self._texts.clear()
            for message in what["messages"][message_count:]:
                self._tell(message)
            message_count = len(what["messages"])
            answer = AIMessage(without_thinking(what["messages"][-1].text))
        return answer

    def _hear(self, text: str) -> None:
        if text:
            self._here.run(self.hear, text)

    def _tell(self, message: BaseMessage) -> None:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                facts = call_facts(self.speaker, call)
                self._calls[facts["id"]] = facts
                self._here.run(self.emit, ToolStart(**facts))
        elif isinstance(message, ToolMessage) and message.tool_call_id in self._calls:
            facts = self._calls[message.tool_call_id]
            ok = message.status != "error"
            self._here.run(self.emit, ToolEnd(**facts, ok=ok, object=message.text))


def _hand_back(command: Command[Any], messages: Sequence[AnyMessage]) -> AIMessage:
    goto = handed_off(command, ToolCall(name=HAND_BACK, args={}, id="", type="tool_call")).artifact.goto
    text = next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")
    wish = text if goto == SUPERVISOR else f"{goto}: {text}"
    call_id = hashlib.sha256(f"{len(messages)} {wish}".encode()).hexdigest()[:9]
    return AIMessage("", tool_calls=[ToolCall(name=HAND_BACK, args={"wish": wish}, id=call_id, type="tool_call")])
