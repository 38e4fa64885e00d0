"""OpenAI's chat completions under rules that other servers of the form have."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from tests.support.strict_providers.script import Call, Reply, Script
from tests.support.strict_providers.server import Refusal

Message = Mapping[str, Any]
FIELDS = ("model", "messages", "tools", "tool_choice", "stream", "temperature")
"""The fields that every server of the form takes."""
EXTRAS = ("stream_options", "max_tokens", "max_completion_tokens", "parallel_tool_calls", "prompt_cache_key")
"""The fields that some servers take besides."""
ENDS = {"whole": "stop", "cut": "length", "refusal": "stop"}


@dataclass(frozen=True)
class Rules:
    """A server's differences from OpenAI's."""

    refused: Sequence[str] = ()
    """The extras that it does not take."""
    null: bool = True
    empty: bool = True
    """Whether a message may have null, or an empty text, for its content."""
    thinking: str = ""
    """The field in which it sends what the model thinks; empty: the model does not think by itself."""
    wanted: Literal["", "turn", "always"] = ""
    """Whether a message with calls must have its thinking: in its own turn, or in every later one, too."""
    signed: bool = False
    """Whether each call has a signature that must come back with it."""
    details: bool = False
    """Whether the thinking comes as a list of details that must come back as it was."""
    needs_no_effort: bool = False
    """Whether tools are only taken with `reasoning_effort` "none"; the refusal names the other form."""
    call_id: str = r".+"
    """The pattern of the ids of calls."""
    known_keys: Mapping[str, Sequence[str]] | None = None
    """The keys that a message of a role may have."""
    filters: bool = False
    """Whether a refusal is the filter's: an error in place of a reply."""
    failing: Literal["error", "event", "end"] = "error"
    """The form of an error in mid-stream: an object, an event with a name, a chunk that ends the reply."""
    error: Literal["nested", "list", "text", "detail"] = "nested"
    overflow: str = "This model's maximum context length is 8192 tokens. Please send a shorter prompt."
    words: str = "Unrecognized request argument supplied: {field}"
    """The words with which it refuses a field."""


def _nested(refusal: Refusal) -> object:
    code = {"filter": "content_filter", "overflow": "context_length_exceeded"}.get(refusal.rule)
    return {"error": {"message": refusal.words, "type": "invalid_request_error", "param": None, "code": code}}


def _list(refusal: Refusal) -> object:
    return [{"error": {"code": refusal.status, "message": refusal.words, "status": "INVALID_ARGUMENT"}}]


def _text(refusal: Refusal) -> object:
    return {"code": "invalid-argument", "error": refusal.words}


def _detail(refusal: Refusal) -> object:
    return {"detail": [{"loc": ["body"], "msg": refusal.words, "type": "extra_forbidden"}]}


ERRORS: Mapping[str, Callable[[Refusal], object]] = {"nested": _nested, "list": _list, "text": _text, "detail": _detail}


