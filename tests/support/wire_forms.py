"""Answers of servers that require their own data back, or speak another form, for `odd_provider.Provider`.

All play the same small model: a wish with "milk" in it becomes a call, a result becomes "Noted.", all else "Gladly.".
A request that lacks the server's earlier data gets the provider's refusal.
"""

import json
from collections.abc import Sequence
from typing import Any

from tests.support.odd_provider import HEAD, Chunk, Reply, delta, end, refuse, words
from tests.support.user_words import bare

SECRET, SEAL = "They want milk, I think.", "c2VhbA=="
"""A model's reasoning, and the seal of its provider."""
CALLS = {"add_todos": {"items": ["milk"]}, "plan_things": {"brief": "milk"}}


def deepseek(body: dict[str, Any]) -> Reply:
    """Think in a field of its own; every reply with a call, of any turn, comes back with it."""
    if not all((reply.get("reasoning_content") or "") for reply in _with_calls(body)):
        return _refused("The `reasoning_content` in the thinking mode must be passed back to the API.")
    thinking: list[Chunk] = [delta(reasoning_content=part) for part in (SECRET[:9], SECRET[9:])]
    return [*thinking, *_answer(body)]


def gemini(body: dict[str, Any]) -> Reply:
    """Sign a call beside its function; this turn's calls come back with the signature."""
    signed = {"google": {"thought_signature": SEAL}}
    calls = [call for reply in _with_calls(body, this_turn=True) for call in reply["tool_calls"]]
    if not all(call.get("extra_content") == signed for call in calls):
        return _refused("Function call is missing a thought_signature in functionCall parts.")
    return _answer(body, extra_content=signed)


def openrouter(body: dict[str, Any]) -> Reply:
    """Send blocks of reasoning in pieces; this turn's calls come back with them whole."""
    part = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    whole = [{**part, "text": SECRET, "signature": SEAL}]
    if not all(reply.get("reasoning_details") == whole for reply in _with_calls(body, this_turn=True)):
        return _refused("Invalid `signature` in `thinking` block")
    details: list[Chunk] = [
        delta(reasoning_details=[{**part, "text": SECRET[:9]}]),
        delta(reasoning_details=[{**part, "text": SECRET[9:]}]),
        delta(reasoning_details=[{**part, "signature": SEAL}]),
    ]
    return [*details, *_answer(body)]


def litellm(body: dict[str, Any]) -> Reply:
    """Send a block of thinking in pieces without a number, the last one whole; the next block is sealed alone."""
    whole = [{"type": "thinking", "thinking": SECRET, "signature": SEAL}, {"type": "redacted_thinking", "data": SEAL}]
    if not all(reply.get("thinking_blocks") == whole for reply in _with_calls(body, this_turn=True)):
        return _refused("Invalid `signature` in `thinking` block")
    pieces = [{"type": "thinking", "thinking": part, "signature": ""} for part in (SECRET[:9], SECRET[9:])]
    return [*(delta(thinking_blocks=[piece]) for piece in [*pieces, *whole]), *_answer(body)]


def with_data_in_ids(body: dict[str, Any]) -> Reply:
    """Put a signature into the id of a call, as LiteLLM does; this turn's calls and their results come back with it."""
    id = f"call_1__thought__{SEAL * 10}"
    calls = [call["id"] for reply in _with_calls(body, this_turn=True) for call in reply["tool_calls"]]
    results = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"][-len(calls) :]
    if not {*calls, *(results if calls else [])} <= {id}:
        return _refused("Function call is missing a thought_signature in functionCall parts.")
    return _answer(body, id=id)


def closed(body: dict[str, Any]) -> Reply:
    """Think in a field of its own, and take no such field back."""
    if any("reasoning" in message for message in body["messages"]):
        return _refused("'messages.2' : property 'reasoning' is unsupported")
    return [delta(reasoning=SECRET), *_answer(body)]


def filled(body: dict[str, Any]) -> Reply:
    """Take no content that is null."""
    if any(message.get("content") is None for message in body["messages"]):
        return _refused("invalid message content type: <nil>")
    return _answer(body)


