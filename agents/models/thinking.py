"""Signed thinking: kept with a reply for the provider that wants it back.

Anthropic refuses the results of a call whose thinking is missing, and Gemini a call without its signature. Both sign
what they send. A reply with calls therefore carries it, packed, as a note; the prompts of the same turn send it back to
the model that it came from. No text of it is shown, and none reaches a later turn.
"""

import base64
import json
import zlib
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AIMessageChunk
from typing_extensions import TypedDict

from agents.state.message_notes import notes_of, with_notes

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Where langchain-google-genai keeps the signatures of calls in `additional_kwargs`, by the ids of the calls."""
SEALS = ("signature", "data")
"""The keys by which a provider knows its block again; it does not want a block without any back."""


class Signed(TypedDict):
    """What one reply's provider wants back."""

    model: str
    blocks: list[dict[str, object]]
    """Signed blocks of thinking, in their order."""
    calls: dict[str, str]
    """Signatures of calls, by their place among the reply's calls."""


class SignedThoughts:
    """Gathers the signed parts of a reply while it streams."""

    def __init__(self) -> None:
        self._blocks: dict[object, dict[str, object]] = {}
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
        return with_notes(message, thoughts=packed)


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
