"""An answer in the OpenAI form, whole or in chunks."""

import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from fastapi.sse import format_sse_event

from agents.events import (
    CUT,
    RETRY,
    Error,
    Event,
    Images,
    Message,
    ModelEnd,
    PrivateMessage,
    Sources,
    Token,
    ToolRequest,
    TurnEnd,
)
from agents.events.views import Notice
from agents.language.text.clean import safe_json
from app.doors.http import exchange
from app.doors.http.answers import Answer
from app.doors.http.exchange import BETWEEN
from app.plugins.openai_api.form import (
    Bounds,
    FinishReason,
    SentCall,
    SentFunction,
    error_of,
    failure_of,
    said_and_called,
)
from app.plugins.openai_api.structured import Written
from app.presentation.texts import say
from prompts import FALLBACK

IMAGE = {
    "url": "url",
    "title": "title",
    "thumbnail": "thumbnail-link",
    "width": "original-width",
    "height": "original-height",
    "mime_type": "mime-type",
    "page": "page",
}
"""The fields of an image, and their names in `inline_data`."""
MODEL = "dialog-supervisor"
"""The name of the assistant as a model."""
LOOP, FILTERED = "loop", "cut_filter"
"""The codes of errors that end an answer: after too many steps, or by a filter."""
Keep = Callable[[str], Awaitable[None]]
"""Notes an answer."""
Write = Callable[[str], Awaitable[Written]]
"""Writes an answer in the client's requested form."""


async def _forget(answer: str) -> None:
    """Keep nothing of an answer."""