def responses(body: dict[str, Any]) -> Reply:
    """Speak OpenAI's form of responses, keep nothing, and want reasoning back sealed, before its call."""
    if "messages" in body:
        return _refused("This model is only supported in v1/responses and not in v1/chat/completions.", 404)
    items = body["input"]
    newest = max(place for place, item in enumerate(items) if item.get("role") == "user")
    for place, item in enumerate(items):
        if item["type"] == "reasoning" and (not item.get("encrypted_content") or body["store"] is not False):
            return _refused(f"Item with id '{item['id']}' not found.", 404)
        if item["type"] == "function_call" and place > newest and items[place - 1]["type"] != "reasoning":
            return _refused("'function_call' was provided without its required 'reasoning' item")
    named = _wish(str(items[newest]["content"]), items[-1]["type"] == "function_call_output", body.get("tools", ()))
    reasoning = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": SEAL}
    sealed = [reasoning] if "reasoning.encrypted_content" in body.get("include", ()) else []
    if named in CALLS:
        call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": named, "status": "completed"}
        return events(*sealed, {**call, "arguments": json.dumps(CALLS[named])})
    return events(*sealed, said(named))


def said(text: str, kind: str = "output_text") -> dict[str, Any]:
    """Return an item of words, or of a refusal."""
    part: dict[str, Any] = {"type": kind, ("refusal" if kind == "refusal" else "text"): text}
    part |= {} if kind == "refusal" else {"annotations": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def events(*items: dict[str, Any], last: str = "completed", reason: str | None = None) -> bytes:
    """Return a response of these items; `last` is how it ends, "" if it breaks off."""
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "tools": [], "tool_choice": "auto"}
    response |= {"parallel_tool_calls": True, "output": [], "error": None, "incomplete_details": None}
    told: list[dict[str, Any]] = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
    for place, item in enumerate(items):
        at = {"output_index": place, "item_id": item["id"], "content_index": 0}
        begun = {**item, "content": []} if item["type"] == "message" else item
        begun = {**begun, "arguments": ""} if item["type"] == "function_call" else begun
        told.append({"type": "response.output_item.added", "output_index": place, "item": begun})
        if item["type"] == "function_call":
            told.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
        for part in item.get("content", ()):
            if part["type"] == "refusal":
                told.append({"type": "response.refusal.done", **at, "refusal": part["refusal"]})
            else:
                told += [
                    {"type": "response.output_text.delta", **at, "delta": word, "logprobs": []}
                    for word in part["text"].split(" ")[:1] + [f" {word}" for word in part["text"].split(" ")[1:]]
                ]
        told.append({"type": "response.output_item.done", "output_index": place, "item": item})
    usage = {"input_tokens": 1100, "input_tokens_details": {"cached_tokens": 1024}, "output_tokens": 7}
    usage |= {"output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 1107}
    ended = {**response, "status": last, "output": items, "usage": usage}
    ended |= {"incomplete_details": {"reason": reason}} if reason else {}
    ended |= {"error": {"code": "server_error", "message": "An error occurred."}} if last == "failed" else {}
    told += [{"type": f"response.{last}", "response": ended}] if last else []
    lines = [
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
        for number, event in enumerate(told)
    ]
    return HEAD + "".join(lines).encode()


def _answer(body: dict[str, Any], **beside: Any) -> list[Chunk]:
    """Return the model's reply in pieces of chat completions; `beside` stands beside a call's function."""
    messages = body["messages"]
    user = [message["content"] for message in messages if message["role"] == "user"][-1]
    offered = [tool["function"] for tool in body.get("tools", ())]
    named = _wish(str(user), messages[-1]["role"] == "tool", offered)
    if named not in CALLS:
        return words(named)
    function = {"name": named, "arguments": json.dumps(CALLS[named])}
    call = {"index": 0, "id": "function-call-1", "type": "function", "function": function, **beside}
    return [delta(role="assistant", content=None, tool_calls=[call]), end("tool_calls")]


def _wish(user: str, has_result: bool, tools: Sequence[dict[str, Any]]) -> str:
    """Return the model's tool call, or its words."""
    if not tools:
        return "stay"
    offered = [name for name in CALLS if name in [tool["name"] for tool in tools]]
    if has_result:
        return "Noted."
    return offered[0] if offered and "milk" in bare(user) else "Gladly."


def _with_calls(body: dict[str, Any], *, this_turn: bool = False) -> list[dict[str, Any]]:
    messages = body["messages"]
    newest = max(place for place, message in enumerate(messages) if message["role"] == "user")
    return [
        message
        for place, message in enumerate(messages)
        if message.get("tool_calls") and (place > newest or not this_turn)
    ]


def _refused(words: str, status: int = 400) -> bytes:
    return refuse(status, {"message": words, "type": "invalid_request_error"})
