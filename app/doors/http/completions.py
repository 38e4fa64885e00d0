"""The OpenAI form: any client of chat completions talks to the assistant as to a model."""

import hashlib
import json
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from agents.events import RETRY, Error, Event, Images, Message, ModelEnd, PrivateMessage, Sources, Token
from agents.language.text.clean import safe_json
from agents.memory.store import namespace_of
from app.api_keys import Key
from app.assistant import Assistant, Turn
from app.doors.http.answers import Answer
from app.doors.http.delivery import while_there
from app.doors.http.exchange import (
    DEVICE,
    FAULTS,
    LONGEST_NAME,
    STREAM,
    Caller,
    Name,
    Running,
    Served,
)

MODEL = "dialog-supervisor"
"""The name of the assistant as a model."""
HISTORIES = "histories"
"""The kind of items that lead from what a client sends to its thread."""
MOST_MESSAGES = 2_000
"""Messages of a request."""
FinishReason = Literal["stop", "length", "content_filter"]
REASONS: dict[str, FinishReason] = {
    "cut_length": "length",
    "cut_loop": "length",
    "loop": "length",
    "cut_filter": "content_filter",
}
"""Why an answer ended, by the code of its error; every other one ended by itself."""
BETWEEN = "\n\n"
"""Stands between two messages of one answer."""


class Part(BaseModel):
    """A part of a message; only its text counts."""

    model_config = ConfigDict(extra="allow")
    type: str
    text: str = ""


