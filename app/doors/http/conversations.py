"""The paths of conversations: turns and what they are answered, and what is kept of a thread."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, HTTPException, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from fastapi.sse import format_sse_event
from pydantic import BaseModel, ConfigDict, Field

from agents.events import Event, Message, PrivateMessage
from agents.language.text.clean import safe_json
from agents.memory.inbox import TranscriptLine
from agents.state.person import ASR
from agents.toolkit.questions import CHOICE
from app.api_keys import Key
from app.assistant import Assistant, Turn
from app.doors.http.answers import Answer, Answers
from app.doors.http.callbacks import Callbacks
from app.doors.visit import stop_when_begun
from app.listing import conversation_markdown
from app.short_term_memory import COMMAND, Content, contents
from app.tasks import cancel as cancel_tasks
from prompts import FALLBACK

DEVICE = "http"
"""The door, as tools and permissions know it."""
ALIVE_EVERY = 15.0
"""Seconds after which a silent stream says that it is alive."""
LONGEST_NAME = 200
"""Characters of the name of a thread, a user or a message."""
STREAM = "text/event-stream"
MARK = "#"
"""Stands between the id of an answer and the id of the question that it answers."""
UNDO = "undo"
NO_THREAD = "There is no such thread."
CLIENT_CLOSED = 499
"""The status, which nobody reads, of a request whose client has gone."""

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]
ThreadName = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]
UserName = Annotated[str | None, Query(min_length=1, max_length=LONGEST_NAME, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Body(BaseModel):
    """What a request brings; a field that nobody knows is a fault."""

    model_config = ConfigDict(extra="forbid")


class NewTurn(Body):
    """A message of a user."""

    text: str | None
    """None lets the assistant speak first, or go on."""
    id: Name | None = None
    """The same id again does nothing twice and repeats the outcome; left out: a new one."""
    user: Name | None = None
    """Who speaks; left out: the thread belongs to one user, who has its name."""
    lang: Annotated[str, Field(max_length=10)] | None = None
    source: Literal["message", "asr"] = "message"
    """`asr` for words that were spoken."""


class NewAnswer(Body):
    """What a user answers to the open question of a tool."""

    choose: Annotated[str, Field(max_length=4_000)]
    """A number, an id, a label, or a form's values."""
    question: Name | None = None
    """The id of the question; another one that is open is left open."""
    id: Name | None = None
    user: Name | None = None


class Whose(Body):
    """Whose answer is meant; left out: anybody's."""

    user: Name | None = None


class NewWords(Body):
    """What the assistant is to say."""

    text: Annotated[str, Field(min_length=1, max_length=20_000)]
    id: Name | None = None
    """The same id again says it once."""
    user: Name | None = None
    """Whom it is for."""
    running: Literal["stop", "wait", "skip"] = "stop"
    """What becomes of an answer that is being made: it is stopped, it comes first, or nothing is said."""


class Outcome(BaseModel):
    """What came of a turn."""

    events: list[dict[str, Any]]
    """The events, as a stream has them."""
    message: str
    """All that was said to the user."""


def assistant_of(request: Request) -> Assistant:
    """Return the assistant that is served."""
    assistant: Assistant = request.app.state.assistant
    return assistant


def answers_of(request: Request) -> Answers:
    """Return the answers that are being made."""
    answers: Answers = request.app.state.answers
    return answers


def caller(request: Request) -> Key:
    """Return who calls."""
    key: Key = request.state.key
    return key


def operator(request: Request) -> Key:
    """Return who calls. Raises HTTPException: the key may not operate."""
    key = caller(request)
    if not key.allows("operate"):
        raise HTTPException(403, "This key may not operate.")
    return key


Served = Annotated[Assistant, Depends(assistant_of)]
Running = Annotated[Answers, Depends(answers_of)]
Caller = Annotated[Key, Depends(caller)]
Operator = Annotated[Key, Depends(operator)]
LastEventId = Annotated[int, Header(ge=0)]
IdempotencyKey = Annotated[str | None, Header(max_length=LONGEST_NAME)]
Accept = Annotated[str, Header()]

FAULTS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Fault"}}},
    }
    for status, description in {
        400: "The request is none.",
        401: "A key is needed.",
        403: "The key has not this scope, or a page of another site calls.",
        404: "There is no such thread.",
        409: "The id belongs to another message, or nothing is asked.",
        413: "The body is too large.",
        422: "The body is not as it should be.",
        503: "Too much is being done at the moment, or the database cannot be used.",
    }.items()
}
STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {STREAM: {"schema": {"type": "string"}}}}}
router = APIRouter(responses=FAULTS)


