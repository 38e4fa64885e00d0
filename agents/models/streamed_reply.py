"""One reply while it streams: what may be shown of it at once, and the checked message that it makes in the end.

Servers differ in what they send. All that is known to differ is evened out here, for every provider alike.
"""

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata, add_usage

from agents.errors import BrokenReply, UselessReply
from agents.models import MOST_CHARACTERS
from agents.models.signed_thoughts import SIGNATURES, SignedThoughts
from agents.models.streamed_calls import StreamedCalls, whole_characters
from agents.models.thinking import ThinkingFilter

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
        """Whether the model has been seen thinking."""
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
        """Join a character whose two halves came in two pieces."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole_characters(text)


def _thoughts(chunk: AIMessageChunk) -> int:
    """Return how many characters of thinking stand beside the text of a chunk."""
    blocks = chunk.content if isinstance(chunk.content, list) else []
    if not blocks and not chunk.additional_kwargs:
        return 0
    fields = [chunk.additional_kwargs.get(name) for name in THINKING_FIELDS]
    fields += [block for block in blocks if isinstance(block, dict) and block.get("type") in THINKING_BLOCKS]
    return sum(len(str(thinking)) for thinking in fields if thinking)
