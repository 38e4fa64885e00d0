"""Get one reply from a role's models: streamed, checked strictly, asked for again when it breaks."""

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.content import TextContentBlock

from agents.errors import BrokenReply, GarbledReply, ModelUnavailable, Overflow, Trouble, UselessReply
from agents.events import RETRY, Error, Event, ModelEnd, ModelStart, ModelThinking, Replied
from agents.foreign import contained
from agents.language.text.clean import whole
from agents.models import Model, ModelRequest, ToolSchema
from agents.models.answer import ECHO, AnswerText
from agents.models.attempts import RETRIED_FOR
from agents.models.failures import (
    cause_of,
    diagnose,
    is_failure,
    is_other_form,
    is_refusal,
    names_pictures,
    overflow_of,
    server_words,
    status,
    tellable,
    unsound_reply,
)
from agents.models.local_chat import LocalChat
from agents.models.message_order import in_order
from agents.models.refusal import refusal_of
from agents.models.streamed_reply import StreamedReply
from agents.models.text_calls import Offer
from agents.state.history import texts
from agents.state.message_notes import notes_of, with_notes
from prompts import FALLBACK, phrase, prompt

TRIES = 3
BREATH = 16
"""Chunks between two turns for all other tasks of the process."""
NO_USAGE = UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0)
LOG = logging.getLogger(__name__)
GIVEN = frozenset(["temperature", "reasoning_effort", "reasoning", "parallel_tool_calls", "id_slot", "grammar"])
"""Parts of requests that only an operator can add."""


@dataclass(frozen=True)
class Listener:
    """The receiver of a model call's events and of the pieces of its text."""

    speaker: str
    emit: Callable[[Event], None]
    feed: Callable[[str], None] = lambda _: None
    take_back: Callable[[], None] = lambda: None
    """Called when the pieces so far turn out to be the model's thinking."""
    role: str = ""
    """The role of the models, if that is not the speaker's name."""
    thread: str = ""
    may_be_silent: bool = False
    """Whether the reply may be empty, since the user sees something else."""
    words: Sequence[str] = ()
    """The only words that the reply may be; its first word counts."""

    @property
    def cache_key(self) -> str:
        """The key of all calls of this role in this thread: requests with one key reach one host. 32 hex digits."""
        name = f"{self.role or self.speaker}\n{self.thread}"
        return hashlib.sha256(name.encode()).hexdigest()[:32] if self.thread else ""


async def reply(
    chain: Sequence[Model], messages: Sequence[AnyMessage], tools: Sequence[ToolSchema], listener: Listener
) -> AIMessage:
    """Return the first sound reply of the models in `chain`.

    A broken reply is asked for again, up to 3 times in all (2 if it was garbled) and within `RETRIED_FOR` seconds. A
    refused request is made again without its optional parts. Any other failure passes on to the next model. The
    first piece comes within the first model's patience and `RETRIED_FOR`. Raises ModelUnavailable: no model answered.
    """
    outcome = Replied(speaker=listener.speaker, role=listener.role or listener.speaker)
    try:
        message = await _hooked(chain, messages, tools, listener)
        calls = [(call["name"], call["args"]) for call in message.tool_calls]
        is_unsure = notes_of(message).get("unsure", False)
        outcome = outcome.model_copy(update={"text": message.text, "calls": calls, "is_unsure": is_unsure})
        return message
    except ModelUnavailable as failure:
        outcome = outcome.model_copy(update={"trouble": failure.trouble})
        raise
    finally:
        listener.emit(outcome)


async def _hooked(
    chain: Sequence[Model], messages: Sequence[AnyMessage], tools: Sequence[ToolSchema], listener: Listener
) -> AIMessage:
    """Ask the models, with the hooks around them if there are any."""
    if (hook := chain[0].around) is None:
        return await _first_sound(chain, messages, tools, listener)

    async def ask_models(request: ModelRequest) -> AIMessage:
        return await _first_sound(chain, request.messages, request.tools, listener)

    role = listener.role or listener.speaker
    request = ModelRequest(listener.speaker, role, listener.thread, chain[0].name, messages, tools)
    with contained():
        message = await hook(request, ask_models)
    # A hook may write what no database and no door takes.
    return message.model_copy(update={"content": whole(message.content), "tool_calls": whole(message.tool_calls)})


