"""One reply while it streams: what may be shown of it at once, and the checked message that it makes in the end.

Servers differ in what they send. All that is known to differ is evened out here, for every provider alike.
"""

import json
import re
import secrets
import string
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.tool import ToolCall, ToolCallChunk

from agents.errors import BrokenReply, GarbledReply, UselessReply
from agents.language.text.repetition import REPEATS, Repetition
from agents.models import MOST_CHARACTERS
from agents.models.answer import AnswerText
from agents.models.text_calls import decoded
from agents.models.thinking import SIGNATURES, SignedThoughts

_HALF = re.compile("[\ud800-\udfff]")
FINISH_FIELDS = ("finish_reason", "stop_reason", "done_reason", "stopReason")
"""Where the providers say why a reply ended."""
LENGTH = ("length", "max_tokens", "model_length")
FILTER = ("content_filter", "refusal", "safety", "prohibited_content", "blocklist", "recitation", "spii")
THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Fields beside the text in which servers send thinking."""
THINKING_BLOCKS = ("thinking", "redacted_thinking", "reasoning")
IS_OVER = "is_over"
"""Metadata of a chunk that is certain to be the last, whether or not the provider says why the reply ended."""
CUT = "cut"
"""Metadata of a message whose text is not whole: the code of the `error` event that says so."""
LOOP = "loop"
"""What ends a reply that repeats itself."""


@dataclass
class _Call:
    """A tool call while its pieces come."""

    name: str
    id: str | None
    index: int | str | None
    args: list[str] = field(default_factory=list)

    def continues(self, piece: ToolCallChunk) -> bool:
        """Whether a piece belongs to this call: some servers repeat its name and id, some number all calls 0."""
        if not piece["name"] and not piece["id"]:
            return True
        if piece["index"] != self.index or (piece["id"] or self.id) != self.id:
            return False
        name = piece["name"]
        return not name or ((self.name or name) == name and isinstance(decoded("".join(self.args)), str))


def _add(calls: list[_Call], piece: ToolCallChunk) -> None:
    """Add a piece to the call that it continues, or begin a call with it."""
    numbered = [call for call in calls if piece["index"] is not None and call.index == piece["index"]]
    call = next(reversed(numbered or calls), None)
    if call is None or not call.continues(piece):
        call = _Call(piece["name"] or "", piece["id"], piece["index"])
        calls.append(call)
    call.id, call.name = call.id or piece["id"], call.name or piece["name"] or ""
    call.args.append(piece["args"] or "")


def _whole_characters(text: str) -> str:
    """Return the text with halves of characters replaced: no file or terminal takes them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALF.search(text) else text


def _tool_call(call: _Call) -> ToolCall:
    try:
        args = json.loads("".join(call.args) or "{}")
    except json.JSONDecodeError:
        raise BrokenReply(f"arguments of {call.name!r} are not JSON") from None
    if not call.name or not isinstance(args, dict):
        raise BrokenReply(f"call of {call.name!r} is not a name with a JSON object")
    args = json.loads(_whole_characters(json.dumps(args, ensure_ascii=False)))
    # Some providers give no id, some give one id again and again, and the ledger of done work goes by it.
    # Nine letters and digits are the form that every provider takes back.
    id = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(9))
    return ToolCall(name=_whole_characters(call.name), args=args, id=id, type="tool_call")


