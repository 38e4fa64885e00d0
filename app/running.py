"""One run of the graph: its events as they happen, and a way to stop it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from agents.events import Event, Message, ModelStart, Token
from agents.state import Context, State
from app.graph import Graph

STEPS = 25
"""Supersteps a turn may take; a turn that needs more is going round in circles."""


class Run:
    """Drive the graph in a task of its own, so that it can be stopped while its events are being read."""

    def __init__(self, graph: Graph, config: RunnableConfig, context: Context, state: State) -> None:
        self.graph, self.config, self.context, self.state = graph, config, context, state
        self.said: list[Message] = []
        self.shown = ""
        """The text shown since the last complete message."""
        self.speaker: str | None = None
        self.model_calls = 0
        self.stopped = False
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def events(self, given: dict[str, Any] | None) -> AsyncIterator[Event]:
        """Run the graph on `given` (None: go on where it was left) and yield its events.

        Ends quietly when stopped. Raises whatever the graph raised.
        """
        self._task = asyncio.create_task(self._drive(given))
        try:
            while (event := await self._events.get()) is not None:
                self._note(event)
                yield event
            await self._task
        except asyncio.CancelledError:
            if not self.stopped:
                raise
        finally:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def stop(self) -> None:
        """Stop the run; what was shown so far stays."""
        self.stopped = True
        if self._task is not None:
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
                    self.state = what
                else:
                    self._events.put_nowait(what)
        finally:
            self._events.put_nowait(None)

    def _note(self, event: Event) -> None:
        if isinstance(event, Token):
            self.shown, self.speaker = self.shown + event.text, event.speaker
        elif isinstance(event, Message):
            self.said.append(event)
            self.shown = ""
        elif isinstance(event, ModelStart):
            self.model_calls += 1
            self.shown = ""
