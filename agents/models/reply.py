"""Get one reply from a role's models: streamed, checked strictly, asked for again when it breaks."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.messages.content import TextContentBlock

from agents.errors import BrokenReply, ModelUnavailable, Trouble, UselessReply
from agents.events import Error, Event, ModelEnd, ModelStart, ModelThinking, Replied
from agents.models import RETRIED_FOR, Model, cache_key
from agents.models.failures import broke, cause_of, diagnose, is_failure, status
from agents.models.message_order import in_order
from agents.models.streamed_reply import StreamedReply
from agents.state.message_notes import notes, notes_of
from prompts import FALLBACK, phrase

TRIES = 3
BREATH = 16
"""Chunks after which everything else in the process has its turn."""
LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listener:
    """Where the events of a model call and the pieces of its text go."""

    speaker: str
    emit: Callable[[Event], None]
    hear: Callable[[str], None] = lambda _: None
    take_back: Callable[[], None] = lambda: None
    """Called when the pieces heard so far turn out to be the model's thinking."""
    role: str = ""
    """Whose models are asked, where that is not the speaker's name."""
    thread: str = ""

    @property
    def cache_key(self) -> str:
        """The key under which a provider may keep the beginning of this role's prompts in this thread."""
        return cache_key(self.thread, self.role or self.speaker) if self.thread else ""