async def _first_sound(
    chain: Sequence[Model], messages: Sequence[AnyMessage], tools: Sequence[ToolSchema], listener: Listener
) -> AIMessage:
    tries = _Tries(chain[0].patience, messages, tools)
    for first in chain:
        left = TRIES
        while left:
            if tries.troubles:
                listener.emit(Error(code=RETRY, text=""))
            async with first.form.trial(partial(_names, first, messages)) as answered:
                bounded = model = first.in_form
                before = frozenset(model.form.without)
                if tries.troubles:
                    # After a late failure the whole patience must not begin anew.
                    bounded = replace(model, first_seconds=min(model.patience, tries.seconds_left), cold_seconds=0)
                try:
                    return await ask(bounded, tries.messages, tools, listener, answered)
                except Exception as failure:
                    if not tries.again(model, failure, before):
                        break
            # Each refusal that teaches something leaves fewer parts to refuse.
            left -= not tries.has_learnt
    # The caller can do something about this trouble alone.
    trouble = "too_long" if "too_long" in tries.troubles else tries.troubles[-1]
    raise ModelUnavailable(
        trouble, chain[-1].name, "; ".join(dict.fromkeys(tries.causes)), tries.overflow
    ) from tries.failure


def _names(model: Model, messages: Sequence[AnyMessage]) -> set[str]:
    """Return the names of a request's parts that its server may refuse; a model of this process refuses none."""
    if isinstance(model.chat, LocalChat):
        return set()
    has_calls = any(isinstance(message, AIMessage) and message.tool_calls for message in messages)
    form = {model.wire} if model.other else set()
    return model.extras((), model.form.without) | form | ({"calls"} if has_calls else set())


class _Tries:
    """The failures so far, and the choice to ask a model again. The user waits since `_begun`."""

    def __init__(self, patience: float, messages: Sequence[AnyMessage], tools: Sequence[ToolSchema]) -> None:
        self.messages, self._tools = messages, tools
        self.troubles: list[Trouble] = []
        self.causes: list[str] = []
        self.overflow: Overflow | None = None
        self.failure: Exception | None = None
        """The last failure of a provider."""
        self.has_learnt = False
        """Whether the last failure was a refusal, and the next request does without the refused part."""
        self._begun, self._patience, self._refusal = _now(), patience, ""

    @property
    def seconds_left(self) -> float:
        return max(RETRIED_FOR, self._patience - (_now() - self._begun))

    def again(self, model: Model, failure: Exception, before: Collection[str]) -> bool:
        """Note a failure and tell whether the model is asked again; raise it if it is an error of ours.

        `before` are the names that the request did without.
        """
        self.has_learnt, waited = False, _now() - self._begun
        heard = [
            text for message in self.messages[1:] for text in (message.text, *notes_of(message).get("context", []))
        ]
        cause = failure.__cause__
        words = server_words(cause if isinstance(cause, Exception) else failure, heard, model.secrets)
        if isinstance(failure, GarbledReply):
            self._note("garbled", model, str(failure))
            return self.troubles[-2:] != ["garbled", "garbled"] and waited <= RETRIED_FOR
        if isinstance(failure, BrokenReply):
            self._note("busy", model, f"a broken reply ({tellable(str(failure), heard, model.secrets)}{words})")
            # A server that reads a long prompt for the first time keeps the part that it has read, and goes on there.
            is_cold = model.cold_seconds and not model.has_begun
            is_patient = waited <= (self._patience if is_cold else RETRIED_FOR)
            return self._does_without(model, cause, before) or is_patient
        if isinstance(failure, UselessReply):
            self._note(failure.trouble, model, f"{failure}{words}")
            if failure.trouble == "unavailable" and cause:
                return self._does_without(model, cause, before)
            return failure.wants_room and model.outgrow()
        if not is_failure(failure):
            raise failure
        words = server_words(failure, heard, model.secrets)
        self._note(diagnose(failure), model, f"{cause_of(failure)}{words}")
        self.failure = failure
        if overflow := overflow_of(failure):
            self.overflow = self.overflow or overflow
            model.window.size = overflow.window or model.window.size
            _learn(model, in_order(self.messages, model.name), self._tools, overflow.prompt)
            # The prompt would fit, but not with the limit of the reply beside it.
            is_limit = overflow.window and overflow.prompt and overflow.prompt < overflow.window
            return bool(is_limit) and self._learns(model, model.give_up_limit(before))
        return self._does_without(model, failure, before)

    def _does_without(self, model: Model, failure: BaseException | None, before: Collection[str]) -> bool:
        """Leave the parts that a server or its client refuses out of the next request; tell whether there are any."""
        if failure is None or not is_refusal(failure):
            return False
        learnt: Collection[str] = model.change_form() if is_other_form(failure, model.wire) else ()
        if self._learns(model, learnt or model.learn(failure, in_order(self.messages, model.name), before)):
            return True
        refusal = refusal_of(failure)
        is_new, self._refusal = refusal.words != self._refusal, refusal.words
        is_about = status(failure) is not None or names_pictures(failure) or not is_new
        if not (is_about and model.sees and any(map(_pictures, self.messages))):
            return False
        lang = notes_of(self.messages[0]).get("lang", FALLBACK)
        self.messages = [_blind(message, lang) if _pictures(message) else message for message in self.messages]
        return True

    def _learns(self, model: Model, names: Collection[str]) -> bool:
        """Tell the operator the names that are left out from now on; return whether there are any."""
        self.has_learnt = bool(names)
        if names:
            though = ", although LLM_PARAMETERS sets it" if GIVEN & {*names} else ""
            LOG.warning("%s: from now on it is asked without %s%s", model.place, ", ".join(sorted(names)), though)
        return self.has_learnt

    def _note(self, trouble: Trouble, model: Model, cause: str) -> None:
        LOG.warning("%s: %s (%s)", model.place, cause, trouble)
        self.troubles.append(trouble)
        self.causes.append(f"{model.place}: {cause}")


