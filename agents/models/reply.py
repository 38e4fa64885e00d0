"""Get one reply from a role's models: streamed, checked strictly, asked for again when it breaks."""

import asyncio
import json
import logging
import secrets
import string
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage

from agents.errors import BrokenReply, ModelUnavailable, Trouble
from agents.events import Error, Event
from agents.events.models import ModelEnd, ModelStart, Replied
from agents.models import Model
from agents.models.failures import FAILURES, broke, diagnose
from agents.models.message_order import in_order

TRIES = 3
LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listener:
    """Where the events of a model call and the pieces of its text go."""

    speaker: str
    emit: Callable[[Event], None]
    hear: Callable[[str], None] = lambda _: None
    role: str = ""
    """Whose models are asked, where that is not the speaker's name."""


async def reply(
    chain: Sequence[Model],
    messages: Sequence[AnyMessage],
    tools: Sequence[dict[str, Any]],
    listener: Listener,
) -> AIMessage:
    """Return the first sound reply of the models in `chain`.

    A broken reply is asked for again, up to 3 times in all; a provider's failure (its client has retried by
    then, heeding Retry-After) passes on to the next model.

    Raises:
        ModelUnavailable: no model of the chain answered.
    """
    outcome = Replied(speaker=listener.speaker, role=listener.role or listener.speaker)
    try:
        message = await _first_sound(chain, messages, tools, listener)
        calls = [(call["name"], call["args"]) for call in message.tool_calls]
        outcome = replace(outcome, text=message.text, calls=calls)
        return message
    except ModelUnavailable as failure:
        outcome = replace(outcome, trouble=failure.trouble)
        raise
    finally:
        listener.emit(outcome)


async def _first_sound(
    chain: Sequence[Model],
    messages: Sequence[AnyMessage],
    tools: Sequence[dict[str, Any]],
    listener: Listener,
) -> AIMessage:
    troubles: list[Trouble] = []
    for model in chain:
        for attempt in range(TRIES):
            if troubles:
                listener.emit(Error(code="model_retry", text=""))
            try:
                return await ask(model, messages, tools, listener)
            except BrokenReply as broken:
                LOG.warning("%s sent a broken reply (attempt %d): %s", model.name, attempt + 1, broken)
                troubles.append("busy")
            except FAILURES as failure:
                LOG.warning("%s failed: %s", model.name, type(failure).__name__)
                troubles.append(diagnose(failure))
                break
    # Of all troubles this is the one that the caller can do something about.
    trouble = "too_long" if "too_long" in troubles else troubles[-1]
    raise ModelUnavailable(trouble, chain[-1].name)


async def ask(
    model: Model, messages: Sequence[AnyMessage], tools: Sequence[dict[str, Any]], listener: Listener
) -> AIMessage:
    """Return the reply of one model, which is asked once; it is told as a model call.

    Raises:
        BrokenReply: the reply is not sound. What the provider raised, if there was none.
    """
    runnable = model.chat.bind_tools(tools) if tools else model.chat
    listener.emit(ModelStart(speaker=listener.speaker, model=model.name))
    begun = time.perf_counter()
    chunks: list[AIMessageChunk] = []
    try:
        async for chunk in runnable.astream(list(messages) if model.wants_facts else in_order(messages)):
            if not isinstance(chunk, AIMessageChunk):
                raise BrokenReply(f"unexpected {type(chunk).__name__}")
            chunks.append(chunk)
            if chunk.text:
                listener.hear(chunk.text)
        # Merged once: a sum after every chunk would check every message anew.
        message = sound(chunks[0] + chunks[1:] if chunks else None)
    except (Exception, asyncio.CancelledError) as failure:
        listener.emit(_ended(model, listener, begun, None))
        if isinstance(failure, Exception) and broke(failure, begun=bool(chunks)):
            raise BrokenReply(type(failure).__name__) from failure
        raise
    listener.emit(_ended(model, listener, begun, message))
    return message


def sound(whole: AIMessageChunk | None) -> AIMessage:
    """Return a streamed reply as a message, once it is certain that it is complete.

    LangChain repairs cut JSON in streamed tool calls and would run a tool with half its arguments; so
    the provider must have said why the reply ended, and the raw arguments must be whole JSON objects.

    Raises:
        BrokenReply: the reply was cut, is empty, or carries arguments that are not a JSON object.
    """
    if whole is None or not whole.response_metadata.get("finish_reason"):
        raise BrokenReply("the stream ended early")
    if whole.response_metadata["finish_reason"] == "length" and whole.tool_call_chunks:
        raise BrokenReply("a tool call was cut at the length limit")
    calls = []
    for part in whole.tool_call_chunks:
        try:
            args = json.loads(part["args"] or "{}")
        except json.JSONDecodeError:
            raise BrokenReply(f"arguments of {part['name']!r} are not JSON") from None
        if not part["name"] or not isinstance(args, dict):
            raise BrokenReply(f"call of {part['name']!r} is not a name with a JSON object")
        calls.append({"name": part["name"], "args": args, "id": _call_id()})
    if not calls and not whole.text.strip():
        raise BrokenReply("the reply is empty")
    return AIMessage(
        whole.text,
        tool_calls=calls,
        id=whole.id,
        additional_kwargs={k: v for k, v in whole.additional_kwargs.items() if k != "tool_calls"},
        usage_metadata=whole.usage_metadata,
    )


def _call_id() -> str:
    """Return an id for a tool call in place of the provider's: some leave it out, some give one id again and again.

    The ledger of done work goes by it. Nine letters and digits are the form that every provider takes back.
    """
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(9))


def _ended(model: Model, listener: Listener, begun: float, message: AIMessage | None) -> ModelEnd:
    usage: Mapping[str, Any] = (message.usage_metadata if message else None) or {}
    return ModelEnd(
        speaker=listener.speaker,
        model=model.name,
        input_tokens=usage.get("input_tokens", 0),
        output_tokens=usage.get("output_tokens", 0),
        cached_tokens=(usage.get("input_token_details") or {}).get("cache_read", 0),
        ms=round((time.perf_counter() - begun) * 1000),
        ok=message is not None,
    )
