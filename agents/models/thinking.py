"""Thinking in a reply: taken out of its text while that streams, and kept signed for the provider that wants it back.

Servers without a reasoning parser leave a model's thinking in the text, between tags that differ by model. Some chat
templates open the tag in the prompt; the text then begins inside the thinking and only has the closing tag.

Anthropic refuses the results of a call whose thinking is missing, and Gemini a call without its signature. Both sign
what they send. A reply with calls therefore carries it, packed, as a note; the prompts of the same turn send it back to
the model that it came from. No text of it is shown, and none reaches a later turn.
"""

import base64
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from typing_extensions import TypedDict

from agents.state.message_notes import notes, notes_of

TAGS: Sequence[tuple[str, str]] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel>thought", "<channel|>"),
)
"""Opening and closing tags, as models write them: DeepSeek, Qwen, Seed, Magistral, Kimi, Command, gpt-oss, Gemma."""
MARKS = ("<|start|>assistant", "<|channel|>final<|message|>", "<|return|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>")
"""Marks of an answer that stand around it and belong to nothing."""

_EVERY_TAG = (*MARKS, *(tag for pair in TAGS for tag in pair))
_CLOSED_BY = {opening.casefold(): closing.casefold() for opening, closing in TAGS}
_CLOSING = re.compile("|".join(re.escape(closing) for _, closing in TAGS), re.IGNORECASE)
_TAG = re.compile("|".join(re.escape(tag) for tag in _EVERY_TAG), re.IGNORECASE)
_BEGINNINGS = {tag.casefold()[:size] for tag in _EVERY_TAG for size in range(1, len(tag) + 1)}
_LONGEST = max(map(len, _EVERY_TAG))
_FIRST = re.compile("|".join(re.escape(first) for first in sorted({tag[0] for tag in _EVERY_TAG})))
"""What a tag begins with. Most pieces of a text have none of it."""


class ThinkingFilter:
    """Takes the pieces of a text and returns what may be shown of it; a tag may be split over pieces.

    `headless`: the text is expected to begin inside the thinking; nothing is shown until it closes.
    """

    def __init__(self, *, headless: bool = False) -> None:
        self.answer = ""
        """The answer so far; it begins anew behind a closing tag without an opening one."""
        self.unopened = False
        """Whether a closing tag without an opening one came: all that was shown before it was thinking."""
        self.thought = False
        self._buffer = ""
        self._is_headless = headless
        """Whether the text is inside thinking that it did not open: any closing tag ends it."""
        self._closing: str | None = None

    @property
    def is_thinking(self) -> bool:
        """Whether the text is inside the thinking."""
        return self._is_headless or self._closing is not None

    def feed(self, piece: str) -> str:
        """Return what may be shown now that this piece has come."""
        self._buffer += piece
        shown = self._read_tags()
        held = len(self._buffer) if self._is_headless else _possible_tag(self._buffer)
        ready = len(self._buffer) - held
        text, self._buffer = self._buffer[:ready], self._buffer[ready:]
        return shown + self._show(text)

    def rest(self) -> str:
        """Return what was still held back at the end of the text.

        A headless text that never closed its thinking was an answer from the start.
        """
        self._is_headless = False
        shown = self._read_tags()
        text, self._buffer = self._buffer, ""
        return shown + self._show(text)

    def _read_tags(self) -> str:
        """Take the text up to the last whole tag from the buffer; return what may be shown of it."""
        shown = ""
        while tag := (_CLOSING if self._is_headless else _TAG).search(self._buffer):
            shown += self._show(self._buffer[: tag.start()])
            self._buffer = self._buffer[tag.end() :]
            self._pass(tag[0].casefold())
        return shown

    def _pass(self, tag: str) -> None:
        if self._is_headless:
            self._is_headless, self.thought = False, True
        elif self._closing is not None:
            self._closing = None if tag == self._closing else self._closing
        elif tag in _CLOSED_BY:
            self._closing, self.thought = _CLOSED_BY[tag], True
        elif _CLOSING.fullmatch(tag):
            self.unopened = self.thought = True
            self.answer = ""

    def _show(self, text: str) -> str:
        """Add text to the answer, unless it is thinking, or white space before the answer; return what was added."""
        if self.is_thinking:
            return ""
        if not self.answer:
            text = text.lstrip()
        self.answer += text
        return text


def without_thinking(text: str) -> str:
    """Return the answer in a whole text; what stands before a closing tag without an opening one is thinking."""
    reader = ThinkingFilter()
    reader.feed(text)
    reader.rest()
    return reader.answer


def _possible_tag(text: str) -> int:
    end = text[-_LONGEST:].casefold()
    if not _FIRST.search(end):
        return 0
    return next((size for size in range(len(end), 0, -1) if end[-size:] in _BEGINNINGS), 0)


SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Where langchain-google-genai keeps the signatures of calls in `additional_kwargs`, by the ids of the calls."""
SEALS = ("signature", "data")
"""The keys of a block by which its provider knows it again; a block without any is not wanted back."""


class Signed(TypedDict):
    """What one reply's provider wants back."""

    model: str
    blocks: list[dict[str, Any]]
    """Signed blocks of thinking, in their order."""
    calls: dict[str, str]
    """Signatures of calls, by their place among the reply's calls."""


class SignedThoughts:
    """Gathers the signed parts of a reply while it streams."""

    def __init__(self) -> None:
        self._blocks: dict[object, dict[str, Any]] = {}
        self._signatures: dict[str, str] = {}

    def take(self, chunk: AIMessageChunk) -> None:
        """Add the parts that stand in a chunk; a block comes in pieces with one index."""
        for piece in chunk.content if isinstance(chunk.content, list) else []:
            if isinstance(piece, dict) and piece.get("type") in ("thinking", "redacted_thinking"):
                block = self._blocks.setdefault(piece.get("index", len(self._blocks)), {"type": piece["type"]})
                for name in ("thinking", *SEALS):
                    if isinstance(piece.get(name), str):
                        block[name] = block.get(name, "") + piece[name]
        self._signatures |= chunk.additional_kwargs.get(SIGNATURES) or {}

    def noted(self, message: AIMessage, model: str, ids: Sequence[str | None]) -> AIMessage:
        """Return the reply with what its calls will need as a note; `ids` are those that the provider gave to them."""
        blocks = [block for block in self._blocks.values() if any(block.get(seal) for seal in SEALS)]
        calls = {str(place): self._signatures[id] for place, id in enumerate(ids) if id in self._signatures}
        if not message.tool_calls or not (blocks or calls):
            return message
        signed: Signed = {"model": model, "blocks": blocks, "calls": calls}
        packed = base64.b85encode(zlib.compress(json.dumps(signed).encode())).decode()
        return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **notes(thoughts=packed)}})


def with_thoughts(message: AIMessage, model: str) -> AIMessage | None:
    """Return a reply as its own model wants it back, with all its calls; None if that model wants nothing back."""
    packed = notes_of(message).get("thoughts")
    if not packed:
        return None
    signed: Signed = json.loads(zlib.decompress(base64.b85decode(packed)))
    if signed["model"] != model:
        return None
    calls = message.tool_calls
    signatures = {calls[int(place)]["id"]: signature for place, signature in signed["calls"].items()}
    text_blocks = [{"type": "text", "text": message.text}] if message.text.strip() else []
    return AIMessage(
        [*signed["blocks"], *text_blocks],
        tool_calls=calls,
        id=message.id,
        additional_kwargs={SIGNATURES: signatures} if signatures else {},
    )
