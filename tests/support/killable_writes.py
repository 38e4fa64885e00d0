"""`python -m tests.support.killable_writes`: turns at a desk, in processes that may be killed at any of their steps.

A step changes what a kill leaves behind: a trip to the database after a commit, or either side of a tool's effect.
The process counts its steps from the first event of a kind (`Request.since`) to the end of the turn.
"""

import asyncio
import json
import os
import re
import signal
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from itertools import takewhile
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.tools import tool

from agents.memory.connection import PLAIN, Connection
from agents.memory.sqlite_file import SqliteBackend
from agents.state.person import RESULT
from agents.toolkit import Runtime, traits
from agents.toolkit.client_tools import ClientTool
from agents.toolkit.speaker import Speakers
from app.assistant import Turn
from app.composition import discover, open_services, plugins_found, tables_of
from app.testing import compose
from app.testing.script import Asked, Call, Line, Script
from observers import Observer
from prompts import phrase
from tests.support.changed_speakers import changed
from tests.support.killable_process import Request, serve
from tests.support.shop_tools import ask_address, choose_order
from tests.support.write_tools import Desk

CALLS: dict[str, Call] = {
    "pay": Call("pay", {"to": "Bob", "amount": 10}),
    "note": Call("note", {"text": "paid Bob"}),
    "mail": Call("mail", {"text": "hi"}),
    "return": Call("choose_order"),
    "fetch": Call("ask_address"),
    "promise": Call("promise", {"text": "to ring"}),
    "milk": Call("add_todos", {"items": ["milk"]}),
    "drop": Call("delete_todos", {"numbers": [1]}),
    "sky": Call("sky"),
}
SKY = (ClientTool("sky", "Looks at the sky.", {}),)
"""The tools of a client with one about the sky."""
ASKING = (choose_order, ask_address)


@traits(effect="write", transaction=True, confirm="always")
@tool
async def promise(text: str, runtime: Runtime) -> str:
    """Promise something, after a question."""
    assert runtime.context.ledger is not None
    async with runtime.context.ledger.transaction() as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS desk (text TEXT)")
        await connection.execute("INSERT INTO desk VALUES (?)", (text,))
    return f"Promised: {text}."


CONTEXT = re.compile("<context>.*?</context>", re.DOTALL)
READS = ("SELECT", "PRAGMA", "BEGIN")
"""Prefixes of statements that change nothing."""
PACE = 0.02
"""Seconds that a tool takes at each step."""


class Clerk(Script):
    """Models that pay, note, mail and ask in one reply, as the user orders, and then report the results.

    They note the user's answer to a question. The weather is for the supervisor.
    """

    def __init__(self, life: int) -> None:
        # A provider never gives two calls the same id, and neither may two lives.
        super().__init__(asked=[Asked("nobody", [], [])] * (1000 * life))

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the role's next line."""
        spoken = [message for message in messages if message.type != "system"]
        # These words call some of the matching tools.
        heard = CONTEXT.sub("", spoken[-1].text.lower())
        if role == "observer":
            return "other" if "weather" in heard else "stay"
        if role == "supervisor":
            return "It is sunny." if "weather" in heard else Call("plan_things", {"brief": "money"})
        results = _last_results(spoken)
        answers = [_returned(message) for message in results if message.name in [tool.name for tool in ASKING]]
        if answers:
            return [Call("note", {"text": text}) for text in answers]
        if results:
            return "\n".join(map(_returned, results))
        return [call for name, call in CALLS.items() if name in heard] or "Well."


def _returned(result: BaseMessage) -> str:
    """Return a tool's result, without the prompt's notes on the user."""
    text: str = result.text
    for seen in ("nobody", "shown", "with_words", "as_answer"):
        text = text.removesuffix(f"\n{phrase(f'seen_{seen}', 'en')}")
    return text.partition(f"\n{phrase('user_asked', 'en', question='').partition('“')[0]}")[0]


def _last_results(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the results of the last reply's calls; a prompt shows each call of a reply as a reply of its own."""
    since = [*takewhile(lambda message: message.type in ("ai", "tool"), reversed(messages))]
    pairs = [*zip(since[::2], since[1::2], strict=False)]
    if not pairs or pairs[0][0].type != "tool":
        return []
    return [result for result, reply in pairs if reply.id == pairs[0][1].id][::-1]


class Steps:
    """Count steps, and die at a given one."""

    def __init__(self, last: int | None) -> None:
        self.last = last
        self.begun = False
        self.taken = 0
        self.has_written = True
        """Whether the database may have changed since the last step; without a change a kill shows nothing."""

    def take(self) -> None:
        """Take a step."""
        self.taken += self.begun
        if self.last is not None and self.taken >= self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    async def pause(self, name: str) -> None:
        """Take a step of a tool."""
        await asyncio.sleep(PACE)
        self.take()


@cache
def staff() -> tuple[Desk, Speakers, Mapping[str, Observer]]:
    """Find all speakers once, before the forks."""
    desk = Desk(Path())
    speakers, watching = discover()
    return desk, with_questions(desk.with_desk(speakers)), watching


def with_questions(speakers: Speakers) -> Speakers:
    """Return the speakers; the planner has two more tools, which ask the user."""
    own = discover()[0].dialogs["planner"].tools
    return changed(speakers, "planner", *ASKING, promise, *own, resume="ask")


async def play(request: Request, pipe: int) -> None:
    """Play a turn."""
    desk, speakers, watching = staff()
    steps = Steps(request.step)
    count(steps, finely=request.finely)
    desk.path, desk.step = Path(request.database), steps.pause
    turn = Turn(thread=request.thread, text=request.text, id=request.id, user=request.user, source=request.source)
    turn = replace(turn, tools=SKY if "sky" in request.text or request.source == RESULT else ())
    async with (
        SqliteBackend(f"sqlite:///{desk.path}").open(tables=tables_of(plugins_found())) as memory,
        open_services(plugins_found(), memory) as services,
    ):
        assistant = compose(memory, Clerk(request.life), speakers, watching, services=services)
        async for event in assistant.play(turn):
            os.write(pipe, json.dumps(event.plain()).encode() + b"\n")
            steps.begun = (steps.begun or event.type == request.since) and event.type != "turn.end"


def count(steps: Steps, *, finely: bool = False) -> None:
    """Count the trip to a database after each commit as a step; if `finely`, the commit as well."""

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any) -> Any:
            if steps.begun and steps.has_written:
                steps.has_written = False
                steps.take()
            return method(*args)

        return call

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = sqlite3.connect(*args, **options)

        def trace(statement: str) -> None:
            kind = statement.lstrip().upper()
            # Uncommitted changes are lost with the process.
            if kind.startswith("COMMIT") or not (database.in_transaction or kind.startswith(READS)):
                steps.has_written = True
                if finely:
                    steps.take()

        database.set_trace_callback(trace)
        return database

    # Frozen, since one driver serves every file of a process; here it counts in all of them.
    object.__setattr__(PLAIN, "connect", traced)
    if not finely:
        # Every other method of a connection goes through this one.
        setattr(Connection, "read", counted(Connection.read))  # noqa: B010


if __name__ == "__main__":
    serve(play)
