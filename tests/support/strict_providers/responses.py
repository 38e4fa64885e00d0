"""OpenAI's Responses without a store: strict items, reasoning that comes back, streams without a finish reason."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.support.strict_providers.script import Reply, Script
from tests.support.strict_providers.server import Refusal

Item = dict[str, Any]
FIELDS = (
    *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "store", "include"),
    *("reasoning", "text", "temperature", "max_output_tokens", "prompt_cache_key", "truncation", "metadata"),
)
TOOL_KEYS = frozenset(("type", "name", "description", "parameters", "strict"))
KEYS: Mapping[str, frozenset[str]] = {
    "message": frozenset(("type", "role", "content", "id", "status", "phase")),
    "function_call": frozenset(("type", "name", "arguments", "call_id", "id", "status")),
    "function_call_output": frozenset(("type", "call_id", "output", "id", "status")),
    "reasoning": frozenset(("type", "summary", "id", "encrypted_content", "content", "status")),
}
"""The kinds of items, and the keys that each may have."""
PARTS = {"user": ("input_text", "input_image"), "assistant": ("output_text", "refusal")}
SEALED = "sealed thinking"


@dataclass
class ResponsesForm:
    """A server of responses that keeps none; its model thinks before each reply."""

    path: str = "/v1/responses"
    overflow: str = "Your input exceeds the context window of this model. Please adjust your input and try again."
    _ids: Iterator[int] = field(default_factory=count)

    def check(self, body: dict[str, Any]) -> None:
        """Raise Refusal for what the form does not take."""
        for name in body:
            if name not in FIELDS:
                raise Refusal(f"field {name}", f"Unknown parameter: '{name}'.")
        if body.get("store") is not False or "reasoning.encrypted_content" not in body.get("include", ()):
            raise Refusal(
                "store", "Nothing is stored here: set store to false and include reasoning.encrypted_content."
            )
        for place, tool in enumerate(body.get("tools", ())):
            if tool.get("type") != "function" or not {*tool} <= TOOL_KEYS or not tool.get("name"):
                raise Refusal("tool", f"Missing required parameter: 'tools[{place}].name'.")
        items = _items(body["input"])
        last_question = max(place for place, item in enumerate(items) if item.get("role") == "user")
        self._check_items(items)
        _check_pairs(items)
        for place, item in enumerate(items):
            if item["type"] == "function_call" and place > last_question and not _has_reasoning(items, place):
                raise Refusal(
                    "reasoning",
                    f"Item '{item['call_id']}' of type 'function_call' was provided without its "
                    "required 'reasoning' item.",
                )

    @staticmethod
    def _check_items(items: Sequence[Item]) -> None:
        for place, item in enumerate(items):
            kind = item["type"]
            if kind not in KEYS or not {*item} <= KEYS[kind]:
                raise Refusal("item", f"Invalid value: 'input[{place}]': {kind} {sorted(item)}")
            if kind == "reasoning":
                if item.get("encrypted_content") != SEALED:
                    raise Refusal("reasoning", f"Item with id '{item.get('id')}' not found. Items are not persisted.")
                if place + 1 == len(items) or items[place + 1]["type"] == "function_call_output":
                    raise Refusal("reasoning", f"input[{place}]: reasoning was provided without its following item.")
            parts = item.get("content") if kind == "message" else None
            for part in parts if isinstance(parts, list) else ():
                if part["type"] not in PARTS.get(item["role"], (*PARTS["user"],)):
                    raise Refusal("part", f"Invalid value: '{part['type']}' in input[{place}].")

    def reply(self, body: dict[str, Any], script: Script) -> Reply:
        """Return the model's answer to a request."""
        items = _items(body["input"])
        last = max(place for place, item in enumerate(items) if item.get("role") == "user")
        called = [item["name"] for item in items[last:] if item["type"] == "function_call"]
        offered = [tool["name"] for tool in body.get("tools", ())]
        return script.reply(_words(items[last]["content"]), offered, called, thinks=True)

    def events(self, reply: Reply) -> Sequence[str]:
        """Return the reply as the events of a stream."""
        told: list[dict[str, Any]] = [{"type": "response.created", "response": self._response([], "in_progress")}]
        items = self._output(reply)
        for place, item in enumerate(items):
            opened = {name: value for name, value in item.items() if name != "encrypted_content"}
            told.append({"type": "response.output_item.added", "output_index": place, "item": _begun(opened)})
            told += [{"output_index": place, "item_id": item["id"], **event} for event in _pieces(item, reply)]
            told.append({"type": "response.output_item.done", "output_index": place, "item": item})
        is_cut = reply.end == "cut"
        end = "incomplete" if is_cut else "completed"
        told.append({"type": f"response.{end}", "response": self._response(items, end)})
        return [_event({**event, "sequence_number": number}) for number, event in enumerate(told)]

    def whole(self, reply: Reply) -> object:
        """Return the reply as one object."""
        return self._response(self._output(reply), "incomplete" if reply.end == "cut" else "completed")

    def error(self, refusal: Refusal) -> object:
        """Return a refusal as the body of an error."""
        code = "context_length_exceeded" if refusal.rule == "overflow" else None
        return {"error": {"message": refusal.words, "type": "invalid_request_error", "param": None, "code": code}}

    def broken(self) -> str:
        """Return the event that tells of an error in the middle of a stream."""
        error = {"type": "error", "code": "server_error", "message": "The server had an error", "param": None}
        return _event({**error, "sequence_number": 0})

    def _output(self, reply: Reply) -> list[Item]:
        items: list[Item] = []
        if reply.thoughts:
            item = {"type": "reasoning", "id": self._id("rs"), "summary": [], "encrypted_content": SEALED}
            items.append(item)
        status = "incomplete" if reply.end == "cut" else "completed"
        if reply.end == "refusal":
            part: Item = {"type": "refusal", "refusal": reply.text}
        else:
            part = {"type": "output_text", "text": reply.text, "annotations": []}
        if reply.text:
            message = {"type": "message", "id": self._id("msg"), "role": "assistant"}
            items.append({**message, "status": status, "content": [part]})
        for call in reply.calls:
            arguments = call.json[: len(call.json) // 2] if reply.end == "cut" else call.json
            named = {"type": "function_call", "id": self._id("fc"), "call_id": self._id("call"), "name": call.name}
            items.append({**named, "arguments": arguments, "status": status})
        return items

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self._ids)}"

    def _response(self, items: Sequence[Item], status: str) -> Item:
        details = {"reason": "max_output_tokens"} if status == "incomplete" else None
        tokens = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        details_of = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = None if status == "in_progress" else {**tokens, **details_of}
        about = {"id": self._id("resp"), "object": "response", "created_at": 0, "model": "m", "status": status}
        fixed = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
        return {**about, **fixed, "incomplete_details": details, "output": [*items], "usage": usage}


