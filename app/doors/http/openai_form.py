"""What OpenAI's API has of its own: what a request may ask for, where an answer ends by it, and the form of faults."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agents.events import CUT, REBUILT, RETRY, Error
from agents.models.window import Window
from app.doors.http.exchange import HttpRefusal

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
"""The codes of errors that are words of an answer, or end one."""


def failure_of(error: Error) -> HttpRefusal | None:
    """Return the fault that an error of a turn is; None if it only ends an answer, or says something in it."""
    status, code = FAILURES.get(error.code, (503, error.code))
    return None if error.code in WORDS else HttpRefusal(status, error.text, code)


def error_of(status: int, message: str, code: str, param: str | None = None) -> dict[str, object]:
    """Return a fault as OpenAI's API tells it."""
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, "invalid_request_error")
    return {"message": message, "type": kind if status < 500 else "server_error", "param": param, "code": code}


def refuse_undone(fields: Mapping[str, Any]) -> None:
    """Raise Refusal if a request asks for what is not done here."""
    for name, harmless in UNDONE.items():
        value = fields.get(name)
        if value is not None and value not in harmless:
            able = f" other than {' and '.join(map(repr, harmless))}" if harmless else ""
            raise HttpRefusal(422, f"{name!r} is not supported here with any value{able}.", "unsupported_value", name)


class Bounds:
    """Lets a text pass up to a stop sequence, or up to about so many tokens."""

    def __init__(self, stops: Sequence[str] = (), tokens: int | None = None) -> None:
        self._stops, self._window, self._held = stops, Window(), ""
        self._tokens, self._used = tokens, 0.0
        self.reason: FinishReason | None = None
        """Why the text has ended; None if it goes on."""

    def passes(self, text: str, *, is_last: bool = False) -> str:
        """Return what is shown of the text so far; what may begin a stop sequence waits for what follows."""
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