class ChatMessage(BaseModel):
    """A message as the client keeps it."""

    model_config = ConfigDict(extra="allow")
    role: Annotated[str, Field(max_length=40)]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """What it says."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class Completion(BaseModel):
    """A request; whatever else a client sets is for models, and left alone."""

    model_config = ConfigDict(extra="allow")
    model: Annotated[str, Field(max_length=LONGEST_NAME)] = MODEL
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    user: Name | None = None


ThreadId = Annotated[str | None, Header(alias="X-Thread-Id", max_length=LONGEST_NAME)]
router = APIRouter(prefix="/v1", responses=FAULTS)


@router.get("/models")
async def models() -> dict[str, Any]:
    """List the one model there is."""
    return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}]}


@router.post("/chat/completions", responses={200: {"content": {STREAM: {"schema": {"type": "string"}}}}})
async def complete(
    body: Completion,
    request: Request,
    key: Caller,
    assistant: Served,
    answers: Running,
    thread: ThreadId = None,
    idempotency_key: Annotated[str | None, Header(max_length=LONGEST_NAME)] = None,
) -> Response:
    """Answer the last message of a user; what the client sends before it only leads to the thread."""
    spoken = [message for message in body.messages if message.role in ("user", "assistant")]
    if not spoken or spoken[-1].role != "user":
        raise HTTPException(422, "The last message must be the user's.")
    histories = Histories(assistant, key)
    name = key.inside(thread) if thread else await histories.thread(spoken[:-1])
    turn = Turn(
        thread=name,
        text=spoken[-1].text,
        user=key.inside(body.user) if body.user else None,
        id=idempotency_key or uuid.uuid4().hex,
        device=DEVICE,
    )
    stack = AsyncExitStack()
    answer = await stack.enter_async_context(answers.reading(turn))
    reply = Reply(answer, histories, spoken)
    headers = {"X-Thread-Id": key.outside(name) or ""}
    if body.stream:
        with_usage = bool((body.stream_options or {}).get("include_usage"))
        return StreamingResponse(reply.stream(stack, with_usage=with_usage), media_type=STREAM, headers=headers)
    async with stack:
        return await while_there(request, reply.whole(), headers)


class Histories:
    """Find the thread of a client that sends what was said instead of a name.

    What it will send next is known when it is answered: what it has sent, and the answer.
    """

    def __init__(self, assistant: Assistant, key: Key) -> None:
        self._store, self._key = assistant.memory.store, key
        self._place = namespace_of(f"http:{key.name}", HISTORIES)

    async def thread(self, messages: Sequence[ChatMessage]) -> str:
        """Return the thread in which this was said; a new one if it was said in none."""
        item = await self._store.aget(self._place, _digest(messages))
        return str(item.value["thread"]) if item else self._key.inside(uuid.uuid4().hex)

    async def keep(self, messages: Sequence[ChatMessage], answer: str, thread: str) -> None:
        """Note in which thread this was said and answered."""
        said = [*messages, ChatMessage(role="assistant", content=answer)]
        await self._store.aput(self._place, _digest(said), {"thread": thread})


def _digest(messages: Sequence[ChatMessage]) -> str:
    texts = json.dumps([(message.role, message.text.strip()) for message in messages])
    return hashlib.sha256(texts.encode("utf-8", "replace")).hexdigest()


class Reply:
    """The answer to one message in the OpenAI form."""

    def __init__(self, answer: Answer, histories: Histories, asked: Sequence[ChatMessage]) -> None:
        self._answer, self._histories, self._asked = answer, histories, asked
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": MODEL}
        self._usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        self._text = self._unfinished = ""
        self._reason: FinishReason = "stop"
        self._annotations: list[dict[str, Any]] = []

    async def whole(self) -> Response:
        """Return the answer when it is over."""
        inline: list[dict[str, Any]] = []
        async for event in self._answer.read():
            self._take(event)
            inline += _inline(event)
        await self._keep()
        message: dict[str, Any] = {"role": "assistant", "content": self._text}
        message |= {"annotations": self._annotations} if self._annotations else {}
        message |= {"inline_data": inline} if inline else {}
        choice = {"index": 0, "message": message, "finish_reason": self._reason}
        return JSONResponse({**self._head, "object": "chat.completion", "choices": [choice], "usage": self._usage})

    async def stream(self, stack: AsyncExitStack, *, with_usage: bool) -> AsyncIterator[str]:
        """Yield the answer in chunks, as it is made."""
        async with stack:
            yield self._chunk({"role": "assistant", "content": ""})
            async for event in self._answer.read():
                for data in _inline(event):
                    yield self._chunk({"inline_data": data})
                if text := self._take(event):
                    yield self._chunk({"content": text})
            await self._keep()
            yield self._chunk({}, finish_reason=self._reason)
            if with_usage:
                yield self._frame({"choices": [], "usage": self._usage})
            yield "data: [DONE]\n\n"

    def _take(self, event: Event) -> str:
        """Take the next event; return what it adds to the text. A chunk cannot be taken back."""
        match event:
            case Token(text=text):
                addition = text if self._unfinished else self._between() + text
                self._unfinished += text
            case Message(text=text) | PrivateMessage(text=text) if text:
                rest = text.removeprefix(self._unfinished)
                is_new = not self._unfinished or not text.startswith(self._unfinished)
                addition = self._between() + text if is_new else rest
                self._unfinished = ""
                if isinstance(event, Message):
                    self._cite(event, len(self._text + addition) - len(text))
            case Error(code=code, text=text) if code != RETRY:
                addition, self._reason = self._between() + text, REASONS.get(code, self._reason)
            case ModelEnd():
                self._usage["prompt_tokens"] += event.input_tokens
                self._usage["completion_tokens"] += event.output_tokens
                self._usage["total_tokens"] += event.input_tokens + event.output_tokens
                addition = ""
            case _:
                addition = ""
        self._text += addition
        return addition

    def _between(self) -> str:
        return BETWEEN if self._text else ""

    def _cite(self, message: Message, start: int) -> None:
        for citation in message.citations:
            about = {"url": citation["url"], "title": citation["title"]}
            place = {"start_index": start + citation["start"], "end_index": start + citation["end"]}
            self._annotations.append({"type": "url_citation", "url_citation": {**about, **place}})

    async def _keep(self) -> None:
        await self._histories.keep(self._asked, self._text, self._answer.turn.thread)

    def _chunk(self, delta: dict[str, Any], finish_reason: FinishReason | None = None) -> str:
        return self._frame({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    def _frame(self, part: dict[str, Any]) -> str:
        return f"data: {safe_json({**self._head, 'object': 'chat.completion.chunk', **part})}\n\n"


def _inline(event: Event) -> list[dict[str, Any]]:
    """Return sources and images as clients are told of them before the text that cites them."""
    if isinstance(event, Sources | Images):
        name = "sources" if isinstance(event, Sources) else "images"
        return [{name: event.plain()[name]}]
    return []
