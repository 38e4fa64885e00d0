"""The paths of people in the assistant's place: calls, and for operators take-over, answers and handback."""

import uuid
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from app.assistant.short_term_memory import Content, contents
from app.doors.http.exchange import FAULTS, Body, Caller, Known, Name, Operator, Served, allowed, audited
from app.plugins.seat.place import Operator as Person
from app.plugins.seat.place import Seat
from app.plugins.seat.seats import LONGEST_NOTE, LONGEST_REASON, Seats, take_seat
from app.security.api_keys import Key
from prompts import FALLBACK

router = APIRouter(responses=FAULTS, dependencies=[allowed("talk")])
UNNAMED = "operator"
"""The name of a person who gives none, and whose key has none."""


class SeatView(BaseModel):
    """A thread that a person holds, or to which one is called."""

    thread: str
    user: str
    lang: str
    caller: Literal["user", "assistant", "observer"] | None
    """The caller of a person; null if one came unasked."""
    reason: str
    since_ms: int
    holder: str | None
    """The person who holds the thread; null while the call waits."""
    waits_ms: int | None
    """The time of the user's first unanswered message."""


class Sitting(Body):
    """The take-over of a thread."""

    operator: Name | None = None
    """The operator's name for the user; left out: the name of the key."""
    force: bool = False
    """Whether to take the thread from another person who holds it."""


class HandbackBody(Sitting):
    """The handback of a thread, with a note that the assistant reads."""

    note: Annotated[str, Field(max_length=LONGEST_NOTE)] = ""


SITTING, HANDBACK = Sitting(), HandbackBody()
"""The bodies of requests without one."""


class Words(Body):
    """A person's message to the user."""

    text: Annotated[str, Field(min_length=1, max_length=20_000)]
    id: Name | None = None
    """The same id again sends nothing twice."""
    operator: Name | None = None


class PersonCall(Body):
    """A call for a person: its reason, and its user."""

    reason: Annotated[str, Field(max_length=LONGEST_REASON)] = ""
    user: Name | None = None


CALL = PersonCall()


@router.get("/seats")
async def seats(key: Operator, assistant: Served) -> dict[str, list[SeatView]]:
    """List the calls and the threads that people hold, the one that waits longest first."""
    return {"seats": [_view(seat) for seat in await assistant.services.get(Seats).all()]}


@router.put("/threads/{thread}/seat", dependencies=[audited("seat_taken")])
async def take(key: Operator, thread: Known, assistant: Served, body: Sitting = SITTING) -> SeatView:
    """Take a thread over; waits for a running answer of another process."""
    return _view(await take_seat(assistant, thread, person(key, body.operator), force=body.force))


@router.delete("/threads/{thread}/seat", dependencies=[audited("seat_left")])
async def hand_back(key: Operator, thread: Known, assistant: Served, body: HandbackBody = HANDBACK) -> dict[str, bool]:
    """Give a thread back to the assistant."""
    await assistant.services.get(Seats).hand_back(thread, person(key, body.operator), body.note, force=body.force)
    return {"handed_back": True}


@router.post("/threads/{thread}/seat/messages", dependencies=[audited("seat_said")])
async def say(body: Words, key: Operator, thread: Known, assistant: Served) -> Content:
    """Say something to the user of a thread that one holds; it stands in the thread's memory with `source: person`."""
    line = await assistant.services.get(Seats).say(
        thread, person(key, body.operator), body.text, body.id or uuid.uuid4().hex
    )
    return contents([line])[0]


@router.post("/threads/{thread}/call")
async def call(name: Known, key: Caller, assistant: Served, body: PersonCall = CALL) -> dict[str, Any]:
    """Call a person to a thread, where SEAT_WAIT is set; the assistant goes on until one comes."""
    if not assistant.services.get(Seats).wait:
        raise HTTPException(409, "No person can be called here: SEAT_WAIT is not set.")
    lang = (await assistant.state(name) or {}).get("lang") or FALLBACK
    user = key.inside(body.user) if body.user else name
    seat = await assistant.services.get(Seats).call(name, user, lang, "user", body.reason)
    return {"called": True, "held_by": seat.holder or None}


@router.delete("/threads/{thread}/call")
async def withdraw(name: Known, assistant: Served) -> dict[str, bool]:
    """Take a call back, or let the assistant go on in a person's place."""
    return {
        "ended": await assistant.services.get(Seats).leave(name) or await assistant.services.get(Seats).withdraw(name)
    }


def _view(seat: Seat) -> SeatView:
    return SeatView.model_validate(seat._asdict() | {"holder": seat.holder or None})


def person(key: Key, name: str | None = None) -> Person:
    """Return the operator: the key's name or, where several people share a key, the given name."""
    id = f"key {key.name}"
    return Person(name or key.name or UNNAMED, id if name in (None, key.name) else f"{id}: {name}")
