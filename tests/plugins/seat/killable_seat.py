"""`python -m tests.plugins.seat.killable_seat`: a person's steps at a desk, killed before any commit.

A request's text is what is done: "take", "say WORDS", "back NOTE", or "hear WORDS" for a message of the user. Steps
are the commits to the database.
"""

import json
import os
from pathlib import Path

from app.assistant import Assistant, Turn
from app.plugins.seat.place import Operator
from app.plugins.seat.seats import Seats, take_seat
from app.testing.script import Script
from tests.support.killable_process import Request, serve
from tests.support.killable_writes import Steps, count
from tests.support.scripted_assistant import ROLES, stage

OPERATOR = Operator("Anna", "desk 1")


async def step(assistant: Assistant, request: Request) -> None:
    """Carry the request out."""
    kind, _, words = request.text.partition(" ")
    if kind == "take":
        await take_seat(assistant, request.thread, OPERATOR)
    elif kind == "say":
        await assistant.services.get(Seats).say(request.thread, OPERATOR, words, request.id)
    elif kind == "back":
        await assistant.services.get(Seats).hand_back(request.thread, OPERATOR, words)
    elif kind == "hear":
        async for _ in assistant.play(Turn(thread=request.thread, text=words, id=request.id)):
            pass


async def play(request: Request, pipe: int) -> None:
    """Take one step, and tell when it is done."""
    steps = Steps(request.step)
    if request.step is not None:
        count(steps, finely=True)
    async with stage(Path(request.database), Script().models(ROLES)) as assistant:
        steps.begun = True
        await step(assistant, request)
        steps.begun = False
    os.write(pipe, json.dumps({"type": "done"}).encode() + b"\n")


if __name__ == "__main__":
    serve(play)
