"""The OpenAI form: any client of chat completions talks to the assistant as to a model."""

import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, HTTPException, Response
from fastapi.sse import format_sse_event
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field

from agents.errors import ModelUnavailable
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
from agents.models.reply import Listener, reply
from agents.state import SUPERVISOR
from agents.state.person import FORWARDED, RESULT
from agents.toolkit.client_tools import written_results
from agents.toolkit.services import Takeover
from app.assistant import Assistant, Turn
from app.assistant.pictures import MOST_PICTURES
from app.assistant.turn import Exchange
from app.doors.http import exchange
from app.doors.http.answers import Answer
from app.doors.http.client_tools import (
    CallId,
    SentCall,
    bounded_results,
    described_tools,
    said_and_called,
    sent_call,
)
from app.doors.http.delivery import streamed, whole
from app.doors.http.exchange import BETWEEN
from app.doors.http.front_ends import unwrapped
from app.doors.http.histories import Histories
from app.doors.http.openai_form import Bounds, FinishReason, error_of, failure_of, refuse_undone
from app.doors.http.structured import FIELD, Written, answer_form
from app.doors.http.uploads import Upload, decoded, with_uploads
from app.presentation.inline_data import inline_data
from app.presentation.texts import say
from app.security.api_keys import Key
from prompts import FALLBACK, phrase

MODEL = "dialog-supervisor"
"""The name of the assistant as a model."""
HELPER = "dialog-supervisor-helper"
"""The name of the model that leads, alone: for the titles, tags and queries that a front end asks for itself."""
LOOP, FILTERED = "loop", "cut_filter"
"""The codes of errors that end an answer: it takes too many steps, or a filter has cut it."""


PARTS = ("text", "image_url")
"""The kinds of parts of a message that are read."""


class Part(BaseModel):
    """A part of a message: text, or a picture as `data:` address."""

    model_config = ConfigDict(extra="allow")
    type: str
    text: str = ""
    image_url: Mapping[str, str] = {}


class ChatMessage(BaseModel):
    """A message as the client keeps it."""

    model_config = ConfigDict(extra="allow")
    role: Annotated[str, Field(max_length=40)]
    content: str | list[Part] | None = None
    tool_calls: list[SentCall] | None = None
    tool_call_id: CallId = ""

    @property
    def answer(self) -> str:
        """What an assistant's message says, and calls."""
        return said_and_called(self.text, self.tool_calls or [])

    @property
    def parts(self) -> list[Part]:
        """What it is made of."""
        return self.content if isinstance(self.content, list) else [Part(type="text", text=self.content or "")]

    @property
    def text(self) -> str:
        """What it says."""
        return "".join(part.text for part in self.parts)

    @property
    def pictures(self) -> list[Upload]:
        """The pictures beside the text; one that is not within the message has no content."""
        addresses = [part.image_url.get("url", "").partition(";base64,") for part in self.parts if part.image_url]
        contents = [decoded(data) if head.startswith("data:image/") else b"" for head, _, data in addresses]
        return [Upload(content, kind="photo") for content in contents]


Stop = Annotated[str, Field(max_length=100)]
Limit = Annotated[int, Field(ge=1)]