def _items(given: str | Sequence[Item]) -> list[Item]:
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [{"type": "message", **item} for item in given]


def _check_pairs(items: Sequence[Item]) -> None:
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    results = [item["call_id"] for item in items if item["type"] == "function_call_output"]
    if missing := {*calls} ^ {*results}:
        raise Refusal("pairs", f"No tool output found for function call {min(missing)}.")


def _has_reasoning(items: Sequence[Item], place: int) -> bool:
    """Tell whether there is reasoning before a call, in the same reply."""
    for item in reversed(items[:place]):
        if item["type"] == "reasoning":
            return True
        if item["type"] == "function_call_output" or item.get("role") == "user":
            return False
    return False


def _begun(item: Item) -> Item:
    empties: Mapping[str, Item] = {"message": {"content": []}, "function_call": {"arguments": ""}}
    return {**item, **empties.get(item["type"], {}), "status": "in_progress"}


def _pieces(item: Item, reply: Reply) -> Iterator[Item]:
    """Yield the events between the beginning and the end of an item."""
    if item["type"] == "function_call":
        yield {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", "arguments": item["arguments"], "name": item["name"]}
    elif item["type"] == "message":
        (part,) = item["content"]
        kind, named = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
        empty = {**part, named: ""}
        yield {"type": "response.content_part.added", "content_index": 0, "part": empty}
        for word in reply.words:
            yield {"type": f"response.{kind}.delta", "content_index": 0, "delta": word, "logprobs": []}
        yield {"type": f"response.{kind}.done", "content_index": 0, named: part[named], "logprobs": []}
        yield {"type": "response.content_part.done", "content_index": 0, "part": part}


def _words(content: str | Sequence[Item]) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _event(data: Item) -> str:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"