class StreamedReply:
    """Takes the chunks of a reply into `text`. It may have `longest` characters, and say the same `repeats` times."""

    def __init__(
        self, text: AnswerText | None = None, *, longest: int = MOST_CHARACTERS, repeats: int = REPEATS
    ) -> None:
        self._longest, self._repetition = longest, Repetition(repeats)
        self.text = text or AnswerText()
        self.has_thoughts = False
        self.is_done = False
        """Whether nothing that still comes is of use."""
        self._calls: list[_Call] = []
        self._signed = SignedThoughts()
        self._extras: dict[str, object] = {}
        self._usage: UsageMetadata | None = None
        self._finish = self._refusal = self._half = ""
        self._id: str | None = None
        self._size = 0
        self._has_text = self._is_over = False

    def take(self, chunk: AIMessageChunk) -> str:
        """Return what may be shown now that this chunk has come.

        Raises:
            GarbledReply: it is nothing that a user could read.
        """
        self._id, text = self._id or chunk.id, chunk.text
        self._take_metadata(chunk)
        self._signed.take(chunk)
        thoughts = _thoughts(chunk)
        if thoughts and not self._has_text:
            # The server sends thinking in a field of its own, so the text has none.
            self.text.is_headless = False
        for piece in chunk.tool_call_chunks:
            _add(self._calls, piece)
        # The end of an answer is mostly the end of the reply, which tells what it cost.
        self.is_done = self.text.is_over and bool(text.strip())
        shown = self.text.feed(self._characters(text))
        self._has_text = self._has_text or bool(text)
        is_thinking = self.text.is_thinking and self._has_text
        self.has_thoughts = bool(self.has_thoughts or thoughts or self.text.thought or is_thinking)
        self._size += thoughts + len(text) + sum(len(piece["args"] or "") for piece in chunk.tool_call_chunks)
        if self._size > self._longest:
            self.cut()
        if self._repetition.feed(text):
            self.cut(LOOP)
        return shown

    def cut(self, reason: str = LENGTH[0]) -> None:
        """End the reply here."""
        self._finish, self.is_done = reason, True

    def end(self) -> str:
        """Return what was held back, now that the last chunk has come.

        Raises:
            GarbledReply: the reply is nothing that a user could read.
        """
        # A limit that is met inside the thinking leaves no answer.
        return "" if self._is_cut and self.text.is_thinking else self.text.rest(is_cut=self._is_cut)

    def message(self, model: str = "", *, may_be_silent: bool = False) -> AIMessage:
        """Return the reply as a message, once it is certain that it is complete; `model` is who made it.

        With `may_be_silent` a reply that ended as one should may be empty.

        LangChain repairs cut JSON in streamed tool calls and would run a tool with half its arguments; so
        the provider must have said why the reply ended, and the raw arguments must be whole JSON objects.

        A call that was cut is left out; the message says that it is not whole.

        Raises:
            BrokenReply: the reply broke off, is empty, or carries arguments that are not a JSON object.
            UselessReply: the model or its provider refuses to answer, or it had no room for an answer.
        """
        text = self.text.answer or _whole_characters(self._refusal)
        if not self._finish and not self._is_over and not self.text.is_over:
            raise BrokenReply("the stream ended early")
        written = [_Call(name, None, None, [json.dumps(args)]) for name, args in self.text.calls]
        was_call, self._calls = bool(self._calls), [] if self._is_cut else self._calls or written
        calls = [_tool_call(call) for call in self._calls]
        is_silent = may_be_silent and not self._is_cut and not was_call
        if not calls and not text.strip() and not is_silent:
            if self._finish in FILTER:
                raise UselessReply("refused", "the provider's filter took the reply")
            if self._finish in LENGTH:
                wants_room = not was_call and not self.text.is_call
                raise UselessReply("cut_length", "the length limit was reached first", wants_room=wants_room)
            is_garbled = self._finish == LOOP or self.text.is_over
            raise GarbledReply("it says nothing") if is_garbled else BrokenReply("the reply is empty")
        code = f"cut_{'filter' if self._finish in FILTER else LOOP if self._finish == LOOP else 'length'}"
        message = AIMessage(
            text,
            tool_calls=calls,
            id=self._id,
            additional_kwargs=self._extras,
            response_metadata={CUT: code} if self._is_cut and not self._refusal else {},
            usage_metadata=self._usage,
        )
        return self._signed.noted(message, model, [call.id for call in self._calls])

    @property
    def is_endless(self) -> bool:
        """Whether the reply came to no end by itself."""
        return self._finish in (*LENGTH, LOOP)

    @property
    def _is_cut(self) -> bool:
        is_whole = self.text.is_over and not self.text.is_call
        return self._finish in (*LENGTH, *FILTER, LOOP) and not is_whole

    def _take_metadata(self, chunk: AIMessageChunk) -> None:
        if metadata := chunk.response_metadata:
            reasons = [metadata.get(name) for name in FINISH_FIELDS]
            self._finish = next((str(reason).lower() for reason in reasons if reason), self._finish)
            feedback = metadata.get("prompt_feedback")
            if isinstance(feedback, dict) and feedback.get("block_reason"):
                # Google: the question was blocked, so there is no answer that could say why it ended.
                self._finish = FILTER[0]
        self._is_over = self._is_over or bool(metadata.get(IS_OVER))
        if chunk.usage_metadata:
            self._usage = add_usage(self._usage, chunk.usage_metadata)
        if extras := chunk.additional_kwargs:
            self._refusal += str(extras.get("refusal") or "")
            hidden = ("tool_calls", "refusal", SIGNATURES, *THINKING_FIELDS)
            self._extras |= {name: extra for name, extra in extras.items() if name not in hidden}

    def _characters(self, text: str) -> str:
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return _whole_characters(text)


def _thoughts(chunk: AIMessageChunk) -> int:
    blocks = chunk.content if isinstance(chunk.content, list) else []
    fields = [chunk.additional_kwargs.get(name) for name in THINKING_FIELDS]
    fields += [block for block in blocks if isinstance(block, dict) and block.get("type") in THINKING_BLOCKS]
    return sum(len(str(thinking)) for thinking in fields if thinking)