class Completion(BaseModel):
    """A request; of what else a client sets `openai_form` tells what is refused and what is left alone."""

    model_config = ConfigDict(extra="allow")
    model: Annotated[str, Field(max_length=exchange.LONGEST_NAME)]
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    tools: list[dict[str, Any]] | None = None
    parallel_tool_calls: bool | None = None
    stream: bool = False
    stream_options: Mapping[str, bool] | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=4)] | None = None
    max_tokens: Limit | None = None
    max_completion_tokens: Limit | None = None
    user: exchange.Name | None = None

    @property
    def bounds(self) -> Bounds:
        """Where its answer ends."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit]
        return Bounds([*filter(None, stops)], min(limits, default=None))


Keep = Callable[[str], Awaitable[None]]
"""Notes what was answered."""
Write = Callable[[str], Awaitable[Written]]
"""Writes an answer in the form that the client asks for."""
ThreadId = Annotated[
    str | None,
    Header(alias="X-Thread-Id", max_length=exchange.LONGEST_NAME, pattern=exchange.PRINTABLE),
    exchange.SentName,
]
router = APIRouter(prefix="/v1", responses=exchange.FAULTS)


@router.get("/models")
async def models() -> dict[str, Any]:
    """List the assistant, and the model that leads."""
    return {"object": "list", "data": [await model(MODEL), await model(HELPER)]}


@router.get("/models/{id}")
async def model(id: str) -> dict[str, Any]:
    """Return one of them."""
    _require(id)
    return {"id": id, "object": "model", "created": 0, "owned_by": MODEL}


def _require(model: str) -> None:
    if model not in (MODEL, HELPER):
        there_are = f"there are {MODEL} and {HELPER}"
        raise exchange.HttpRefusal(404, f"There is no model {model!r}; {there_are}.", "model_not_found", "model")


@dataclass
class Talking:
    """A request that is answered in OpenAI's form: who sends it, and where it is answered."""

    key: exchange.Caller
    assistant: exchange.Served
    answers: exchange.Running
    reader: exchange.Reader
    for_whom: exchange.ForWhom
    thread: ThreadId = None
    idempotency_key: exchange.IdempotencyKey = None

    async def reply(self, body: Completion, behind: str | None = None) -> tuple["Reply", dict[str, str]]:
        """Return the answer to the last message of a user, with its headers.

        It goes on behind the response `behind`, else behind what the client sends before it.

        Raises:
            HTTPException: the request asks for what is not done, or there is no such model or response.
            Busy: no further turn is taken on now.
        """
        _require(body.model)
        others = body.model_extra or {}
        refuse_undone(others)
        choice, alone = others.get("tool_choice"), body.parallel_tool_calls is False
        tools = described_tools(body.tools or [], choice, alone=alone)
        spoken = [message for message in body.messages if message.role in ("user", "assistant", "tool")]
        if not spoken or spoken[-1].role == "assistant":
            raise exchange.HttpRefusal(422, exchange.LAST_IS_USERS, "unsupported_value", "messages")
        last = spoken[-1]
        if unread := {part.type for part in last.parts} - {*PARTS}:
            message = f"Parts of these kinds are not read: {', '.join(sorted(unread))}; these are: {', '.join(PARTS)}."
            raise exchange.HttpRefusal(422, message, "unsupported_value", "messages")
        if last.role == "user" and not last.text.strip() and not last.pictures:
            raise HTTPException(422, exchange.EMPTY)
        user = self.key.user(self.for_whom.user or body.user)
        if body.model == HELPER:
            return await self._helped(body, user or f"http:{self.key.name}"), {}
        form = await answer_form(others.get(FIELD), self.assistant)
        *said, heard = exchanges(spoken)
        words, foreign = (heard.text or "", "") if heard.source == RESULT else unwrapped(last.text)
        is_typed = bool(words.strip()) or not foreign
        # What nobody typed changes no chat's beginning: it is a front end's own call, about that chat.
        named = _chat(self.for_whom, self.key) if is_typed or said else None
        chat = self.key.inside(self.thread) if self.thread else named
        histories = Histories(self.assistant, self.key, user, chat, resends=not self.thread)
        place = await histories.place(said, heard, self.idempotency_key, behind)
        beside = [Upload(foreign.encode("utf-8", "replace"), "context.txt", "file")] if is_typed and foreign else []
        text, source = (words, heard.source) if is_typed else (foreign, FORWARDED)
        turn = place.turn(text, source=source, user=user, device=exchange.DEVICE, rings=False, tools=tools)
        reading = await with_uploads(self.reader, turn, [*last.pictures[:MOST_PICTURES], *beside], FALLBACK)
        answer = await self.answers.to(reading.turn, self.key.holder) if reading.turn else Answer.over(turn)
        # Nothing else tells such a client what a person has said since; it counts as shown.
        takeover = self.assistant.services.find(Takeover)
        unshown = await takeover.unshown(turn.thread) if takeover else []
        remarks = BETWEEN.join([*unshown, *reading.remarks])
        lang = (await self.assistant.state(turn.thread) or {}).get("lang") or FALLBACK
        keep = partial(histories.keep, place, said, heard)
        write = partial(form.written, self.assistant, turn.owner, text, lang) if form else None
        reply = Reply(answer, remarks, lang, keep, body.bounds, id=place.id, write=write)
        return reply, {"X-Thread-Id": self.key.outside(turn.thread) or ""}

    async def _helped(self, body: Completion, user: str) -> "Reply":
        """Return an answer that belongs to no thread, and counts among the messages of a user."""
        turn = Turn(thread="", text=BETWEEN.join(each.text for each in body.messages), user=user)
        self.answers.admit(turn, self.key.holder)
        events = await _helped(self.assistant, turn, body.messages)
        return Reply(Answer.over(turn, events), bounds=body.bounds, model=HELPER)


