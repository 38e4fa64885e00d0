"""A provider's data for the client to carry: kept with a reply, and given back to the model of that reply.

Providers refuse calls without the thinking, the signature or the items of reasoning that came with them. A reply with
calls therefore carries these, packed, as a note. The prompts of the same turn send it back. Thinking that is plain text
is sent in later turns, too: some servers want it, and the others leave it out themselves. No text of it is shown.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCall
from typing_extensions import TypedDict

from agents.state.message_notes import notes_of, with_notes

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""The key in `additional_kwargs` of langchain-google-genai's signatures of calls, by the ids of the calls."""
FIELDS, CALL_FIELDS = "server_fields", "server_call_fields"
"""`CompatibleChat`'s keys in `additional_kwargs` for a server's own fields of a message, and of its calls."""
THINKING_FIELDS = ("reasoning", "thinking", "thought")
"""The prefixes of the fields in which classes and servers keep thinking."""
THINKING_BLOCKS = ("thinking", "redacted_thinking", "reasoning")
SEALS = ("signature", "data", "encrypted_content")
"""The keys by which a provider knows its block again; it does not want a block without one back."""
PIECES = ("thinking", "text", "summary")
"""The keys of a block that come in pieces; each of the others comes whole."""
MOST_CARRIED = 400_000
"""Characters of such a note before it is packed; a longer one is not kept."""
MOST_ID = 64
"""The most characters of a call's id; a longer one carries data, such as LiteLLM's with Gemini's signature."""
CALL = "function_call"
"""The type of OpenAI's blocks for calls, which stand between its items of reasoning."""


class Carried(TypedDict):
    """The data that a reply's provider wants back."""

    model: str
    blocks: list[dict[str, Any]]
    """Blocks of thinking, in their order; a call of OpenAI's is only its place among the calls."""
    fields: dict[str, Any]
    """Fields beside the reply's text."""
    calls: dict[str, dict[str, Any]]
    """Fields of calls, by their place among the reply's calls."""
    signatures: dict[str, str]
    """Google's signatures of calls, by their place."""
    ids: dict[str, str]
    """The provider's ids of calls that carry data, by their place."""


class CarriedParts:
    """Gathers the data that a reply's provider wants back while the reply streams."""

    def __init__(self) -> None:
        self._blocks: dict[object, list[dict[str, Any]]] = {}
        self._fields: dict[str, list[Any]] = {}
        self._signatures: dict[str, str] = {}

    def take(self, chunk: AIMessageChunk) -> int:
        """Add the parts in a chunk; return how many characters of thinking they have."""
        size, extras = 0, chunk.additional_kwargs
        for name, value in ({**_thinking_in(extras), **extras.get(FIELDS, {})} if extras else {}).items():
            self._fields.setdefault(name, []).append(value)
            size += len(str(value)) if name.startswith(THINKING_FIELDS) else 0
        for block in chunk.content if isinstance(chunk.content, list) else ():
            if not isinstance(block, dict) or block.get("type") not in (*THINKING_BLOCKS, CALL):
                continue
            place, is_call = block.get("index", len(self._blocks)), block["type"] == CALL
            piece = {"type": CALL} if is_call else {key: part for key, part in block.items() if key != "index"}
            self._blocks.setdefault(place, []).append(piece)
            size += 0 if is_call else len(str(piece))
        self._signatures |= extras.get(SIGNATURES) or {}
        return size

    def noted(
        self, message: AIMessage, model: str, ids: Sequence[str | None], call_fields: Sequence[Mapping[str, Any]]
    ) -> AIMessage:
        """Return the reply with a note of its carried data; `ids` and `call_fields` are the provider's, for calls."""
        blocks = [_whole(pieces) for pieces in self._blocks.values()]
        wanted = [block for block in blocks if any(map(block.get, SEALS)) or isinstance(block.get("thinking"), list)]
        carried: Carried = {
            "model": model,
            "blocks": [block for block in blocks if block in wanted or block["type"] == CALL] if wanted else [],
            "fields": {name: _joined(pieces) for name, pieces in self._fields.items()},
            "calls": {str(place): {**fields} for place, fields in enumerate(call_fields) if fields},
            "signatures": {str(place): self._signatures[id] for place, id in enumerate(ids) if id in self._signatures},
            "ids": {str(place): id for place, id in enumerate(ids) if id and len(id) > MOST_ID},
        }
        is_empty = not any(map(carried.get, ("blocks", "fields", "calls", "signatures", "ids")))
        text = json.dumps(carried) if message.tool_calls and not is_empty else ""
        if not text or len(text) > MOST_CARRIED:
            return message
        return with_notes(message, thoughts=base64.b85encode(zlib.compress(text.encode())).decode())


