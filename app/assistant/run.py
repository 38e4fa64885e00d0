"""One run of the graph: its events as they happen, what came of the gate's guess, and a way to stop it."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from agents import events
from agents.conversation.changes import Update
from agents.events.views import Notice
from agents.graph import Graph
from agents.memory.checkpointer import ENDING, READ, Step
from agents.memory.gate_log import GateOutcome, Logged
from agents.memory.inbox import now_ms
from agents.state import State
from agents.state.citations import Citation, shifted
from agents.state.verdict import Kind
from agents.toolkit.context import Context
from app.assistant.recording import Recording
from app.process.logs import name_turn
from app.process.tasks import cancel
from prompts import FALLBACK, phrase

GRACE = 1.0
"""Seconds that a run may take to end by itself when it is stopped after its complete answer."""
INTERRUPT = "__interrupt__"
"""The key under which LangGraph reports, among the values of the state, that it waits."""

STORED: Literal["stored"] = "stored"
"""Stands among the events where a step of the graph is stored."""


class Stamp:
    """Write thread, turn and sequence number on the events of a `play`."""

    def __init__(self, thread: str) -> None:
        self._thread, self._seq = thread, 0

    def __call__(self, event: events.Event, turn: int) -> events.Event:
        """Return the event of a turn with its place."""
        self._seq += 1
        return event.model_copy(update={"seq": self._seq, "thread": self._thread, "turn": turn})


class Run:
    """Drive the graph in a task of its own, so that it can be stopped while its events are being read.

    A resumed run goes on with the turn that an earlier run began.
    """

    def __init__(self, graph: Graph, context: Context, snapshot: StateSnapshot, *, is_resumed: bool) -> None:
        self._events: asyncio.Queue[events.Event | Literal["stored"] | None] = asyncio.Queue()
        self.graph, self.context = graph, replace(context, sink=self._events.put_nowait)
        self.state, self._read = cast(State, snapshot.values), snapshot.config["configurable"].get(READ)
        self.turn: int = self.state.get("turn", 0) + (0 if is_resumed else 1)
        lines = self.state.get("said", []) if is_resumed else []
        self.messages = [
            events.Message(speaker=line["speaker"], text=line["text"], citations=line.get("citations", []))
            for line in lines
        ]
        self.said_ms = [now_ms() for _ in lines]
        """When each of the messages was complete."""
        self.stopped_ms = 0
        """When the run was first told to stop; 0 if it was not."""
        self.images: list[events.ShownImage] = []
        self.shown = ""
        """The text shown since the last complete message."""
        self.citations: list[Citation] = []
        """The numbers of sources in that text."""
        self.speaker: str | None = None
        """The speaker of that text."""
        self.model_calls = 0
        self.is_told = False
        """Whether the user was told at the end what had been done until a stop or a failure."""
        self.begun: set[str] = set()
        """The ids of the calls of tools that have begun, those that were done among them."""
        self.done: set[str] = set()
        self.place: asyncio.Future[None] | None = None
        """Is done when the run may begin; None before it asks."""
        self.stopped = False
        self.ended = False
        """Whether the graph came to its end."""
        self.ending: list[Step] = []
        """What saves the last checkpoint, with the outcome of the turn."""
        self.held: list[events.Event] = []
        """What is shown once the step is stored; behind the last step, once the outcome is."""
        self.failure: Exception | None = None
        self.recording = Recording()
        self.guess = GuessOutcome()
        self._answered = False
        self._task: asyncio.Task[None] | None = None

    @property
    def config(self) -> RunnableConfig:
        """The graph's configuration for the thread."""
        return config_of(self.context.thread)

    async def stream(self, update: Update | None) -> AsyncGenerator[events.Event, None]:
        """Run the graph on `update` (None: go on where it was left); note its events and yield them.

        A message, and what follows it, is yielded once its step is stored: a model that was asked again after a crash
        would say something else than what was shown. What the last step says is left in `held`. Ends without an
        exception when the run is stopped or fails; see `stopped` and `failure`.
        """
        if self.stopped:
            return
        self._task, self.context.brake.halted = asyncio.create_task(self._drive(update)), self._halt
        # A task that is cancelled before its first step runs no line of its own.
        self._task.add_done_callback(lambda _: self._events.put_nowait(None))
        try:
            while (event := await self._events.get()) is not None:
                if isinstance(event, str):
                    for held_event in self.held:
                        yield held_event
                    self.held.clear()
                    continue
                self._note(event)
                if isinstance(event, events.Replied | events.Guessed):
                    continue
                # The words of a view come from a stored result.
                is_new = isinstance(event, events.Message) and not event.shown
                if self.held or is_new or isinstance(event, events.Interrupt):
                    self.held.append(event)
                else:
                    yield event
            await asyncio.wait([self._task])
            if not self.stopped:
                self._task.result()
        except Exception as failure:
            self.failure = failure
        finally:
            await cancel([self._task])
            # A context that held the run would keep it, and the connections of its models, for the garbage collector.
            self.context.brake.halted = lambda: None

    def stop(self) -> None:
        """Stop the run. What was shown stays; after a complete answer the run has `GRACE` seconds to end by itself.

        What cannot be taken back is done first, and the user is told.
        """
        was_stopped = self.stopped
        self._note_stop()
        if self._task is None:
            return
        if self.context.brake.is_needed:
            self.context.brake.is_pulled = True
            if not was_stopped:
                text = phrase("stop_waits", self.state.get("lang", FALLBACK))
                self._events.put_nowait(Notice(message=text, level="info"))
        elif self._answered:
            asyncio.get_running_loop().call_later(GRACE, self._task.cancel)
        else:
            self._task.cancel()

    def give_way(self) -> None:
        """Stop the run before its next model call, after the tools that run now; an answer is spoken to its end."""
        self.context.brake.is_pulled = True

    def note_message(self, message: events.Message) -> None:
        """Take the next message that is complete."""
        self.messages.append(message)
        self.said_ms.append(now_ms())

    @property
    def made(self) -> str:
        """What a model has made since the last complete message, whether it was shown or is held back."""
        return self.shown or "".join(piece.text for piece in self.context.held)

    def _note_stop(self) -> None:
        self.stopped, self.stopped_ms = True, self.stopped_ms or now_ms()

    def _halt(self) -> None:
        self._note_stop()
        if self._task is not None:
            self._task.cancel()

    async def _drive(self, update: Update | None) -> None:
        name_turn(self.context.thread, self.turn)
        place = {**self.config["configurable"], READ: self._read, ENDING + self.context.thread: self.ending}
        stream = self.graph.astream(
            update,
            {"configurable": place, "recursion_limit": self.context.limits.steps},
            context=self.context,
            stream_mode="values",
            durability="sync",
        )
        async for values in stream:
            self.state = cast(State, {name: value for name, value in values.items() if name != INTERRUPT})
            # LangGraph yields the values of a step when its checkpoint is written, before the next step begins.
            self.context.decided.clear()
            if not self.ending:
                self._events.put_nowait(STORED)
        self.ended = True

    def _note(self, event: events.Event) -> None:
        if isinstance(event, events.Guessed):
            self.guess.guess = event
            return
        self.recording.note(event)
        match event:
            case events.Observed():
                self.guess.note(event)
            case events.Token():
                self.citations += shifted(event.citations, len(self.shown))
                self.shown, self.speaker, self._answered = self.shown + event.text, event.speaker, False
            case events.Images(images=images):
                self.images += images
            case events.Message():
                self.note_message(event)
                self._show_nothing()
                self.speaker, self._answered = None, True
            case events.ModelStart():
                self.model_calls += 1
                self._show_nothing()
                # A model that observes adds nothing to the answer.
                if event.speaker in self.state.get("talks", {}):
                    self._go_on()
            case events.ToolStart() | events.ToolEnd():
                self._note_call(event)
            case events.Error(code=code) if code == events.RETRY:
                self._show_nothing()

    def _note_call(self, event: events.ToolStart | events.ToolEnd) -> None:
        if isinstance(event, events.ToolStart):
            self.begun.add(event.id)
            self._go_on()
        elif event.ok:
            self.done.add(event.id)

    def _show_nothing(self) -> None:
        """Note that nothing has been shown since the last complete message."""
        self.shown, self.citations = "", []

    def _go_on(self) -> None:
        """Note that the turn goes on after an answer. A run that was told to stop is cancelled here."""
        self._answered = False
        if self.stopped and self._task is not None:
            self._task.cancel()