@cache
def instructions(lang: str) -> str:
    """Return the texts that no answer should repeat: lines of our own prompts, without the dialogs' own."""
    prompts = [prompt(name, lang, helpers="", tools="") for name in ("dialog", "supervisor")]
    return "\n".join(line for text in prompts for line in text.splitlines() if len(line) >= ECHO)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def ask(
    model: Model,
    messages: Sequence[AnyMessage],
    tools: Sequence[ToolSchema],
    listener: Listener,
    answered: Callable[[], None] = lambda: None,
) -> AIMessage:
    """Ask one model once and return its reply, with the events of a model call.

    `answered` is called when the reply begins.

    Raises:
        BrokenReply: the reply is not sound.
        UselessReply: the model refuses, says nothing, or does not come to an end.
        Exception: the provider's client raised it, and there is no reply.
    """
    prompt = model.form.fitted(model.marked(in_order(messages, model.name)))
    prompt = [*map(_showing, prompt)] if model.sees else prompt
    listener.emit(ModelStart(speaker=listener.speaker, model=model.name))
    begun = time.perf_counter()
    streamed = StreamedReply(
        _answer_text(model, messages, tools),
        longest=model.reply_length,
        repeats=model.reply_repeats,
        model=model.name,
        says_why="says_why" in model.habits,
    )
    first_word = _now() + model.patience
    silence = asyncio.timeout_at(first_word)
    chunks: AsyncIterator[object] | None = None
    try:
        chunks = model.limited(listener.words).bound(tools, listener.cache_key)(prompt)
        async with silence:
            await _take_all(chunks, streamed, model, listener, silence, answered)
        if rest := streamed.end():
            listener.feed(rest)
        if not listener.words:
            model.habits["endless"] = (model.habits.get("endless", 0) + 1) * streamed.is_endless
        message = streamed.message(may_be_silent=listener.may_be_silent)
        if streamed.says_why:
            model.habits["says_why"] = True
        if streamed.text.unopened or (streamed.text.answer and model.is_headless):
            model.habits["headless"] = streamed.text.thought
    except (Exception, asyncio.CancelledError) as failure:
        listener.emit(_ended(model, listener, begun, None))
        has_begun = silence.when() != first_word
        if silence.expired() and not has_begun:
            raise UselessReply("busy", "it says nothing") from failure
        request = None if chunks is None else repr((prompt, tools))
        if isinstance(failure, Exception) and (unsound := unsound_reply(failure, request, begun=has_begun)):
            raise unsound from failure
        raise
    finally:
        if isinstance(chunks, AsyncGenerator):
            # The rest is of no use: the server should not go on with it.
            await chunks.aclose()
    listener.emit(ended := _ended(model, listener, begun, message))
    _learn(model, prompt, tools, ended.input_tokens)
    return message