@router.post("/threads/{thread}/turns", response_model=Outcome, responses=STREAMED)
async def play(
    thread: ThreadName,
    body: NewTurn,
    request: Request,
    key: Caller,
    answers: Running,
    accept: Accept = "",
    idempotency_key: IdempotencyKey = None,
    last_event_id: LastEventId = 0,
) -> Response:
    """Play a turn: as a stream of events for `Accept: text/event-stream`, else whole."""
    turn = Turn(
        thread=key.inside(thread),
        text=body.text,
        user=key.inside(body.user) if body.user else None,
        id=body.id or idempotency_key or uuid.uuid4().hex,
        lang=body.lang,
        source=ASR if body.source == "asr" else "message",
        device=DEVICE,
    )
    return await _answered(turn, thread, request, answers, accept, last_event_id)


@router.post("/threads/{thread}/answers", response_model=Outcome, responses=STREAMED)
async def answer(
    thread: ThreadName,
    body: NewAnswer,
    request: Request,
    key: Caller,
    assistant: Served,
    answers: Running,
    accept: Accept = "",
    idempotency_key: IdempotencyKey = None,
    last_event_id: LastEventId = 0,
) -> Response:
    """Answer what a tool has asked; the same id again repeats the outcome."""
    name, user = key.inside(thread), key.inside(body.user) if body.user else None
    given = body.id or idempotency_key or uuid.uuid4().hex
    last = await assistant.last_message(name, user or name)
    if last and last.source == CHOICE and last.message_id.rpartition(MARK)[0] == given:
        id = last.message_id
    else:
        question = await assistant.question(name, user or name)
        if question is None:
            raise HTTPException(409, "Nothing is asked in this thread.")
        if body.question and body.question != question.id:
            raise HTTPException(409, f"Another question is open: {question.id}.")
        if not await assistant.fits(name, user or name, body.choose):
            raise HTTPException(422, "That is no answer to the open question.")
        id = f"{given}{MARK}{question.id}"
    turn = Turn(thread=name, text=body.choose, user=user, id=id, source=CHOICE, device=DEVICE)
    return await _answered(turn, thread, request, answers, accept, last_event_id)


