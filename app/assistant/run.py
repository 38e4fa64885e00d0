"""One run of the graph: its events as they happen, the outcome of the gate's guess, and a way to stop it."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from agents import events
from agents.conversation.changes import Update
from agents.events.views import Notice
from agents.foreign import contained
from agents.graph import Graph
from agents.memory.checkpointer import ENDING, READ, Step
from agents.memory.gate_log import GateOutcome, Logged
from agents.memory.inbox import now_ms
from agents.state import State
from agents.state.citations import Citation, shifted
from agents.state.verdict import Kind
from agents.toolkit.context import Context
from app.assistant.records import Recording
from app.process.logs import name_turn
from app.process.tasks import cancel
from prompts import FALLBACK, phrase

GRACE = 1.0
"""Seconds for a run to end by itself when it is stopped after its complete answer."""
INTERRUPT = "__interrupt__"
"""LangGraph's key for a waiting interrupt, among the values of the state."""

STORED: Literal["stored"] = "stored"
"""The mark among the events for a stored step of the graph."""


class EventSequencer:
    """Writes thread, turn and sequence number on the events of a `play`."""

    def __init__(self, thread: str) -> None:
        self._thread, self._seq = thread, 0

    def __call__(self, event: events.Event, turn: int) -> events.Event:
        """Return the event of a turn with its place."""
        self._seq += 1
        return event.model_copy(update={"seq": self._seq, "thread": self._thread, "turn": turn})


class Run:
    """Drives the graph in a task of its own, so that it can be stopped while its events are being read.

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
        """The times at which the messages were complete."""
        self.stopped_ms = 0
        """The time of the first order to stop; 0 if there was none."""
        self.images: list[events.ShownImage] = []
        self.shown = ""
        """The text shown since the last complete message."""
        self.citations: list[Citation] = []
        """The numbers of sources in that text."""
        self.speaker: str | None = None
        """The speaker of that text."""
        self.model_calls = 0
        self.is_told = False
        """Whether the user got a notice of the work done before a stop or a failure."""
        self.begun: set[str] = set()
        """The ids of the tool calls that have begun, including the finished ones."""
        self.done: set[str] = set()
        self.place: asyncio.Future[None] | None = None
        """Done when the run may begin; None before the run asks for its place."""
        self.stopped = False
        self.ended = False
        """Whether the graph came to its end."""
        self.closed = False
        """Whether the outcome of the turn is stored."""
        self.ending: list[Step] = []
        """The database steps that save the last checkpoint, with the outcome of the turn."""
        self.held: list[events.Event] = []
        """The events to show once their step is stored; those of the last step, once the outcome is stored."""
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
        """Run the graph on `update` (None: go on from the last checkpoint); note its events and yield them.

        A message, and the events behind it, are yielded once its step is stored: a model asked again after a crash
        would say something else than the shown text. The events of the last step stay in `held`. Ends without an
        exception when the run is stopped or fails; see `stopped` and `failure`.
        """
        if self.stopped:
            return
        self._task, self.context.stop_request.halted = asyncio.create_task(self._drive(update)), self._halt
        # A task that is cancelled before its first step runs none of its own lines.
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
                with contained():
                    self._task.result()
        except Exception as failure:
            self.failure = failure
        finally:
            await cancel([self._task])
            # A context that held the run would keep it, and the connections of its models, for the garbage collector.
            self.context.stop_request.halted = lambda: None

    def stop(self) -> None:
        """Stop the run. Shown text stays; after a complete answer the run has `GRACE` seconds to end by itself.

        A step that cannot be taken back comes to its end first, and the user gets a notice.
        """
        was_stopped = self.stopped
        self._note_stop()
        if self._task is None:
            return
        if self.context.stop_request.is_needed:
            self.context.stop_request.is_made = True
            if not was_stopped:
                text = phrase("stop_waits", self.state.get("lang", FALLBACK))
                self._events.put_nowait(Notice(message=text, level="info"))
        elif self._answered:
            asyncio.get_running_loop().call_later(GRACE, self._task.cancel)
        else:
            self._task.cancel()

    def stop_after_tools(self) -> None:
        """Stop the run before its next model call, after the tools that run now; an answer is spoken to its end."""
        self.context.stop_request.is_made = True

    def note_message(self, message: events.Message) -> None:
        """Take the next complete message."""
        self.messages.append(message)
        self.said_ms.append(now_ms())

    @property
    def made(self) -> str:
        """A model's text since the last complete message, whether shown or held back."""
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
        """Clear the text that was shown since the last complete message."""
        self.shown, self.citations = "", []

    def _go_on(self) -> None:
        """Note that the turn goes on after an answer. A run with an order to stop is cancelled here."""
        self._answered = False
        if self.stopped and self._task is not None:
            self._task.cancel()


def config_of(thread: str) -> RunnableConfig:
    """Return the graph's configuration for a thread."""
    return {"configurable": {"thread_id": thread}}


LEFT: tuple[Kind, ...] = ("switch", "supervisor")
"""The verdicts by which a message leaves the dialog. A verdict that finishes the dialog is not among them."""
UNDO = "undo"
"""The decision by which the user takes back the switch of the turn before."""


@dataclass
class GuessOutcome:
    """Tells from the events of a turn whether the gate guessed right."""

    guess: events.Guessed | None = None
    _is_watched: bool = False
    _leaves: bool = False
    _takes_back: bool = False

    def note(self, event: events.Observed) -> None:
        """Take a decision on the active agent."""
        self._takes_back |= event.observer == UNDO and event.by == "free" and event.verdict == "switch"
        self._is_watched |= event.by == "observer"
        is_for_another = event.verdict in LEFT or event.target is not None
        self._leaves |= event.by in ("observer", "dialog") and is_for_another

    def logged(self, state: State) -> GateOutcome | None:
        """Return the log's entry on a turn that ended in this state; None if there is nothing to learn."""
        if self.guess is None and (kept := state.get("guess")):
            # Another process, or another try, has made the guess: the state tells its outcome.
            leaves = self._leaves or kept["dialog"] in state.get("paused", [])
            return GateOutcome(Logged(kept["value"], kept["watched"], leaves), kept["model"], self._takes_back)
        if self.guess is None:
            return GateOutcome(takes_back=True) if self._takes_back else None
        logged = Logged(self.guess.score, self._is_watched, self._leaves)
        return GateOutcome(logged, self.guess.model, self._takes_back)