def _answer_text(model: Model, messages: Sequence[AnyMessage], tools: Sequence[ToolSchema]) -> AnswerText:
    """Return the reader of the model's answer: it knows the tools, and the texts that the model was given."""
    read = "\n".join(message.text for message in messages if isinstance(message, HumanMessage | ToolMessage))
    lang = notes_of(messages[0]).get("lang", FALLBACK)
    return AnswerText(headless=model.is_headless, offer=Offer(tools, read), instructions=instructions(lang))


def _learn(model: Model, prompt: Sequence[AnyMessage], tools: Sequence[ToolSchema], tokens: int | None) -> None:
    """Correct the estimate of tokens by a provider's count; without a known window nobody needs the estimate."""
    if tokens and model.window.size is not None and not any(map(_pictures, prompt)):
        model.window.learn(texts(prompt, tools), tokens)


async def _take_all(
    chunks: AsyncIterator[object],
    streamed: StreamedReply,
    model: Model,
    listener: Listener,
    silence: asyncio.Timeout,
    answered: Callable[[], None],
) -> None:
    """Take the chunks of a reply until it is over, or the rest is of no use; each chunk ends a silence."""
    count, begun, loop = 0, time.perf_counter(), asyncio.get_running_loop()
    task = asyncio.current_task()
    cancelled = task.cancelling() if task else 0
    async for chunk in chunks:
        silence.reschedule(loop.time() + model.gap_seconds if model.gap_seconds else None)
        if not count:
            answered()
            model.habits["slowest"] = max(time.perf_counter() - begun, model.habits.get("slowest", 0))
        if not isinstance(chunk, AIMessageChunk):
            raise BrokenReply(f"unexpected {type(chunk).__name__}")
        count += 1
        _hear(model, streamed, chunk, listener)
        if time.perf_counter() - begun > model.reply_seconds or (listener.words and "\n" in streamed.text.answer):
            streamed.cut()
        if streamed.is_done:
            return
        if count % BREATH == 0:
            # A stream that always has the next chunk ready would hold up timers, signals and all other chats.
            await asyncio.sleep(0)
        if task and task.cancelling() > cancelled:
            # Python 3.11's `wait_for`, inside the client, swallows a cancellation when the next chunk is there.
            raise asyncio.CancelledError


def _hear(model: Model, streamed: StreamedReply, chunk: AIMessageChunk, listener: Listener) -> None:
    """Pass on a chunk's text for the user; earlier text was thinking if a closing tag comes without an opening one."""
    before, had_thoughts = streamed.text.answer, streamed.has_thoughts
    shown = streamed.take(chunk)
    if len(streamed.text.answer) < len(before) + len(shown):
        shown = streamed.text.answer
        if before:
            listener.take_back()
    if shown:
        listener.feed(shown)
    if streamed.has_thoughts and not had_thoughts:
        listener.emit(ModelThinking(speaker=listener.speaker, model=model.name))


def _ended(model: Model, listener: Listener, begun: float, message: AIMessage | None) -> ModelEnd:
    usage = (message.usage_metadata if message else None) or NO_USAGE
    return ModelEnd(
        speaker=listener.speaker,
        model=model.name,
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cached_tokens=(usage.get("input_token_details") or {}).get("cache_read", 0),
        ms=round((time.perf_counter() - begun) * 1000),
        ok=message is not None,
    )


def _pictures(message: AnyMessage) -> Sequence[object]:
    return notes_of(message).get("pictures", [])


def _showing(message: AnyMessage) -> AnyMessage:
    """Return the message with its pictures behind its words."""
    if not (pictures := _pictures(message)):
        return message
    blocks: list[Mapping[str, object]] = [TextContentBlock(type="text", text=message.text)] if message.text else []
    return message.model_copy(update={"content": [*blocks, *pictures]})


def _blind(message: AnyMessage, lang: str) -> AnyMessage:
    """Return the message without its pictures; the model is told that it cannot see them."""
    context = [*notes_of(message).get("context", []), phrase("attached_unseen", lang, by="photo")]
    return with_notes(message, context=context, pictures=[])
