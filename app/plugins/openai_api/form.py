"""The details of OpenAI's API: unsupported fields of requests, the bounds of answers, calls, and faults."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from agents.events import CUT, REBUILT, RETRY, Error
from agents.models.window import Window
from app.doors.http.exchange import BETWEEN, HttpRefusal, unsupported

CallId = Annotated[str, Field(max_length=200)]

FinishReason = Literal["stop", "length", "content_filter", "tool_calls"]
UNDONE: Mapping[str, Sequence[object]] = {
    "audio": (),
    "function_call": ("auto", "none"),
    "logit_bias": ({},),
    "logprobs": (False,),
    "modalities": (["text"],),
    "moderation": (),
    "n": (1,),
    "tool_choice": ("auto", "none"),
    "top_logprobs": (0,),
    "web_search_options": (),
}
"""Fields that would change the form or the content of an answer, with the values that change nothing."""
FAILURES = {
    "internal": (500, "server_error"),
    "many_turns": (429, "rate_limit_exceeded"),
    "message_long": (400, "context_length_exceeded"),
    "spent": (429, "insufficient_quota"),
    "too_long": (400, "context_length_exceeded"),
}
"""The status and the code of some errors that end a turn without an answer; that of the others is 503."""
WORDS = (*CUT, REBUILT, RETRY, "loop", "refused")
"""The codes of errors whose text is a part of an answer, or that end an answer."""


def failure_of(error: Error) -> HttpRefusal | None:
    """Return an error of a turn as a fault; None if it only ends an answer, or is a part of it."""
    status, code = FAILURES.get(error.code, (503, error.code))
    return None if error.code in WORDS else HttpRefusal(status, error.text, code)


def error_of(status: int, message: str, code: str, param: str | None = None) -> dict[str, object]:
    """Return a fault in the form of OpenAI's API; the door finds this function in `responses.py`."""
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, "invalid_request_error")
    return {"message": message, "type": kind if status < 500 else "server_error", "param": param, "code": code}


def refuse_undone(fields: Mapping[str, Any]) -> None:
    """Raise HttpRefusal if a request has an unsupported field."""
    for name, harmless in UNDONE.items():
        value = fields.get(name)
        if value is not None and value not in harmless:
            able = f" other than {' and '.join(map(repr, harmless))}" if harmless else ""
            raise unsupported(f"{name!r} is not supported here with any value{able}.", name)


class Sent(BaseModel):
    """A part of a request; null stands for a field that is left out, and a bare text for the field `main`."""

    model_config = ConfigDict(extra="allow")
    main: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _in_full(cls, sent: Any) -> Any:
        sent = {cls.main: sent} if cls.main and isinstance(sent, str) else sent
        return {name: value for name, value in sent.items() if value is not None} if isinstance(sent, dict) else sent


OrOne = BeforeValidator(lambda sent: [sent] if isinstance(sent, str) else sent)
"""Makes a list of a bare text."""
Arguments = Annotated[str, Field(validation_alias=AliasChoices("arguments", "input"))]
"""The arguments of a function, or the text for a custom tool."""


class SentFunction(Sent):
    """The function, or the custom tool, of a call."""

    name: Annotated[str, Field(max_length=128)]
    arguments: Arguments = ""


class SentCall(Sent):
    """A call in the client's history."""

    id: CallId = ""
    type: str = "function"
    function: Annotated[SentFunction, Field(validation_alias=AliasChoices("function", "custom"))]

    def words(self) -> str:
        """Return the call as text; equal calls have equal texts."""
        try:
            args = json.loads(self.function.arguments or "{}")
        except (ValueError, RecursionError):
            args = self.function.arguments
        return f"{self.function.name}({json.dumps(args, sort_keys=True, ensure_ascii=False)})"


def said_and_called(text: str, calls: Sequence[SentCall]) -> str:
    """Return an answer with its calls as text: answers with different calls differ."""
    return BETWEEN.join(filter(None, (text, *(call.words() for call in calls))))


class Bounds:
    """Lets a text pass up to a stop sequence, or up to an estimated number of tokens."""

    def __init__(self, stops: Sequence[str] = (), tokens: int | None = None) -> None:
        self._stops, self._window, self._held = stops, Window(), ""
        self._tokens, self._used = tokens, 0.0
        self.reason: FinishReason | None = None
        """The reason of the text's end; None if it goes on."""

    def passes(self, text: str, *, is_last: bool = False) -> str:
        """Return the next shown piece of a text; a possible beginning of a stop sequence waits for the next piece."""
        if self.reason:
            return ""
        text = self._held + text
        end = min((place for stop in self._stops if (place := text.find(stop)) >= 0), default=None)
        beginnings = (stop[:size] for stop in self._stops for size in range(1, len(stop)))
        held = 0 if is_last else max((len(part) for part in beginnings if text.endswith(part)), default=0)
        shown = text[: len(text) - held if end is None else end]
        self._held = text[len(shown) :]
        if end is not None:
            self.reason = "stop"
        return shown if self._tokens is None else self._cut(shown)

    def _cut(self, text: str) -> str:
        for place, sign in enumerate(text):
            self._used += self._window.plain if sign.isascii() else self._window.other
            if self._used > (self._tokens or 0):
                self.reason = "length"
                return text[:place]
        return text
