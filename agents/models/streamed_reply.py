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

from agents.errors import BrokenReply, UselessReply
from agents.models import MOST_CHARACTERS
from agents.models.thinking import SIGNATURES, SignedThoughts, ThinkingFilter

_HALF = re.compile("[\ud800-\udfff]")


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
        return not piece["name"] or (piece["name"] == (self.name or piece["name"]) and not _is_json("".join(self.args)))


class StreamedCalls:
    """Takes the pieces of tool calls. Servers number all calls 0, leave numbers and ids out, or repeat names."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, piece: ToolCallChunk) -> None:
        """Add a piece to the call that it continues, or begin a call with it."""
        numbered = [call for call in self._calls if piece["index"] is not None and call.index == piece["index"]]
        earlier = numbered or self._calls
        call = earlier[-1] if earlier else None
        if call is None or not call.continues(piece):
            call = _Call(piece["name"] or "", piece["id"], piece["index"])
            self._calls.append(call)
        call.id, call.name = call.id or piece["id"], call.name or piece["name"] or ""
        call.args.append(piece["args"] or "")

    @property
    def given_ids(self) -> list[str | None]:
        """The ids that the provider gave to the calls."""
        return [call.id for call in self._calls]

    def complete(self) -> list[ToolCall]:
        """Return the calls.

        Raises:
            BrokenReply: a call has no name, or arguments that are not a JSON object.
        """
        return [_tool_call(call) for call in self._calls]


def whole_characters(text: str) -> str:
    """Return the text with halves of characters replaced: no file or terminal takes them."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tool_call(call: _Call) -> ToolCall:
    try:
        args = json.loads("".join(call.args) or "{}")
    except json.JSONDecodeError:
        raise BrokenReply(f"arguments of {call.name!r} are not JSON") from None
    if not call.name or not isinstance(args, dict):
        raise BrokenReply(f"call of {call.name!r} is not a name with a JSON object")
    args = json.loads(whole_characters(json.dumps(args, ensure_ascii=False)))
    return ToolCall(name=call.name, args=args, id=_call_id(), type="tool_call")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def _call_id() -> str:
    """Return an id for a tool call in place of the provider's: some leave it out, some give one id again and again.

    The ledger of done work goes by it. Nine letters and digits are the form that every provider takes back.
    """
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(9))


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


class StreamedReply:
    """Takes the chunks of a reply. `headless`: its text is expected to begin inside the model's thinking.

    `longest` is how many characters it may have.
    """

    def __init__(self, *, headless: bool = False, longest: int = MOST_CHARACTERS) -> None:
        self._longest = longest
        self.text = ThinkingFilter(headless=headless)
        self.has_thoughts = False
        self._calls = StreamedCalls()
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
            UselessReply: the reply does not end.
        """
        self._id, text = self._id or chunk.id, chunk.text
        self._take_metadata(chunk)
        self._signed.take(chunk)
        thoughts = _thoughts(chunk)
        if thoughts and not self._has_text:
            # The server sends thinking in a field of its own, so the text has none.
            self.text = ThinkingFilter()
        for piece in chunk.tool_call_chunks:
            self._calls.take(piece)
        shown = self.text.feed(self._characters(text))
        self._has_text = self._has_text or bool(text)
        self.has_thoughts = bool(self.has_thoughts or thoughts or self.text.thought)
        self.has_thoughts = self.has_thoughts or (self.text.is_thinking and self._has_text)
        self._size += thoughts + len(text) + sum(len(piece["args"] or "") for piece in chunk.tool_call_chunks)
        if self._size > self._longest:
            raise UselessReply("unavailable", "the reply does not end")
        return shown

    def end(self) -> str:
        """Return what was held back, now that the last chunk has come."""
        # A limit that is met inside the thinking leaves no answer.
        return "" if self._is_cut and self.text.is_thinking else self.text.rest()

    def message(self, model: str = "") -> AIMessage:
        """Return the reply as a message, once it is certain that it is complete; `model` is who made it.

        LangChain repairs cut JSON in streamed tool calls and would run a tool with half its arguments; so
        the provider must have said why the reply ended, and the raw arguments must be whole JSON objects.

        Raises:
            BrokenReply: the reply was cut, is empty, or carries arguments that are not a JSON object.
            UselessReply: the model or its provider refuses to answer, or it had no room for an answer.
        """
        text = self.text.answer or whole_characters(self._refusal)
        if not self._finish and not self._is_over:
            raise BrokenReply("the stream ended early")
        if self._is_cut and self._calls:
            raise BrokenReply("a tool call was cut")
        calls = self._calls.complete()
        if not calls and not text.strip():
            if self._finish in FILTER:
                raise UselessReply("refused", "the provider's filter took the reply")
            if self._finish in LENGTH:
                raise UselessReply("cut_length", "the length limit was reached before the answer")
            raise BrokenReply("the reply is empty")
        code = f"cut_{'length' if self._finish in LENGTH else 'filter'}"
        message = AIMessage(
            text,
            tool_calls=calls,
            id=self._id,
            additional_kwargs=self._extras,
            response_metadata={CUT: code} if self._is_cut and not self._refusal else {},
            usage_metadata=self._usage,
        )
        return self._signed.noted(message, model, self._calls.given_ids)

    @property
    def _is_cut(self) -> bool:
        return self._finish in (*LENGTH, *FILTER)

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
        return whole_characters(text)


def _thoughts(chunk: AIMessageChunk) -> int:
    blocks = chunk.content if isinstance(chunk.content, list) else []
    if not blocks and not chunk.additional_kwargs:
        return 0
    fields = [chunk.additional_kwargs.get(name) for name in THINKING_FIELDS]
    fields += [block for block in blocks if isinstance(block, dict) and block.get("type") in THINKING_BLOCKS]
    return sum(len(str(thinking)) for thinking in fields if thinking)
