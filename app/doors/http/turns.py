"""The paths of a conversation: turns and what they are answered, and what is said of itself."""

import uuid
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, Field

from agents.toolkit.questions import CHOICE
from app.assistant.short_term_memory import COMMAND
from app.doors.http import exchange
from app.doors.http.callbacks import Callbacks
from app.doors.http.delivery import Delivery, plain
from app.doors.http.exchange import FAULTS, STREAMED, Body, Caller, Name, Operator, PathName, Running, Served, audited
from app.doors.http.questions import answer_message
from app.doors.http.threads import lines_of
from app.doors.slash_commands.talk import UNDO


class Whose(Body):
    """What is for somebody."""

    user: Name | None = None
    """Who speaks, or is meant; left out: the one who has the thread's name, to whom alone it belongs, or anybody."""


ANYBODY = Whose()


class New(Whose):
    """Something new in a thread."""

    id: Name | None = None
    """The same id again does nothing twice and repeats the outcome; left out: a new one."""


class NewTurn(New):
    """A message of a user."""

    text: str | None
    """None lets the assistant speak first, or go on."""
    lang: exchange.Language | None = None
    source: Literal["message", "asr"] = "message"
    """`asr` for words that were spoken."""


class NewAnswer(New):
    """What a user answers to the open question of a tool."""

    choose: Annotated[str, Field(max_length=4_000)]
    """A number, an id, a label, or a form's values."""
    question: Name | None = None
    """The id of the question; another one that is open is left open."""


class NewWords(New):
    """What the assistant is to say."""

    text: Annotated[str, Field(min_length=1, max_length=20_000)]
    running: Literal["stop", "wait", "skip"] = "stop"
    """What becomes of an answer that is being made: it is stopped, it comes first, or nothing is said."""


class Outcome(BaseModel):
    """What came of a turn."""

    events: list[dict[str, Any]]
    """The events, as a stream has them."""
    message: str
    """All that was said to the user."""


Delivered = Annotated[Delivery, Depends()]
router = APIRouter(prefix="/threads/{thread}", responses=FAULTS)


@router.post("/turns", response_model=Outcome, responses=STREAMED)
async def play(body: NewTurn, delivery: Delivered) -> Response:
    """Play a turn: as a stream of events for `Accept: text/event-stream`, else whole."""
    if body.text is not None and not body.text.strip():
        raise HTTPException(422, "The text is empty.")
    return await delivery.answer(body.text, delivery.id(body.id), body.user, body.source, body.lang)


@router.post("/answers", response_model=Outcome, responses=STREAMED)
async def answer(body: NewAnswer, delivery: Delivered, assistant: Served, name: exchange.Known) -> Response:
    """Answer what a tool has asked; the same id again repeats the outcome."""
    owner, id = delivery.key.user(body.user) or name, delivery.id(body.id)
    text, id = await answer_message(assistant, name, owner, id, body.choose, body.question)
    return await delivery.answer(text, id, body.user, CHOICE)


@router.post("/undo", response_model=Outcome, responses=STREAMED, dependencies=[Depends(exchange.known)])
async def undo(delivery: Delivered, body: Whose = ANYBODY) -> Response:
    """Take back what was written last."""
    return await delivery.answer(UNDO, delivery.id(), body.user, COMMAND)


@router.post("/cancel")
async def cancel(name: exchange.Known, key: Caller, assistant: Served, body: Whose = ANYBODY) -> dict[str, bool]:
    """Stop the answer that is being made; what was said so far is kept."""
    return {"stopped": await assistant.stop(name, key.user(body.user))}


@router.post("/say", dependencies=[audited("said")])
async def say(
    thread: PathName, body: NewWords, key: Operator, name: exchange.Known, assistant: Served, answers: Running
) -> dict[str, Any]:
    """Let the assistant say a sentence that answers nothing; whoever speaks next in the thread knows of it."""
    if body.running == "skip" and answers.running_in(name):
        return {"said": False}
    if body.running == "stop":
        await answers.stop(name)
    async with assistant.memory.locks.hold(name):
        message = await assistant.tell(name, body.text, body.id or uuid.uuid4().hex, key.user(body.user))
    return {"said": True, "event": plain(message, thread)}


@router.post("/stop")
async def stop(
    thread: PathName, name: exchange.Known, assistant: Served, answers: Running, request: Request
) -> dict[str, bool]:
    """End a thread: stop its answer, and push its memory to MEMORY_CALLBACK_URL, where that is set."""
    stopped = await answers.stop(name)
    await assistant.conclude(name)
    callbacks: Callbacks | None = request.app.state.callbacks
    async with assistant.memory.locks.hold(name):
        lines = await lines_of(assistant, name)
        if callbacks:
            await callbacks.push(name, thread, lines)
    return {"stopped": stopped, "pushed": callbacks is not None}