class Reply:
    """The answer to one message in the OpenAI form."""

    def __init__(
        self,
        answer: Answer,
        remarks: str = "",
        lang: str = FALLBACK,
        keep: Keep = _forget,
        bounds: Bounds | None = None,
        model: str = MODEL,
        id: str = "",
        write: Write | None = None,
    ) -> None:
        self.id, self.model = id or uuid.uuid4().hex, model
        """The id of the message, and the name of the answering model."""
        self._answer, self._lang, self.keep = answer, lang, keep
        self._write, self._of_written = write, bounds or Bounds()
        self._bounds, self._said, self.text = Bounds() if write else self._of_written, "", ""
        """The text of the answer, and its part within the bounds."""
        self._remarks = remarks
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
        self.usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        self._unfinished = ""
        self._reason: FinishReason = "stop"
        self.annotations: list[dict[str, Any]] = []
        self.calls: list[SentCall] = []
        """The calls for the client."""

    @property
    def reason(self) -> FinishReason:
        """The reason of the answer's end."""
        return "tool_calls" if self.calls else self._bounds.reason or self._reason

    @property
    def answer(self) -> str:
        """The text and the calls of the answer, as in the client's history."""
        return said_and_called(self.text, self.calls)

    async def total(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the whole answer. Raises HttpRefusal, with the text so far: the answer has failed."""
        try:
            deltas = [delta async for delta in self.deltas()]
        except exchange.HttpRefusal as failed:
            failed.detail = BETWEEN.join(filter(None, (self.text, failed.detail)))
            raise
        await self.keep(self.answer)
        inline = [delta["inline_data"] for delta in deltas if "inline_data" in delta]
        calls = [call.model_dump() for call in self.calls]
        extras = (("annotations", self.annotations), ("inline_data", inline), ("tool_calls", calls))
        content = self.text if self.text or not calls else None
        message = {"role": "assistant", "content": content} | {name: extra for name, extra in extras if extra}
        choice = {"index": 0, "message": message, "finish_reason": self.reason}
        yield {**self._head, "object": "chat.completion", "choices": [choice], "usage": self.usage}

    async def stream(self, *, with_usage: bool) -> AsyncIterator[bytes]:
        """Yield the answer in chunks, as it comes. Raises HttpRefusal: the answer has failed before its first word."""
        is_begun, head = False, {"role": "assistant", "content": ""}
        try:
            async for delta in self.deltas():
                if not is_begun:
                    yield self._chunk(head)
                is_begun = True
                yield self._chunk(delta)
        except exchange.HttpRefusal as failed:
            if not is_begun:
                raise
            error = error_of(failed.status_code, failed.detail, failed.code)
            yield format_sse_event(data_str=safe_json({"error": error}))
            return
        await self.keep(self.answer)
        if not is_begun:
            yield self._chunk(head)
        if self.annotations:
            yield self._chunk({"annotations": self.annotations})
        yield self._chunk({}, finish_reason=self.reason)
        if with_usage:
            yield self._frame({"choices": [], "usage": self.usage})
        yield b"data: [DONE]\n\n"

    async def deltas(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the deltas of all events, and collect the whole answer. Raises HttpRefusal: the answer has failed."""
        if self._write is None:
            async for delta in self._in_words():
                yield delta
            return
        held = [delta async for delta in self._in_words()]
        if self.calls:
            for delta in held:
                yield delta
            return
        written, ends = await self._write(self._said)
        for end in ends:
            self._count(end)
        self._bounds, self.annotations = self._of_written, []
        self.text = self._bounds.passes(written, is_last=True)
        yield {"content": self.text}

    async def _in_words(self) -> AsyncIterator[dict[str, Any]]:
        for delta in self._add(self._remarks):
            yield delta
        async for event in self._answer.read():
            for delta in self._add(event.message) if isinstance(event, Notice) else self._deltas(event):
                yield delta
        for delta in self._add("", is_last=True):
            yield delta
        self.annotations = [note for note in self.annotations if note["url_citation"]["end_index"] <= len(self.text)]

    def _deltas(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield the deltas of the next event. A sent chunk cannot be taken back."""
        match event:
            case Sources() | Images():
                yield {"inline_data": inline_data(event)}
            case ToolRequest():
                function = SentFunction(name=event.name, arguments=safe_json(event.args))
                self.calls.append(SentCall(id=event.id, function=function))
                yield {"tool_calls": [{"index": len(self.calls) - 1, **self.calls[-1].model_dump()}]}
            case Token(text=text):
                yield from self._add(text, is_new=not self._unfinished)
                self._unfinished += text
            case Message(text=text) | PrivateMessage(text=text) if text:
                is_new = not self._unfinished or not text.startswith(self._unfinished)
                yield from self._add(text if is_new else text.removeprefix(self._unfinished), is_new=is_new)
                self._unfinished = ""
                if isinstance(event, Message):
                    self._cite(event, len(self._said) - len(text))
            case Error(code=code) if code != RETRY:
                yield from self._fail(event)
            case TurnEnd(held_by=person) if person:
                yield from self._add(say("held", self._lang, name=person))
            case ModelEnd():
                self._count(event)

    def _count(self, call: ModelEnd) -> None:
        self.usage["prompt_tokens"] += call.input_tokens
        self.usage["completion_tokens"] += call.output_tokens
        self.usage["total_tokens"] += call.input_tokens + call.output_tokens

    def _fail(self, error: Error) -> Iterator[dict[str, Any]]:
        if failed := failure_of(error):
            raise failed
        if error.code in (*CUT, LOOP):
            self._reason = "content_filter" if error.code == FILTERED else "length"
        yield from self._add(error.text)

    def _add(self, text: str, *, is_new: bool = True, is_last: bool = False) -> Iterator[dict[str, Any]]:
        addition = BETWEEN + text if is_new and self._said and text else text
        self._said += addition
        if shown := self._bounds.passes(addition, is_last=is_last):
            self.text += shown
            yield {"content": shown}

    def _cite(self, message: Message, start: int) -> None:
        for citation in message.citations:
            about = {"url": citation["url"], "title": citation["title"]}
            place = {"start_index": start + citation["start"], "end_index": start + citation["end"]}
            self.annotations.append({"type": "url_citation", "url_citation": {**about, **place}})

    def _chunk(self, delta: dict[str, Any], finish_reason: FinishReason | None = None) -> bytes:
        return self._frame({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    def _frame(self, part: dict[str, Any]) -> bytes:
        return format_sse_event(data_str=safe_json({**self._head, "object": "chat.completion.chunk", **part}))


def inline_data(event: Sources | Images) -> Mapping[str, object]:
    """Return the `inline_data` of an event: `sources` by their numbers, or `images`."""
    if isinstance(event, Sources):
        return {"sources": event.plain()["sources"]}
    return {"images": [{IMAGE[name]: value for name, value in image.items()} for image in event.images]}
