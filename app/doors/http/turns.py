"""The paths of a conversation: turns, answers to questions, undo, stop, and the assistant's own sentences."""

import uuid
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Response
from pydantic import BaseModel, Field

from agents.toolkit.questions import CHOICE
from agents.toolkit.services import MemoryReceiver
from app.assistant.short_term_memory import COMMAND
from app.doors.http import exchange
from app.doors.http.delivery import Delivery, plain
from app.doors.http.exchange import FAULTS, STREAMED, Body, Caller, Name, Operator, PathName, Running, Served, audited
from app.doors.http.questions import answer_message
from app.doors.http.threads import lines_of
from app.doors.slash_commands.talk import UNDO


class UserBody(Body):
    """A body with a user."""

    user: Name | None = None
    """The user who speaks or is meant; left out: the user with the thread's name, its only user, or anybody."""


ANYBODY = UserBody()


class New(UserBody):
    """A body with an id of its own."""

    id: Name | None = None
    """A repeated id does nothing twice and repeats the outcome; left out: a new one."""


class NewTurn(New):
    """A message of a user."""

    text: str | None
    """None lets the assistant speak first, or go on."""
    lang: exchange.Language | None = None
    source: Literal["message", "asr"] = "message"
    """`asr` for recognised speech."""


class NewAnswer(New):
    """A user's answer to the open question of a tool."""

    choose: Annotated[str, Field(max_length=4_000)]
    """A number, an id, a label, or a form's values."""
    question: Name | None = None
    """The id of the question; if another question is open, it stays open."""


class NewWords(New):
    """A sentence for the assistant to say."""

    text: Annotated[str, Field(min_length=1, max_length=20_000)]
    running: Literal["stop", "wait", "skip"] = "stop"
    """With a running answer: stop it, wait for its end, or skip the sentence."""


class Outcome(BaseModel):
    """The outcome of a turn."""

    events: list[dict[str, Any]]
    """The events, as in a stream."""
    message: str
    """The whole text for the user."""


Delivered = Annotated[Delivery, Depends()]
router = APIRouter(prefix="/threads/{thread}", responses=FAULTS)


@router.post("/turns", response_model=Outcome, responses=STREAMED)
async def play(body: NewTurn, delivery: Delivered) -> Response:
    """Play a turn; the answer is a stream of events for `Accept: text/event-stream`, else one JSON body."""
    if body.text is not None and not body.text.strip():
        raise HTTPException(422, "The text is empty.")
    return await delivery.answer(body.text, delivery.id(body.id), body.user, body.source, body.lang)


@router.post("/answers", response_model=Outcome, responses=STREAMED)
async def answer(body: NewAnswer, delivery: Delivered, assistant: Served, name: exchange.Known) -> Response:
    """Answer the open question of a tool; a repeated id repeats the outcome."""
    owner, id = delivery.key.user(body.user) or name, delivery.id(body.id)
    text, id = await answer_message(assistant, name, owner, id, body.choose, body.question)
    return await delivery.answer(text, id, body.user, CHOICE)


@router.post("/undo", response_model=Outcome, responses=STREAMED, dependencies=[Depends(exchange.known)])
async def undo(delivery: Delivered, body: UserBody = ANYBODY) -> Response:
    """Take the last write back."""
    return await delivery.answer(UNDO, delivery.id(), body.user, COMMAND)


@router.post("/cancel")
async def cancel(name: exchange.Known, key: Caller, assistant: Served, body: UserBody = ANYBODY) -> dict[str, bool]:
    """Stop the running answer; its text so far stays."""
    return {"stopped": await assistant.stop(name, key.user(body.user))}


@router.post("/say", dependencies=[audited("said")])
async def say(
    thread: PathName, body: NewWords, key: Operator, name: exchange.Known, assistant: Served, answers: Running
) -> dict[str, Any]:
    """Let the assistant say a sentence without a message before it; the next speaker of the thread knows of it."""
    if body.running == "skip" and answers.running_in(name):
        return {"said": False}
    if body.running == "stop":
        await answers.stop(name)
    async with assistant.memory.locks.hold(name):
        message = await assistant.tell(name, body.text, body.id or uuid.uuid4().hex, key.user(body.user))
    return {"said": True, "event": plain(message, thread)}


@router.post("/stop")
async def stop(thread: PathName, name: exchange.Known, assistant: Served, answers: Running) -> dict[str, bool]:
    """End a thread: stop its answer, and push its memory to its receivers."""
    stopped = await answers.stop(name)
    await assistant.conclude(name)
    receivers = assistant.services.every(MemoryReceiver)
    async with assistant.memory.locks.hold(name):
        lines = await lines_of(assistant, name)
        for receiver in receivers:
            await receiver.push(name, thread, lines)
    return {"stopped": stopped, "pushed": bool(receivers)}
