"""`local:rules`: a chat model without a key. It is a stand-in of rules, not a language model, and it says so."""

from collections.abc import Sequence
from uuid import uuid4

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from pydantic import Field

from agents.models.local_chat import LocalChat
from agents.plugin import Plugin
from app.plugins.standin import check, dialogs, replies, supervisor
from app.plugins.standin.situation import Move, situation

PARTS = {"observer": supervisor.observe, "supervisor": supervisor.speak}


class RulesModel(LocalChat):
    """A stateless model that answers by rules, from the facts of the prompt and the bound tools alone."""

    profile: ModelProfile | None = Field(default=ModelProfile(text_inputs=False, tool_calling=True), exclude=True)

    def answer(self, messages: list[BaseMessage], tools: Sequence[dict[str, object]]) -> AIMessage:
        """Return the next message in the role that the prompt gives the model."""
        now = situation(messages, tools)
        move = PARTS.get(now.role, dialogs.speak)(now)
        if not move.text and not move.calls and not any(result.seen for result in now.results[-1:]):
            # An empty reply counts as broken, unless the user sees something else.
            move = Move(replies.not_understood(now))
        return AIMessage(
            content=move.text,
            tool_calls=[tool_call(name=call.name, args=call.args, id=uuid4().hex) for call in move.calls],
            additional_kwargs=dict(move.notes),
            response_metadata={"model_name": "local:rules", "finish_reason": "tool_calls" if move.calls else "stop"},
        )


plugin = Plugin(models={"local:rules": lambda settings: RulesModel()}, check=check.faults)