async def reply(
    chain: Sequence[Model], messages: Sequence[AnyMessage], tools: Sequence[dict[str, Any]], listener: Listener
) -> AIMessage:
    """Return the first sound reply of the models in `chain`.

    A broken reply is asked for again, up to 3 times in all and within `RETRIED_FOR` seconds; a provider's failure
    (its client has retried by then, heeding Retry-After) passes on to the next model. Until the first piece of a reply
    all that takes the first model's `first_seconds` and `RETRIED_FOR` at most.

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
    chain: Sequence[Model], messages: Sequence[AnyMessage], tools: Sequence[dict[str, Any]], listener: Listener
) -> AIMessage:
    troubles: list[Trouble] = []
    causes: list[str] = []
    begun = _now()
    for model in chain:
        for attempt in range(TRIES):
            if troubles:
                listener.emit(Error(code="model_retry", text=""))
                # What fails late must not be waited for anew.
                seconds_left = max(RETRIED_FOR, chain[0].first_seconds - (_now() - begun))
                model = replace(model, first_seconds=min(model.first_seconds, seconds_left))
            try:
                return await ask(model, messages, tools, listener)
            except BrokenReply as broken:
                LOG.warning("%s sent a broken reply (attempt %d): %s", model.name, attempt + 1, broken)
                troubles.append("busy")
                causes.append(f"{model.place}: the reply broke off ({cause_of(broken.__cause__ or broken)})")
                if _now() - begun > RETRIED_FOR:
                    break
            except UselessReply as useless:
                LOG.warning("%s: %s", model.name, useless)
                troubles.append(useless.trouble)
                causes.append(f"{model.place}: {useless}")
                break
            except Exception as failure:
                if not is_failure(failure):
                    raise
                causes.append(f"{model.place}: {cause_of(failure)}")
                LOG.warning("%s (%s)", causes[-1], type(failure).__name__)
                troubles.append(diagnose(failure))
                if not (model.sees and may_be_refused(messages, failure)):
                    break
                messages = without_pictures(messages)
    # Of all troubles this is the one that the caller can do something about.
    trouble = "too_long" if "too_long" in troubles else troubles[-1]
    raise ModelUnavailable(trouble, chain[-1].name, "; ".join(dict.fromkeys(causes)))


def _now() -> float:
    return asyncio.get_running_loop().time()


async def ask(
    model: Model, messages: Sequence[AnyMessage], tools: Sequence[dict[str, Any]], listener: Listener
) -> AIMessage:
    """Return the reply of one model, which is asked once; it is told as a model call.

    Raises:
        BrokenReply: the reply is not sound. What the provider raised, if there was none.
        UselessReply: the model refuses, says nothing, or does not come to an end.
    """
    runnable = model.bound(tools, listener.cache_key)
    prompt = model.marked(in_order(messages, model.name))
    prompt = with_pictures(prompt) if model.sees else prompt
    listener.emit(ModelStart(speaker=listener.speaker, model=model.name))
    begun = time.perf_counter()
    streamed = StreamedReply(headless=model.is_headless, longest=model.reply_length)
    chunks, is_thinking_told = 0, False
    task = asyncio.current_task()
    cancelled = task.cancelling() if task else 0
    silence = asyncio.timeout(model.first_seconds)
    try:
        async with silence:
            async for chunk in runnable.astream(prompt):
                silence.reschedule(None)
                if not isinstance(chunk, AIMessageChunk):
                    raise BrokenReply(f"unexpected {type(chunk).__name__}")
                chunks += 1
                _hear(streamed, chunk, listener)
                if streamed.has_thoughts and not is_thinking_told:
                    is_thinking_told = True
                    listener.emit(ModelThinking(speaker=listener.speaker, model=model.name))
                if time.perf_counter() - begun > model.reply_seconds:
                    raise UselessReply("unavailable", "the reply does not end")
                if chunks % BREATH == 0:
                    # A stream that always has the next chunk ready would hold up timers, signals and all other chats.
                    await asyncio.sleep(0)
                if task and task.cancelling() > cancelled:
                    # Python 3.11's `wait_for`, inside the client, swallows a cancellation when the next chunk is there.
                    raise asyncio.CancelledError
        if rest := streamed.end():
            listener.hear(rest)
        message = streamed.message(model.name)
        model.learn(streamed.text)
    except (Exception, asyncio.CancelledError) as failure:
        listener.emit(_ended(model, listener, begun, None))
        if judged := _judged(failure, begun=bool(chunks), is_silent=silence.expired()):
            raise judged from failure
        raise
    listener.emit(_ended(model, listener, begun, message))
    return message


def _judged(failure: BaseException, *, begun: bool, is_silent: bool) -> Exception | None:
    """Return what a failed reply counts as: one that may be asked for again, or not; None if it says so itself."""
    if is_silent:
        return UselessReply("busy", "it says nothing")
    if isinstance(failure, Exception) and broke(failure, begun=begun):
        return BrokenReply(type(failure).__name__)
    return None


def _hear(streamed: StreamedReply, chunk: AIMessageChunk, listener: Listener) -> None:
    """Pass on what may be shown of a chunk; what was shown before turns out to be thinking when only that closes."""
    before = streamed.text.answer
    shown = streamed.take(chunk)
    if len(streamed.text.answer) < len(before) + len(shown):
        shown = streamed.text.answer
        if before:
            listener.take_back()
    if shown:
        listener.hear(shown)


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


REFUSED = (400, 413, 415, 422)
"""The HTTP statuses of servers that do not take a picture: broken, too large, of a wrong kind, or any at all."""


def with_pictures(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with the pictures of this turn behind the words that they stand beside."""
    return [_showing(message) if _pictures(message) else message for message in messages]


def may_be_refused(messages: Sequence[AnyMessage], failure: Exception) -> bool:
    """Tell whether a prompt has pictures, and a provider's failure may be for them."""
    return status(failure) in REFUSED and any(map(_pictures, messages))


def without_pictures(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages without the pictures; the model is told that it cannot see them."""
    lang = notes_of(messages[0]).get("lang", FALLBACK)
    return [_blind(message, lang) if _pictures(message) else message for message in messages]


def _pictures(message: AnyMessage) -> Sequence[Any]:
    return notes_of(message).get("pictures", [])


def _showing(message: AnyMessage) -> AnyMessage:
    blocks: list[Mapping[str, Any]] = [TextContentBlock(type="text", text=message.text)] if message.text else []
    return message.model_copy(update={"content": [*blocks, *_pictures(message)]})


def _blind(message: AnyMessage, lang: str) -> AnyMessage:
    context = [*notes_of(message).get("context", []), phrase("attached_unseen", lang, by="photo")]
    metadata = notes(context=context, pictures=[])
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **metadata}})