@dataclass
class ChatForm:
    """A server of chat completions."""

    rules: Rules = field(default_factory=Rules)
    path: str = "/v1/chat/completions"
    _ids: Iterator[int] = field(default_factory=count)
    _signed: list[object] = field(default_factory=list)
    """Data beside the calls of this server that must come back unchanged."""

    @property
    def overflow(self) -> str:
        """The refusal of a too long prompt."""
        return self.rules.overflow

    def check(self, body: dict[str, Any]) -> None:
        """Raise Refusal for what the form does not take."""
        allowed = {*FIELDS, *EXTRAS, "reasoning_effort"} - {*self.rules.refused}
        for name in body:
            if name not in allowed:
                raise Refusal(f"field {name}", self.rules.words.format(field=name), self._status)
        if self.rules.needs_no_effort and body.get("tools") and body.get("reasoning_effort") != "none":
            words = "Function tools with reasoning_effort are not supported in /v1/chat/completions. Use /v1/responses"
            raise Refusal("effort", f"{words} or set reasoning_effort to 'none'.")
        self._check_messages(body["messages"])

    @property
    def _status(self) -> int:
        return 422 if self.rules.error == "detail" else 400

    def _check_messages(self, messages: Sequence[Message]) -> None:
        last_question = max(place for place, message in enumerate(messages) if message["role"] == "user")
        due: list[str] = []
        for place, message in enumerate(messages):
            self._check_message(place, message)
            if message["role"] == "tool":
                if message["tool_call_id"] not in due:
                    raise Refusal("pairs", f"messages.{place}: a result without its call")
                due.remove(message["tool_call_id"])
            elif due:
                raise Refusal("pairs", f"messages.{place}: results of calls are missing")
            due = due or [call["id"] for call in message.get("tool_calls", ())]
            if message.get("tool_calls") and (self.rules.wanted == "always" or place > last_question):
                self._check_carried(place, message)
        if due:
            raise Refusal("pairs", "results of calls are missing")

    def _check_message(self, place: int, message: Message) -> None:
        known = (self.rules.known_keys or {}).get(message["role"])
        if known and (odd := set(message) - {*known}):
            raise Refusal("key", f"messages.{place}: property '{min(odd)}' is unsupported")
        if not self.rules.null and message.get("content") is None:
            raise Refusal("null", f"messages.{place}.content: none is not an allowed value", self._status)
        if not self.rules.empty and message.get("content") in ("", []):
            raise Refusal("empty", f"messages.{place}.content: text must not be empty", self._status)
        for call in message.get("tool_calls", ()):
            if not re.fullmatch(self.rules.call_id, call["id"]):
                raise Refusal("id", f"messages.{place}: Tool call id has to be {self.rules.call_id}")

    def _check_carried(self, place: int, message: Message) -> None:
        """Refuse a message with calls that lacks what came with them."""
        if self.rules.wanted and not message.get(self.rules.thinking):
            raise Refusal(
                "thinking", f"The `{self.rules.thinking}` in the thinking mode must be passed back to the API."
            )
        if self.rules.details and [part.get("data") for part in message.get("reasoning_details", ())] != ["sealed"]:
            raise Refusal("details", f"messages.{place}: reasoning_details of a call are missing")
        for call in message["tool_calls"] if self.rules.signed else ():
            if call.get("extra_content") not in self._signed:
                raise Refusal("signature", f"Function call {place} is missing a thought_signature in extra_content.")

    def reply(self, body: dict[str, Any], script: Script) -> Reply:
        """Return the model's answer to a request."""
        messages: list[Message] = body["messages"]
        last = max(place for place, message in enumerate(messages) if message["role"] == "user")
        called = [call["function"]["name"] for message in messages[last:] for call in message.get("tool_calls", ())]
        offered = [tool["function"]["name"] for tool in body.get("tools", ())]
        is_thinker = bool(self.rules.thinking or self.rules.details)
        reply = script.reply(_words(messages[last]["content"]), offered, called, thinks=is_thinker)
        if reply.end == "refusal" and self.rules.filters:
            raise Refusal("filter", "The response was filtered due to the prompt triggering our content policy.")
        return reply

    def events(self, reply: Reply) -> Sequence[str]:
        """Return the reply as the events of a stream."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [self._thinking(reply)] if reply.thoughts else []
        deltas += [{"content": word} for word in reply.words]
        for place, call in enumerate(self._calls(reply)):
            arguments = call["function"]["arguments"]
            arguments = arguments[: len(arguments) // 2] if reply.end == "cut" else arguments
            deltas.append({"tool_calls": [{"index": place, **call, "function": {**call["function"], "arguments": ""}}]})
            deltas.append({"tool_calls": [{"index": place, "function": {"arguments": arguments}}]})
        chunks: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": self._end(reply)})
        return [
            *(_event({"object": "chat.completion.chunk", "choices": [chunk]}) for chunk in chunks),
            _event("[DONE]"),
        ]

    def whole(self, reply: Reply) -> object:
        """Return the reply as one object."""
        message = {"role": "assistant", "content": reply.text or None, **self._thinking(reply)}
        calls = self._calls(reply)
        choice = {"index": 0, "message": message | ({"tool_calls": calls} if calls else {})}
        return {"object": "chat.completion", "choices": [{**choice, "finish_reason": self._end(reply)}]}

    def error(self, refusal: Refusal) -> object:
        """Return a refusal as the body of an error."""
        return ERRORS[self.rules.error](refusal)

    def broken(self) -> str:
        """Return the event that tells of an error in the middle of a stream."""
        error = {"message": "The server had an error", "type": "server_error", "code": 502}
        if self.rules.failing == "end":
            choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
            return _event({"object": "chat.completion.chunk", "error": error, "choices": [choice]}) + _event("[DONE]")
        name = "event: error\n" if self.rules.failing == "event" else ""
        return f"{name}{_event({'error': error})}"

    def _end(self, reply: Reply) -> str:
        return "tool_calls" if reply.calls and reply.end == "whole" else ENDS[reply.end]

    def _thinking(self, reply: Reply) -> dict[str, Any]:
        if not reply.thoughts:
            return {}
        if self.rules.details:
            return {"reasoning_details": [{"type": "reasoning.encrypted", "data": "sealed", "id": "r", "index": 0}]}
        return {self.rules.thinking or "reasoning_content": reply.thoughts}

    def _calls(self, reply: Reply) -> list[dict[str, Any]]:
        return [self._call(call) for call in reply.calls]

    def _call(self, call: Call) -> dict[str, Any]:
        own_id = f"{next(self._ids):09d}"
        function = {"name": call.name, "arguments": call.json}
        signed = {"extra_content": {"google": {"thought_signature": f"signed {own_id}"}}} if self.rules.signed else {}
        self._signed += signed.values()
        return {"id": own_id, "type": "function", "function": function, **signed}


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts)


def _event(data: object) -> str:
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
