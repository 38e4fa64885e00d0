"""`local:rules`: the chat model that needs no key. A stand-in of rules, not a language model, and it says so."""

from collections.abc import Sequence
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from agents.models.local_chat import LocalChat
from agents.plugin import Plugin
from app.plugins.standin import dialogs, replies, supervisor
from app.plugins.standin.situation import Move, Situation, situation
from app.plugins.standin.vocabulary import sentence


class RulesModel(LocalChat):
    """Answers by rules: stateless, from the facts of the prompt and the bound tools alone."""

    longest: int = 1_000
    """Characters of a message that the rules read; some of them take the square of its length."""

    def answer(self, messages: list[BaseMessage], tools: Sequence[dict[str, object]]) -> AIMessage:
        """Return the next message of the part that the prompt gives to the model."""
        now = situation(messages, tools)
        move = _move(now) if len(now.heard) <= self.longest else _unread(now, self.longest)
        if not move.text and not move.calls and not any(result.seen for result in now.results[-1:]):
            # An empty reply counts as a broken one, unless the user sees something else.
            move = Move(replies.not_understood(now))
        return AIMessage(
            content=move.text,
            tool_calls=[tool_call(name=call.name, args=call.args, id=uuid4().hex) for call in move.calls],
            additional_kwargs=dict(move.notes),
            response_metadata={"model_name": "local:rules", "finish_reason": "tool_calls" if move.calls else "stop"},
        )


class StandinSettings(BaseSettings):
    """How long a message the rules read."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore")

    rules_length: int = Field(default=1_000, ge=100, le=4_000)


def _made(settings: StandinSettings) -> RulesModel:
    return RulesModel(longest=settings.rules_length, profile={"text_inputs": False, "tool_calling": True})


plugin = Plugin(settings=StandinSettings, models={"local:rules": _made})


def _move(now: Situation) -> Move:
    if now.role == "observer":
        return supervisor.observe(now)
    if now.role == "supervisor":
        return supervisor.speak(now)
    return dialogs.speak(now)


def _unread(now: Situation, longest: int) -> Move:
    if now.role == "observer":
        return supervisor.UNSURE.get(now.facts.get("observer", ""), Move("stay"))
    return Move(sentence("too_long", now.lang, most=longest))