@router.post("/chat/completions", responses=exchange.STREAMED)
async def complete(body: Completion, talking: Annotated[Talking, Depends()]) -> Response:
    """Answer the last message of a user behind what the client sends before it."""
    reply, headers = await talking.reply(body)
    if body.stream:
        with_usage = (body.stream_options or {}).get("include_usage", False)
        return streamed(reply.stream(with_usage=with_usage), headers)
    return whole(reply.total(), headers)


def _chat(for_whom: exchange.Speaking, key: Key) -> str | None:
    """Return the thread of the chat in which a front end speaks; that of another person is another one."""
    owner = f"{quote(for_whom.user, safe='')}/" if for_whom.user else ""
    return key.inside(owner + for_whom.chat) if for_whom.chat else None


def exchanges(messages: Sequence[ChatMessage]) -> list[Exchange]:
    """Return what was said as what a user typed and was answered."""
    said, calls = list[Exchange](), list[str]()
    for role, group in groupby(messages, lambda message: message.role):
        together = [*group]
        if role == "tool":
            results = bounded_results([(message.tool_call_id, message.text) for message in together], calls)
            said.append(Exchange(written_results(results), "", RESULT))
        elif role == "user":
            said += [Exchange(unwrapped(message.text)[0] or message.text, "") for message in together]
        else:
            said = said or [Exchange(None, "")]
            said[-1] = replace(said[-1], answer=BETWEEN.join(filter(None, (message.answer for message in together))))
        calls = [call.id for message in together for call in message.tool_calls or ()]
    return said


async def _helped(assistant: Assistant, turn: Turn, messages: Sequence[ChatMessage]) -> list[Event]:
    """Return the events of an answer by the model that leads, without tools or memory; it counts as the user's.

    Raises:
        HTTPException: the text is too long, or the model reads no prompts (422), too much was sent (429), or the model
            does not answer (503).
    """
    if not assistant.reads:
        raise exchange.HttpRefusal(422, "The model that is set reads no prompts.", "unsupported_value", "model")
    if assistant.is_too_long(turn):
        raise HTTPException(422, "The text is too long.")
    if assistant.refuses(turn):
        raise HTTPException(429, "Too many messages were sent; come again later.")
    events, asked = list[Event](), list[AnyMessage]([SystemMessage(phrase("chore", FALLBACK))])
    for is_own, group in groupby(messages, lambda message: message.role == "assistant"):
        # What a client calls the system's words is somebody's text like any other.
        text = BETWEEN.join(message.text for message in group)
        asked.append(AIMessage(text) if is_own else HumanMessage(text))
    try:
        async with assistant.counted(turn.owner) as note:

            def take(event: Event) -> None:
                note(event)
                events.append(event)

            answer = str((await reply(assistant.leading, asked, [], Listener(SUPERVISOR, take))).text)
    except ModelUnavailable:
        raise HTTPException(503, "The model does not answer.") from None
    return [*(event for event in events if isinstance(event, ModelEnd)), Message(speaker=SUPERVISOR, text=answer)]


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
        """The id of the message, and the model that answers."""
        self._answer, self._lang, self.keep = answer, lang, keep
        self._write, self._of_written = write, bounds or Bounds()
        self._bounds, self._said, self.text = Bounds() if write else self._of_written, "", ""
        """What the answer says, and what of it is within its bounds."""
        self._remarks = remarks
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
        self.usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        self._unfinished = ""
        self._reason: FinishReason = "stop"
        self.annotations: list[dict[str, Any]] = []
        self.calls: list[SentCall] = []
        """What the client is to call."""

    @property
    def reason(self) -> FinishReason:
        """Why the answer has ended."""
        return "tool_calls" if self.calls else self._bounds.reason or self._reason

    @property
    def answer(self) -> str:
        """What it says and calls, as it stands in the history of the client."""
        return said_and_called(self.text, self.calls)

    async def total(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the answer when it is over. Raises HttpRefusal: it has failed, and what it said before that."""
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
        """Yield the answer in chunks, as it is made. Raises HttpRefusal: it has failed before any word of it."""
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
        """Yield what each event adds, and at the end know all of it. Raises HttpRefusal: the answer has failed."""
        if self._write is None:
            async for delta in self._in_words():
                yield delta
            return
        held = [delta async for delta in self._in_words()]
        if self.calls:
            for delta in held:
                yield delta
            return
        written = await self._write(self._said)
        for call in written.calls:
            self._count(call)
        self._bounds, self.annotations = self._of_written, []
        self.text = self._bounds.passes(written.text, is_last=True)
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
        """Yield what the next event adds. A chunk cannot be taken back."""
        match event:
            case Sources() | Images():
                yield {"inline_data": inline_data(event)}
            case ToolRequest():
                self.calls.append(sent_call(event))
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
