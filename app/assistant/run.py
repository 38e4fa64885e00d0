"""One run of the graph: its events as they happen, and a way to stop it."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from agents.context import Context
from agents.events import Event, Message, Token, ToolStart
from agents.events.models import ModelStart, Replied
from agents.replay.record import Recording
from agents.state import State
from app.graph import Graph

STEPS = 40
"""Supersteps a turn may take, some eighteen rounds of tools; one that needs more is going round in circles."""
GRACE = 1.0
"""Seconds that a run may take to end by itself when it is stopped with its answer already given."""


INTERRUPT = "__interrupt__"
"""The key under which LangGraph reports, among the values of the state, that it waits."""


class Run:
    """Drive the graph in a task of its own, so that it can be stopped while its events are being read."""

    def __init__(self, graph: Graph, context: Context, state: State, turn: int) -> None:
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self.context = replace(context, sink=self._events.put_nowait)
        self.graph, self.state, self.turn = graph, state, turn
        self.said: list[Message] = []
        self.shown = ""
        """The text shown since the last complete message."""
        self.speaker: str | None = None
        """Who is showing it."""
        self.model_calls = 0
        self.stopped = False
        self.ended = False
        """Whether the graph came to its end."""
        self.recording = Recording()
        self._answered = False
        self._task: asyncio.Task[None] | None = None

    @property
    def config(self) -> RunnableConfig:
        """Return the graph's configuration for the thread."""
        return config_of(self.context.thread)

    async def events(self, given: dict[str, Any] | None) -> AsyncGenerator[Event, None]:
        """Run the graph on `given` (None: go on where it was left) and yield its events.

        Ends quietly when stopped. Raises whatever the graph raised.
        """
        if self.stopped:
            return
        self._task = asyncio.create_task(self._drive(given))
        try:
            while (event := await self._events.get()) is not None:
                self._note(event)
                if not isinstance(event, Replied):
                    yield event
            await asyncio.wait([self._task])
            if not self.stopped:
                self._task.result()
        finally:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def stop(self) -> None:
        """Stop the run; what was shown so far stays, and an answer that was given in full may be put away."""
        self.stopped = True
        if self._task is None:
            return
        if self._answered:
            asyncio.get_running_loop().call_later(GRACE, self._task.cancel)
        else:
            self._task.cancel()

    async def _drive(self, given: dict[str, Any] | None) -> None:
        try:
            stream = self.graph.astream(
                given,
                {**self.config, "recursion_limit": STEPS},
                context=self.context,
                stream_mode=["custom", "values"],
                durability="sync",
            )
            async for part in stream:
                mode, what = cast(tuple[str, Any], part)
                if mode == "values":
                    self.state = cast(State, {name: value for name, value in what.items() if name != INTERRUPT})
                else:
                    self._events.put_nowait(what)
            self.ended = True
        finally:
            self._events.put_nowait(None)

    def _note(self, event: Event) -> None:
        self.recording.note(event)
        match event:
            case Token():
                self.shown, self.speaker = self.shown + event.text, event.speaker
            case Message():
                self.said.append(event)
                self.shown, self.speaker, self._answered = "", None, True
            case ModelStart():
                self.model_calls += 1
                self.shown = ""
                self._go_on(observed=event.speaker not in self.state.get("talks", {}))
            case ToolStart():
                self._go_on(observed=False)

    def _go_on(self, *, observed: bool) -> None:
        """Note that after an answer more is being made; a run that was told to stop does so here."""
        if observed:
            return
        self._answered = False
        if self.stopped and self._task is not None:
            self._task.cancel()


def config_of(thread: str) -> RunnableConfig:
    """Return the graph's configuration for a thread."""
    return {"configurable": {"thread_id": thread}}
