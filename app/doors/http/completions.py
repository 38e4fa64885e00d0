"""The OpenAI form: any client of chat completions talks to the assistant as to a model."""

import base64
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

from agents.errors import ModelUnavailable
from agents.events import RETRY, Error, Event, Images, Message, ModelEnd, PrivateMessage, Sources, Token
from agents.language.text.clean import safe_json
from agents.memory.store import namespace_of
from agents.sources.attachments import MOST_PICTURES
from agents.state.person import Origin, Quoted
from app.api_keys import Key
from app.assistant import Assistant, Turn
from app.assistant.file_reader import FileReader
from app.doors.http import chores
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
from prompts import FALLBACK

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


class Link(BaseModel):
    """Where a picture is."""

    url: str


class Part(BaseModel):
    """A part of a message: text, or a picture as `data:` address; others are not read."""

    model_config = ConfigDict(extra="allow")
    type: str
    text: str = ""
    image_url: Link | None = None


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

    @property
    def pictures(self) -> list[Quoted]:
        """The pictures beside the text."""
        parts = self.content if isinstance(self.content, list) else []
        urls = [part.image_url.url for part in parts if part.image_url]
        return [Quoted(kind="photo", by="", text="", origin=Origin.USER, file=url) for url in urls]


class StreamOptions(BaseModel):
    """What a stream has beside the answer."""

    include_usage: bool = False


class Completion(BaseModel):
    """A request; whatever else a client sets is for models, and left alone."""

    model_config = ConfigDict(extra="allow")
    model: Annotated[str, Field(max_length=LONGEST_NAME)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
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
    if body.model != MODEL:
        raise HTTPException(404, f"There is no such model; there is {MODEL}.")
    if not spoken or spoken[-1].role != "user":
        raise HTTPException(422, "The last message must be the user's.")
    last = spoken[-1]
    if not last.text.strip() and not last.pictures:
        raise HTTPException(422, "The last message is empty.")
    histories, is_chore = Histories(assistant, key), chores.is_chore(last.text)
    turn = Turn(
        thread=key.inside(thread) if thread else await histories.thread(spoken[:-1]),
        text=last.text,
        user=key.inside(body.user) if body.user else None,
        id=idempotency_key or uuid.uuid4().hex,
        device=DEVICE,
        quoted=last.pictures[:MOST_PICTURES],
    )
    reading = await FileReader(assistant, None, 0).read(turn, _picture, FALLBACK)
    remarks = "\n\n".join(reading.remarks)
    stack, headers = AsyncExitStack(), {} if is_chore else {"X-Thread-Id": key.outside(turn.thread) or ""}
    if is_chore:
        answer = Answer.over(turn, await _chore(assistant, turn))
    elif reading.turn is None:
        answer = Answer.over(turn, ())
    else:
        answer = await stack.enter_async_context(answers.reading(reading.turn))
    reply = Reply(answer, None if is_chore else histories, spoken, remarks)
    if body.stream:
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        return StreamingResponse(reply.stream(stack, with_usage=with_usage), media_type=STREAM, headers=headers)
    async with stack:
        return await while_there(request, reply.whole(), headers)


async def _chore(assistant: Assistant, turn: Turn) -> list[Event]:
    if assistant.refuses(turn):
        raise HTTPException(422, "The text is too long, or too many messages were sent.")
    try:
        return await chores.do(assistant, turn.text or "")
    except ModelUnavailable:
        raise HTTPException(503, "The model does not answer.") from None


async def _picture(part: Quoted) -> bytes:
    """Return the bytes of a picture. Nothing is fetched from the network."""
    head, _, data = part.get("file", "").partition(";base64,")
    try:
        return base64.b64decode(data, validate=True) if head.startswith("data:image/") else b""
    except ValueError:
        return b""


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
        conversation = [*messages, ChatMessage(role="assistant", content=answer)]
        await self._store.aput(self._place, _digest(conversation), {"thread": thread})


def _digest(messages: Sequence[ChatMessage]) -> str:
    texts = json.dumps([(message.role, message.text.strip()) for message in messages])
    return hashlib.sha256(texts.encode("utf-8", "replace")).hexdigest()


class Reply:
    """The answer to one message in the OpenAI form."""

    def __init__(
        self, answer: Answer, histories: Histories | None, asked: Sequence[ChatMessage], remarks: str = ""
    ) -> None:
        self._answer, self._histories, self._asked = answer, histories, asked
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": MODEL}
        self._usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        self._text, self._unfinished = remarks, ""
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
            yield self._chunk({"role": "assistant", "content": self._text})
            async for event in self._answer.read():
                for data in _inline(event):
                    yield self._chunk({"inline_data": data})
                if text := self._take(event):
                    yield self._chunk({"content": text})
            await self._keep()
            if self._annotations:
                yield self._chunk({"annotations": self._annotations})
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
        if self._histories is not None:
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
