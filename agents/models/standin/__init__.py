"""`local:rules`: the chat model that needs no key. A stand-in of rules, not a language model, and it says so."""

import hashlib
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall, tool_call

from agents.language.text.stems import words
from agents.models.local_chat import LocalChat
from agents.models.standin import form_dialog, replies, supervisor, tool_dialog
from agents.models.standin.situation import SUPERVISOR, Call, Move, Situation, situation, text_of
from agents.models.standin.vocabulary import sentence

NAME = "local:rules"


class RulesModel(LocalChat):
    """Answer by rules: deterministic, stateless, from the facts of the prompt and the bound tools alone."""

    longest: int = 1_000
    """Characters of a message that the rules read; some of them take the square of its length."""

    def answer(self, messages: list[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        """Return the next message of the part that the prompt gives to the model."""
        now = situation(messages, tools)
        move = _move(now) if len(now.heard) <= self.longest else _unread(now, self.longest)
        if not move.text and not move.calls:
            # An empty reply counts as a broken one everywhere.
            move = replies.not_understood(now)
        calls = [_tool_call(now, call, place) for place, call in enumerate(move.calls)]
        return AIMessage(
            content=move.text,
            tool_calls=calls,
            additional_kwargs=dict(move.notes),
            response_metadata={"model_name": NAME, "finish_reason": "tool_calls" if calls else "stop"},
            usage_metadata=_usage(messages, move),
        )


def make_chat(longest: int) -> RulesModel:
    """Return the chat model, which reads messages of at most `longest` characters."""
    return RulesModel(longest=longest, profile={"text_inputs": False, "tool_calling": True})


def _move(now: Situation) -> Move:
    if now.role == "observer":
        return supervisor.observe(now)
    if now.role == SUPERVISOR:
        return supervisor.speak(now)
    return form_dialog.speak(now) if now.own and now.own.form else tool_dialog.speak(now)


def _unread(now: Situation, longest: int) -> Move:
    if now.role == "observer":
        return supervisor.UNSURE.get(str(now.facts.get("observer")), Move("stay"))
    return Move(sentence("too_long", now.lang, most=longest))


def _tool_call(now: Situation, call: Call, place: int) -> ToolCall:
    """Name the call by its position and content, so that the same turn played again makes the same ids."""
    last = now.messages[-1] if now.messages else None
    seed = f"{len(now.messages)}|{last and last.id}|{last and text_of(last)}|{place}|{call.key}"
    return tool_call(name=call.name, args=call.args, id=f"call_{hashlib.sha256(seed.encode()).hexdigest()[:20]}")


def _usage(messages: Sequence[BaseMessage], move: Move) -> UsageMetadata:
    read = sum(len(words(text_of(message))) for message in messages)
    written = len(words(move.text)) + sum(len(words(call.key)) for call in move.calls)
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
