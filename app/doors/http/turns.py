"""The paths of a conversation: turns and what they are answered, and what is said of itself."""

import uuid
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, Field

from agents.toolkit.questions import CHOICE
from app.doors.http.callbacks import Callbacks
from app.doors.http.delivery import Delivery, plain
from app.doors.http.exchange import FAULTS, STREAM, Body, Caller, Name, Operator, Running, Served, ThreadName
from app.doors.http.threads import lines_of
from app.doors.visit import stop_when_begun
from app.short_term_memory import COMMAND

MARK = "#"
"""Stands between the id of an answer and the id of the question that it answers."""
UNDO = "undo"


class NewTurn(Body):
    """A message of a user."""

    text: str | None
    """None lets the assistant speak first, or go on."""
    id: Name | None = None
    """The same id again does nothing twice and repeats the outcome; left out: a new one."""
    user: Name | None = None
    """Who speaks; left out: the thread belongs to one user, who has its name."""
    lang: Annotated[str, Field(max_length=10, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]+)*$")] | None = None
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


STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {STREAM: {"schema": {"type": "string"}}}}}
Delivered = Annotated[Delivery, Depends()]
router = APIRouter(prefix="/threads/{thread}", responses=FAULTS)


@router.post("/turns", response_model=Outcome, responses=STREAMED)
async def play(body: NewTurn, delivery: Delivered) -> Response:
    """Play a turn: as a stream of events for `Accept: text/event-stream`, else whole."""
    return await delivery.answer(body.text, delivery.id(body.id), body.user, body.source, body.lang)


@router.post("/answers", response_model=Outcome, responses=STREAMED)
async def answer(body: NewAnswer, delivery: Delivered, assistant: Served) -> Response:
    """Answer what a tool has asked; the same id again repeats the outcome."""
    name, owner, own_id = delivery.name, delivery.user(body.user) or delivery.name, delivery.id(body.id)
    last = await assistant.last_message(name, owner)
    if last and last.source == CHOICE and last.message_id.rpartition(MARK)[0] == own_id:
        return await delivery.answer(body.choose, last.message_id, body.user, CHOICE)
    question = await assistant.question(name, owner)
    if question is None:
        raise HTTPException(409, "Nothing is asked in this thread.")
    if body.question and body.question != question.id:
        raise HTTPException(409, f"Another question is open: {question.id}.")
    if not await assistant.fits(name, owner, body.choose):
        raise HTTPException(422, "That is no answer to the open question.")
    return await delivery.answer(body.choose, f"{own_id}{MARK}{question.id}", body.user, CHOICE)


@router.post("/undo", response_model=Outcome, responses=STREAMED)
async def undo(body: Whose, delivery: Delivered) -> Response:
    """Take back what was written last."""
    return await delivery.answer(UNDO, delivery.id(), body.user, COMMAND)


@router.post("/cancel")
async def cancel(thread: ThreadName, body: Whose, key: Caller, assistant: Served) -> dict[str, bool]:
    """Stop the answer that is being made; what was said so far is kept."""
    user = key.inside(body.user) if body.user else None
    return {"stopped": await assistant.stop(key.inside(thread), user)}


@router.post("/say")
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
    return {"said": True, "event": plain(message, thread)}


@router.post("/stop")
async def stop(
    thread: ThreadName, key: Caller, assistant: Served, answers: Running, request: Request
) -> dict[str, bool]:
    """End a thread: stop its answer, and push its memory to MEMORY_CALLBACK_URL, where that is set."""
    name = key.inside(thread)
    stopped = answers.is_running(name) and await stop_when_begun(assistant, name, lambda: not answers.is_running(name))
    await assistant.conclude(name)
    callbacks: Callbacks | None = request.app.state.callbacks
    async with assistant.memory.locks.hold(name):
        lines = await lines_of(assistant, name)
        if callbacks:
            await callbacks.push(name, thread, lines)
    return {"stopped": stopped, "pushed": callbacks is not None}