@router.post("/threads/{thread}/undo", response_model=Outcome, responses=STREAMED)
async def undo(
    thread: ThreadName,
    body: Whose,
    request: Request,
    key: Caller,
    answers: Running,
    accept: Accept = "",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Take back what was written last."""
    user, id = key.inside(body.user) if body.user else None, idempotency_key or uuid.uuid4().hex
    turn = Turn(thread=key.inside(thread), text=UNDO, user=user, id=id, source=COMMAND, device=DEVICE)
    return await _answered(turn, thread, request, answers, accept)


@router.post("/threads/{thread}/cancel")
async def cancel(thread: ThreadName, body: Whose, key: Caller, assistant: Served) -> dict[str, bool]:
    """Stop the answer that is being made; what was said so far is kept."""
    user = key.inside(body.user) if body.user else None
    return {"stopped": await assistant.stop(key.inside(thread), user)}


@router.post("/threads/{thread}/say")
async def say(thread: ThreadName, body: NewWords, key: Operator, assistant: Served, answers: Running) -> dict[str, Any]:
    """Let the assistant say a sentence that answers nothing; whoever speaks next in the thread knows of it."""
    name = key.inside(thread)
    if answers.is_running(name) and body.running != "wait":
        if body.running == "skip":
            return {"said": False}
        await stop_when_begun(assistant, name, lambda: not answers.is_running(name))
    user = key.inside(body.user) if body.user else None
    async with assistant.memory.locks.hold(name):
        message = await assistant.tell(name, body.text, body.id or uuid.uuid4().hex, user)
    return {"said": True, "event": _plain(message, thread)}


@router.post("/threads/{thread}/stop")
async def stop(
    thread: ThreadName, key: Caller, assistant: Served, answers: Running, request: Request
) -> dict[str, bool]:
    """End a thread: stop its answer, and push its memory to MEMORY_CALLBACK_URL, where that is set."""
    name = key.inside(thread)
    stopped = answers.is_running(name) and await stop_when_begun(assistant, name, lambda: not answers.is_running(name))
    await assistant.conclude(name)
    callbacks: Callbacks | None = request.app.state.callbacks
    async with assistant.memory.locks.hold(name):
        lines = await _lines(assistant, name)
        if callbacks:
            await callbacks.push(name, thread, lines)
    return {"stopped": stopped, "pushed": callbacks is not None}


@router.get("/threads")
async def threads(key: Caller, assistant: Served, user: UserName = None) -> dict[str, list[dict[str, Any]]]:
    """List the threads, or those in which a user has written, the latest first."""
    infos = await assistant.threads(key.inside(user) if user else None)
    named = [(key.outside(info.thread), info) for info in infos]
    return {"threads": [{**asdict(info), "thread": name} for name, info in named if name is not None]}


@router.get("/threads/{thread}")
async def state(thread: ThreadName, key: Caller, assistant: Served, user: UserName = None) -> dict[str, Any]:
    """Return who holds a thread's conversation, and what is asked."""
    facts = await assistant.state(key.inside(thread), key.inside(user) if user else None)
    if facts is None:
        raise HTTPException(404, NO_THREAD)
    return {**facts, "thread": thread}


@router.get("/threads/{thread}/memory")
async def memory(thread: ThreadName, key: Caller, assistant: Served) -> dict[str, list[Content]]:
    """Return every message of a thread, oldest first."""
    return {"contents": contents(await _lines(assistant, key.inside(thread)))}


@router.get("/threads/{thread}/export", responses={200: {"content": {"text/markdown": {}, "application/json": {}}}})
async def export(
    thread: ThreadName, key: Caller, assistant: Served, form: Literal["markdown", "json"] = "markdown"
) -> Response:
    """Return a thread to read, or as JSON with the forms of its dialogs."""
    lines = await _lines(assistant, key.inside(thread))
    facts = await assistant.state(key.inside(thread)) or {}
    forms, lang = facts.get("forms", {}), facts.get("lang") or FALLBACK
    if form == "json":
        return JSONResponse({"thread": thread, "contents": contents(lines), "forms": forms})
    return PlainTextResponse(conversation_markdown(thread, lines, forms, lang), media_type="text/markdown")


@router.delete("/threads/{thread}")
async def forget(thread: ThreadName, key: Caller, assistant: Served) -> dict[str, bool]:
    """Delete every trace of a thread, and all that is kept of its user if it has only one."""
    if not await assistant.forget(key.inside(thread)):
        raise HTTPException(404, NO_THREAD)
    return {"forgotten": True}


async def _lines(assistant: Assistant, thread: str) -> list[TranscriptLine]:
    lines = await assistant.history(thread)
    if not lines and await assistant.state(thread) is None:
        raise HTTPException(404, NO_THREAD)
    return lines


async def _answered(
    turn: Turn, name: str, request: Request, answers: Answers, accept: str, last_event_id: int = 0
) -> Response:
    """Return the answer to a message in a thread that the caller calls so, whole or as a stream.

    Raises Busy or UsageError before a stream begins.
    """
    stack = AsyncExitStack()
    answer = await stack.enter_async_context(answers.reading(turn))
    headers = {"X-Message-Id": quote(turn.id)}
    if STREAM in accept:
        headers |= {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(_streamed(answer, name, last_event_id, stack), media_type=STREAM, headers=headers)
    async with stack:
        return await while_there(request, _whole(answer, name), headers)


async def while_there(request: Request, work: Coroutine[Any, Any, Response], headers: dict[str, str]) -> Response:
    """Return what is made for a client; give it up when the client goes."""
    making, leaving = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait([making, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not making.done():
            return Response(status_code=CLIENT_CLOSED)
        response = making.result()
        response.headers.update(headers)
        return response
    finally:
        await cancel_tasks([making, leaving])


async def _whole(answer: Answer, name: str) -> Response:
    events = [event async for event in answer.read()]
    texts = [event.text for event in events if isinstance(event, Message | PrivateMessage) and event.text]
    return JSONResponse({"events": [_plain(event, name) for event in events], "message": "\n\n".join(texts)})


async def _gone(request: Request) -> None:
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _streamed(answer: Answer, name: str, after: int, stack: AsyncExitStack) -> AsyncIterator[bytes]:
    """Yield the events of an answer as Server-Sent Events, and a sign of life where nothing comes for a while."""
    async with stack:
        events = aiter(answer.read(after))
        coming = asyncio.create_task(_next(events))
        try:
            while True:
                done, _ = await asyncio.wait([coming], timeout=ALIVE_EVERY)
                if not done:
                    yield b": still here\n\n"
                    continue
                event = coming.result()
                if event is None:
                    return
                yield format_sse_event(data_str=safe_json(_plain(event, name)), id=str(event.seq))
                coming = asyncio.create_task(_next(events))
        finally:
            await cancel_tasks([coming])


async def _next(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


def _plain(event: Event, name: str) -> dict[str, Any]:
    return {**event.plain(), "thread": name}
