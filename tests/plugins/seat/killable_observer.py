"""`python -m tests.plugins.seat.killable_observer`: turns in which an observer calls a person, each process killed.

Steps are the trips to the database, from the start of the turn.
"""

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from langchain_core.messages import BaseMessage

from agents.conversation.scene import Scene
from agents.memory.sqlite_file import SqliteBackend
from agents.state.verdict import STAY, Verdict
from app.assistant import Assistant, Turn
from app.composition import open_services, plugins_found, tables_of
from app.plugins.seat.seats import Seats
from app.testing import compose
from app.testing.script import Line, Script
from observers import Observer, watched
from tests.support.compiled import discovered
from tests.support.killable_process import Request, serve
from tests.support.killable_writes import Steps, count

ANGRY = "this is useless!"
ANSWER = "I am sorry."


class Polite(Script):
    """A supervisor that is sorry, whatever it hears."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the role's line."""
        return ANSWER


async def check(scene: Scene) -> Verdict:
    """Call a person for whoever shouts."""
    return Verdict("person", reason="the user is angry") if "!" in scene.text else STAY


ALARM = Observer(pre_check=check, always="everywhere")


@asynccontextmanager
async def watched_over(path: Path) -> AsyncIterator[Assistant]:
    """Open an assistant whose observer calls people."""
    speakers, watching = discovered()
    watching = {**watching, "alarm": ALARM}
    async with (
        SqliteBackend(f"sqlite:///{path}").open(tables=tables_of(plugins_found())) as memory,
        open_services(plugins_found(), memory, Seats(memory, wait=60)) as services,
    ):
        yield compose(memory, Polite(), watched(speakers, watching), watching, services=services)


async def play(request: Request, pipe: int) -> None:
    """Play a turn."""
    steps = Steps(request.step)
    count(steps)
    async with watched_over(Path(request.database)) as assistant:
        steps.begun = request.step is not None
        turn = Turn(thread=request.thread, text=request.text, id=request.id)
        async for event in assistant.play(turn):
            os.write(pipe, json.dumps(event.plain()).encode() + b"\n")
        steps.begun = False


if __name__ == "__main__":
    serve(play)
