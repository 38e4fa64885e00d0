"""Ask an agent graph (LangChain's `create_agent`, or any graph over `messages`) for a dialog's answer."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import Runnable
from langgraph.errors import ParentCommand
from langgraph.types import Command

from agents.errors import ContractError, GarbledReply, ModelUnavailable
from agents.events import Event, ToolStart
from agents.models.answer import AnswerText, answer_in
from agents.models.failures import diagnose, is_models
from agents.models.message_order import in_order
from agents.models.text_calls import Offer
from agents.state import SUPERVISOR
from agents.toolkit.call import started
from agents.toolkit.handover_tools import HAND_BACK
from agents.toolkit.tool_code import handed_off

INTERRUPTED = "__interrupt__"
"""Where a graph's values tell that it waits for a person."""


class AgentCall:
    """One call of an agent: its tokens and tool calls become events of the dialog.

    `notes` are those of the role: how messages are given to the agent.
    """

    def __init__(
        self, speaker: str, emit: Callable[[Event], None], hear: Callable[[str], None], notes: Mapping[str, object]
    ) -> None:
        self.speaker, self.notes = speaker, notes
        # Events are sent in the context of our graph.
        here = copy_context()
        self.emit: Callable[[Event], None] = lambda event: here.run(emit, event)
        self.hear: Callable[[str], None] = lambda text: here.run(hear, text)
        self._calls: dict[str, ToolStart] = {}
        self._texts: dict[str | None, AnswerText] = {}

    async def __call__(self, agent: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        """Return the agent's answer: the text of its last message.

        The agent runs in a context of its own: in ours it would take itself for a part of our graph, and keep
        checkpoints of its own among ours.

        A hand-off to a graph around the agent gives the conversation back, with the user's message as the wish.

        Raises:
            ModelUnavailable: the provider of the agent's model failed.
            ContractError: the agent waits for a person, which no dialog can do.
        """
        task = asyncio.create_task(self._run(agent, messages), context=Context())
        try:
            return await task
        except ParentCommand as passed:
            return _hand_back(passed.args[0], messages)
        except GarbledReply as garbled:
            raise ModelUnavailable("garbled", f"agent of {self.speaker}", str(garbled)) from None
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
        read = Offer((), "\n".join(message.text for message in heard))
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
                    self.hear(self._texts.setdefault(piece.id, AnswerText(offer=read)).feed(piece.text))
                continue
            for text in self._texts.values():
                self.hear(text.rest())
            self._texts.clear()
            for message in what["messages"][message_count:]:
                self._tell(message)
            message_count = len(what["messages"])
            answer = AIMessage(answer_in(what["messages"][-1].text, read))
        return answer

    def _tell(self, message: BaseMessage) -> None:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                start = self._calls[call["id"] or ""] = started(self.speaker, call)
                self.emit(start)
        elif isinstance(message, ToolMessage) and message.tool_call_id in self._calls:
            self.emit(self._calls[message.tool_call_id].ended(ok=message.status != "error", object=message.text))


def _hand_back(command: Command[Any], messages: Sequence[AnyMessage]) -> AIMessage:
    goto = handed_off(command, ToolCall(name=HAND_BACK, args={}, id="", type="tool_call")).artifact.goto
    text = next((message.text for message in reversed(messages) if isinstance(message, HumanMessage)), "")
    wish = text if goto == SUPERVISOR else f"{goto}: {text}"
    call_id = hashlib.sha256(f"{len(messages)} {wish}".encode()).hexdigest()[:9]
    return AIMessage("", tool_calls=[ToolCall(name=HAND_BACK, args={"wish": wish}, id=call_id, type="tool_call")])
