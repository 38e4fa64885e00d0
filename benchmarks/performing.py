"""Perform the conversation: models that speak its lines, the application around them, turn after turn."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

import observers
from agents.conversation.prompt import Prompting
from agents.events import Event, Message, TurnEnd
from agents.graph import Graph, build_graph
from agents.memory import Memory
from agents.memory.backend import Backend
from agents.memory.sqlite_file import SqliteBackend
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speaker, Speakers
from app.assistant import Assistant, Turn
from app.assistant.turn import Languages
from app.assistant.turn_player import TurnPlayer
from app.composition import SUPERVISOR_TOOLS, plugins_found, tables_of
from app.composition.history_search import search_history
from app.process.garbage import seldom_searched
from app.testing.script import Call, Line, Script
from benchmarks.conversation import ERRANDS, WORK, Step, found, script
from prompts import languages

ENTRIES = {WORK: "talk_about_work", ERRANDS: "plan_errands"}
DESCRIPTIONS = {
    WORK: "Used for talking about the user's working life: experience, wishes, courses, posts and what they pay.",
    ERRANDS: "Used for planning errands: what has to be done by when, where, by whom, and what it costs.",
}


Durability = Literal["async", "sync", "exit"]
"""The time of LangGraph's writes: beside the next step, before it, or once at the end of a turn."""
Change = Callable[[Memory], AbstractAsyncContextManager[Memory]]
"""A context with a changed memory: it replaces parts of the memory and keeps them open during a block."""


class OffScript(AssertionError):
    """A turn did not end as in the script."""


@dataclass(repr=False)
class Player(Script):
    """The script of every role in the current step; the observers are perfect routers."""

    step: Step = field(default_factory=lambda: script()[0])

    def __repr__(self) -> str:
        # LangChain prints a model before each call: with all its former prompts, that takes ever longer.
        return "Player()"

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return what `role` has to say at this point of the step."""
        exchange = self.step.exchange
        if role == "observer":
            return self.step.route
        if role == self.step.speaker:
            last = next(message for message in reversed(messages) if not isinstance(message, SystemMessage))
            looks_up = exchange.query and not isinstance(last, ToolMessage)
            return Call("lookup", {"query": exchange.query}) if looks_up else exchange.answer
        if role == SUPERVISOR:
            return Call(ENTRIES[self.step.speaker], {"brief": exchange.brief})
        # A specialist with a message for another one: mostly a draft that nobody will see.
        return Call("hand_back", {"reason": "The user has changed the subject.", "wish": exchange.says})


@tool
async def lookup(query: str) -> str:
    """Look up facts and figures."""
    return found(query)


def company(*, watched: bool = True) -> Speakers:
    """Return the supervisor and the two specialists, with or without observers."""
    watching = ("supervisor", "finished") if watched else ()
    specialists = {
        name: Speaker(name=name, tool=ENTRIES[name], description=text, tools=[lookup], observers=watching)
        for name, text in DESCRIPTIONS.items()
    }
    return Speakers(Speaker(name=SUPERVISOR, tools=SUPERVISOR_TOOLS), specialists, common=[search_history])


def role_text(name: str) -> str:
    """Return the application's system prompt of a speaker."""
    speakers = company()
    return Prompting(speakers).role(speakers[name], "en")


@asynccontextmanager
async def stage(
    url: str,
    player: Player,
    *,
    watched: bool = True,
    durability: Durability = "sync",
    change: Change | None = None,
    backend: Callable[[str], Backend] = SqliteBackend,
) -> AsyncIterator[Assistant]:
    """Open the database at `url` and put the application together around the script; it ships with `sync`.

    `change` puts other parts into the memory; `backend` makes the backend of the address.
    """
    speakers, langs = company(watched=watched), languages()
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(backend(url).open(tables=tables_of(plugins_found())))
        if change:
            memory = await stack.enter_async_context(change(memory))
        graph = build_graph(speakers, observers.discover(langs), saver=memory.saver, store=memory.store)
        if durability != "sync":
            graph = cast(Graph, _Lasting(graph, durability))
        models = player.models([SUPERVISOR, "observer", *speakers.dialogs])
        turns = TurnPlayer(graph, Languages("en", tuple(langs)), memory=memory, models=models)
        # As `open_assistant` does.
        with seldom_searched():
            yield Assistant(turns, speakers)


class _Lasting:
    """A graph with another durability than the application's own."""

    def __init__(self, graph: Graph, durability: Durability) -> None:
        self._graph, self._durability = graph, durability

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def astream(self, *inputs: Any, **options: Any) -> AsyncIterator[Any]:
        return self._graph.astream(*inputs, **{**options, "durability": self._durability})


async def perform(
    assistant: Assistant, player: Player, steps: Sequence[Step], thread: str = "script"
) -> AsyncIterator[list[Event]]:
    """Play the steps on one thread, and yield the events of each turn.

    Raises:
        OffScript: the wrong speaker answered a turn.
    """
    for number, step in enumerate(steps, 1):
        player.step = step
        turn = Turn(thread=thread, text=step.exchange.says, device="terminal")
        events = [event async for event in assistant.play(turn)]
        answers = [(event.speaker, event.text) for event in events if isinstance(event, Message)]
        holders = [event.dialog for event in events if isinstance(event, TurnEnd)]
        right = [None if step.speaker == SUPERVISOR else step.speaker]
        if (step.speaker, step.exchange.answer) not in answers or holders != right:
            raise OffScript(f"turn {number} ({step.kind}) is {step.speaker}'s; {holders} hold it after {answers!r}")
        yield events