def with_thoughts(message: AIMessage, model: str, *, is_past: bool = False) -> AIMessage | None:
    """Return a reply as its own model wants it back, with all its calls; None if no data goes back to it.

    `is_past`: the reply is not of this turn.
    """
    packed = notes_of(message).get("thoughts")
    if not packed:
        return None
    carried = _unpacked(packed)
    plain = [*carried["fields"].values(), *(block.get("thinking") or None for block in carried["blocks"])]
    if carried["model"] != model or (is_past and not any(isinstance(text, str) for text in plain)):
        return None
    fields, own_ids = carried["fields"], carried["ids"]
    calls: list[ToolCall] = [
        {**call, "id": own_ids.get(str(place), call["id"])} for place, call in enumerate(message.tool_calls)
    ]
    own = {CALL_FIELDS: {calls[int(place)]["id"]: beside for place, beside in carried["calls"].items()}}
    signatures = {calls[int(place)]["id"]: signature for place, signature in carried["signatures"].items()}
    return AIMessage(
        _content(message, calls, carried["blocks"]) if carried["blocks"] else message.text,
        tool_calls=calls,
        id=message.id,
        # LangChain's classes look for thinking beside the message; the server writes nothing else there.
        additional_kwargs={
            **_thinking_in(fields),
            **own,
            FIELDS: fields,
            **({SIGNATURES: signatures} if signatures else {}),
        },
    )


def _thinking_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value and name.startswith(THINKING_FIELDS)}


@lru_cache(maxsize=256)
def _unpacked(packed: str) -> Carried:
    """Return the data of a note; the notes of a history are read for each prompt."""
    carried: Carried = json.loads(zlib.decompress(base64.b85decode(packed)))
    if "fields" not in carried:
        # An older version of the application kept nothing but signatures of calls there.
        carried = {**carried, "fields": {}, "calls": {}, "signatures": carried["calls"]}
    return {**carried, "ids": carried.get("ids", {})}


def _content(
    message: AIMessage, tool_calls: Sequence[ToolCall], blocks: Sequence[dict[str, Any]]
) -> list[str | dict[str, Any]]:
    """Return the blocks with the reply's text before the first call, and with the calls in their places."""
    calls, content = iter(tool_calls), list[str | dict[str, Any]]()
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    for block in blocks:
        if block["type"] != CALL:
            content.append(block)
        elif call := next(calls, None):
            content += text
            arguments = json.dumps(call["args"], ensure_ascii=False)
            content.append({**block, "name": call["name"], "arguments": arguments, "call_id": call["id"]})
            text = []
    return [*content, *text]


def _whole(pieces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    keys = dict.fromkeys(key for piece in pieces for key in piece)
    values = {key: [piece[key] for piece in pieces if piece.get(key) is not None] for key in keys}
    return {key: _joined(parts) if key in PIECES else parts[-1] for key, parts in values.items() if parts}


def _joined(pieces: Sequence[Any]) -> Any:
    """Return the pieces of a value as one; in lists, blocks of one type and index are one block.

    Without an index, thinking is one block up to its seal.
    """
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    if not all(isinstance(piece, list) for piece in pieces):
        return pieces[-1]
    blocks: dict[object, list[Mapping[str, Any]]] = {}
    seals = 0
    for block in (block for piece in pieces for block in piece if isinstance(block, Mapping)):
        is_piece = "index" in block or block.keys() == {"type", "text"} or block.get("type") in THINKING_BLOCKS
        key = (block.get("type"), block.get("index", seals)) if is_piece else len(blocks)
        parts = blocks.setdefault(key, [])
        if any(map(block.get, SEALS)):
            seals += 1
            if block.get("thinking") and block["thinking"] == _whole(parts).get("thinking"):
                # LiteLLM repeats the text beside its seal.
                parts.clear()
        parts.append(block)
    return [_whole(parts) for parts in blocks.values()]