def config_of(thread: str) -> RunnableConfig:
    """Return the graph's configuration for a thread."""
    return {"configurable": {"thread_id": thread}}


LEFT: tuple[Kind, ...] = ("switch", "supervisor")
"""The verdicts by which a message leaves the dialog. One that finishes it is not for another dialog."""
UNDO = "undo"
"""The decision by which the user takes back the switch of the turn before."""


@dataclass
class GuessOutcome:
    """Gather from the events of a turn whether the gate guessed right."""

    guess: events.Guessed | None = None
    _is_watched: bool = False
    _leaves: bool = False
    _takes_back: bool = False

    def note(self, event: events.Observed) -> None:
        """Take a decision on who holds the conversation."""
        self._takes_back |= event.observer == UNDO and event.by == "free" and event.verdict == "switch"
        self._is_watched |= event.by == "observer"
        is_for_another = event.verdict in LEFT or event.target is not None
        self._leaves |= event.by in ("observer", "dialog") and is_for_another

    def logged(self, state: State) -> GateOutcome | None:
        """Return what the log keeps of the turn that ended in a state; None if there is nothing to learn."""
        if self.guess is None and (kept := state.get("guess")):
            # Another process, or another try, has made it: the state tells what came of it.
            leaves = self._leaves or kept["dialog"] in state.get("paused", [])
            return GateOutcome(Logged(kept["value"], kept["watched"], leaves), kept["model"], self._takes_back)
        if self.guess is None:
            return GateOutcome(takes_back=True) if self._takes_back else None
        logged = Logged(self.guess.score, self._is_watched, self._leaves)
        return GateOutcome(logged, self.guess.model, self._takes_back)
