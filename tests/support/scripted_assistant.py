"""A conversation on the real graph and a real database file, with the test's own lines for the models."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, cast

from langchain_core.messages import BaseMessage

from agents.events import Event, Message
from agents.memory import inbox
from agents.memory.sqlite_file import SqliteBackend
from agents.models import Models
from agents.state import State
from agents.state.history import dangling
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant, Turn
from app.assistant.run import config_of
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition import open_services, tables_of, turn_hooks
from app.composition.help_chain import make_help
from app.settings import Settings
from app.testing.script import Asked, Call, Line, Script
from app.testing.untrained_gate import untrained_gate
from tests.support.compiled import compiled, discovered, specialists
from tests.support.settings_cache import without_file
from tests.support.user_words import bare, user_words

THREAD = "t"
ROLES = ("supervisor", "profile", "planner", "observer")
PLAN = Call("plan_things", {"brief": "to-dos"})
MILK_AND_TEA: Mapping[str, list[Line]] = {
    "supervisor": [PLAN],
    "planner": [
        *(Call("add_todos", {"items": ["milk", "tea"]}), "Noted."),
        *(Call("delete_todos", {"numbers": [1, 2]}), "Deleted."),
    ],
}
"""Two things are put on the list, and then deleted, which the user is asked about."""


@asynccontextmanager
async def stage(
    path: Path,
    models: Models,
    settings: Settings | None = None,
    change: Callable[[Speakers], Speakers] = lambda speakers: speakers,
    given: Sequence[object] = (),
) -> AsyncIterator[Assistant]:
    """Open the application as it is, or changed, with these models, on the database file at `path`.

    `given` are settings and services that come before those of the plug-ins.
    """
    speakers, watching = discovered()
    speakers = change(speakers)
    async with (
        SqliteBackend(f"sqlite:///{path}").open(tables=tables_of(specialists())) as memory,
        open_services(specialists(), memory, *given) as services,
    ):
        graph = compiled(memory, speakers, watching, untrained_gate)
        help = make_help(settings or without_file(Settings), memory.notes, services, specialists())
        languages = Languages("en", ("en", "ru"))
        parts: dict[str, Any] = {"memory": memory, "models": models, "help": help, "services": services}
        yield Assistant(TurnPlayer(graph, languages, **parts, around_turn=turn_hooks(specialists())), speakers)


async def play(assistant: Assistant, text: str | None, message_id: str | None = None) -> list[Event]:
    """Play one message to its end and return all its events."""
    named: dict[str, Any] = {"id": message_id} if message_id else {}
    return [event async for event in assistant.play(Turn(thread=THREAD, text=text, **named))]


def said(events: Sequence[Event]) -> list[str]:
    """Return the texts for the user."""
    return [event.text for event in events if isinstance(event, Message)]


async def values(assistant: Assistant, thread: str = THREAD) -> State:
    """Return the stored state of a thread."""
    return cast(State, (await assistant.graph.aget_state(config_of(thread))).values)


async def open_calls(assistant: Assistant, thread: str = THREAD) -> list[str]:
    """Return the tool calls without an answer, in the histories of all speakers."""
    talks = (await values(assistant, thread)).get("talks", {})
    return [call for talk in talks.values() for call in dangling(talk.get("messages", []))]


async def todos(assistant: Assistant, user: str = THREAD) -> list[str]:
    """Return the to-dos of a user, in the order of their numbers."""
    items = await assistant.memory.store.asearch(("users", user, "todos"), limit=1000)
    return [item.value["text"] for item in sorted(items, key=lambda item: int(item.value["number"]))]


async def script_lines(assistant: Assistant, thread: str = THREAD) -> list[str]:
    """Return the transcript, "speaker: text" on each line, with "^C" behind interrupted texts."""
    return [_worded(line) for line in await assistant.history(thread)]


class Echo(Script):
    """A supervisor that repeats the last message."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the last message, or a greeting without one."""
        words = user_words(messages)
        return (words and words[-1]) or "Hello, who are you?"


class Planner(Script):
    """Models that add texts with "put" to the to-dos; they do not know the messages of another `life`."""

    def __init__(self, life: int = 0) -> None:
        # A provider never gives two calls the same id, and neither may two lives.
        super().__init__(asked=[Asked("nobody", [], [])] * (1000 * life))

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the role's next line."""
        last = [message for message in messages if message.type != "system"][-1]
        if role == "observer":
            return "stay"
        if role == "supervisor":
            return Call("plan_things", {"brief": "to-dos"})
        words = bare(last.text)
        if last.type == "human" and words.startswith("put"):
            return ["Well.", Call("add_todos", {"items": [words]})]
        return "Noted." if last.type == "tool" else "What shall I put down?"


class Gate(asyncio.Event):
    """A gate in a script. It lets so many pieces pass, and then none until it is set."""

    def __init__(self, passes: int) -> None:
        super().__init__()
        self._passes = passes

    async def wait(self) -> Literal[True]:
        """Wait unless there is a pass left."""
        self._passes -= 1
        return True if self._passes >= 0 else await super().wait()


class Holding(Gate):
    """A gate that reports when all its pieces have passed."""

    holds = False

    async def wait(self) -> Literal[True]:
        """Wait unless there is a pass left."""
        self.holds = self._passes <= 0
        return await super().wait()


def _worded(line: inbox.TranscriptLine) -> str:
    who = "user" if line.role == "user" else line.speaker
    return f"{who}: {line.text}{' ^C' if line.metadata.get('interrupted') else ''}"
