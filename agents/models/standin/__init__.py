"""`local:rules`: the chat model that needs no key. A stand-in of rules, not a language model, and it says so."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall, tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.language.text.stems import words
from agents.models.standin import form_dialog, observer, replies, supervisor, tool_dialog
from agents.models.standin.sentences import sentence
from agents.models.standin.situation import Situation, situation
from agents.models.standin.types import SUPERVISOR, Call, Move, text_of

NAME = "local:rules"


class RulesModel(BaseChatModel):
    """Answer by rules: deterministic, stateless, from the messages and the bound tools alone."""

    longest: int = 1_000
    """Characters of a message that the rules read; some of them take the square of its length."""

    @property
    def _llm_type(self) -> str:
        return "rules"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer these tools; which to use is always the model's choice."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = reply(messages, kwargs.get("tools", ()), self.longest)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        # Beside the event loop: while rules read a long text, other chats go on.
        message = await asyncio.to_thread(reply, messages, kwargs.get("tools", ()), self.longest)
        for chunk in _chunks(message):
            if run_manager:
                await run_manager.on_llm_new_token(str(chunk.text), chunk=chunk)
            yield chunk
            # Others get their turn between two words, as with a model behind a network.
            await asyncio.sleep(0)


def make_chat(longest: int) -> RulesModel:
    """Return the chat model, which reads messages of at most `longest` characters."""
    return RulesModel(longest=longest, profile={"text_inputs": False, "tool_calling": True})


def reply(messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]], longest: int) -> AIMessage:
    """Return the next message of the part that the prompt gives to the model; a text of more characters is not read."""
    now = situation(messages, tools)
    move = _move(now) if len(now.heard) <= longest else _unread(now, longest)
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


def _move(now: Situation) -> Move:
    if now.role == "observer":
        return observer.observe(now)
    if now.role == SUPERVISOR:
        return supervisor.speak(now)
    return form_dialog.speak(now) if now.own and now.own.form else tool_dialog.speak(now)


def _unread(now: Situation, longest: int) -> Move:
    return (
        observer.UNSURE.get(str(now.scene.get("observer")), Move("stay"))
        if now.role == "observer"
        else Move(sentence("too_long", now.lang, most=longest))
    )


def _tool_call(now: Situation, call: Call, place: int) -> ToolCall:
    """Name the call by its position and content, so that the same turn played again makes the same ids."""
    last = now.messages[-1] if now.messages else SystemMessage("")
    seed = f"{len(now.messages)}|{last.id}|{text_of(last)}|{place}|{call.key}"
    return tool_call(name=call.name, args=call.args, id=f"call_{hashlib.sha256(seed.encode()).hexdigest()[:20]}")


def _usage(messages: Sequence[BaseMessage], move: Move) -> UsageMetadata:
    """Count words; nothing is paid for them."""
    read = sum(len(words(text_of(message))) for message in messages)
    written = len(words(move.text)) + sum(len(words(call.key)) for call in move.calls)
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    for piece in re.findall(r"\s*\S+(?:\s+$)?", str(message.text)):
        yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
    for place, call in enumerate(message.tool_calls):
        args = Call(call["name"], call["args"]).arguments
        chunk = tool_call_chunk(name=call["name"], args=args, id=call["id"], index=place)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))
    yield ChatGenerationChunk(
        message=AIMessageChunk(
            content="",
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
            usage_metadata=message.usage_metadata,
            chunk_position="last",
        )
    )
