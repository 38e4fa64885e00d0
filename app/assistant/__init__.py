"""The one way in for every door: `Assistant.play` takes a user message through the graph, once."""

import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace
from typing import Any, cast

from agents.events import Event, Message
from agents.help.chain import HelpChain
from agents.memory import Memory
from agents.memory.inbox import Letter, Line, ThreadInfo
from agents.memory.typed_file import TypedFile
from agents.models import Models
from agents.questions import ask, fits
from agents.replay.record import Record, read_record
from agents.state import SUPERVISOR, State
from app.assistant.closing import FAILURE
from app.assistant.language import Languages
from app.assistant.player import Playing
from app.assistant.reminder_clock import Deliver, ringing
from app.assistant.run import config_of
from app.assistant.turn_input import UNASKED
from app.graph import Graph
from app.permissions import NOBODY_MAY, Permissions


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A user message on its way in; `text` None asks the assistant to speak first, or to go on."""

    thread: str
    text: str | None
    user: str | None = None
    lang: str | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    source: str = "message"
    device: str = ""
    """What the user speaks to: "terminal", "telegram"."""


class Assistant:
    """The conversation, for doors: play a turn, stop it, look at a thread, forget it."""

    def __init__(
        self,
        graph: Graph,
        memory: Memory,
        models: Models,
        languages: Languages,
        help: HelpChain | None = None,
        *,
        permissions: Permissions = NOBODY_MAY,
    ) -> None:
        self.graph, self.memory = graph, memory
        self._playing = Playing(graph, memory, models, languages, help or HelpChain(), permissions)

    @property
    def typed(self) -> TypedFile:
        """The file of what was typed at the prompt."""
        return TypedFile.beside(self.memory.path)

    async def play(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Take one message through the conversation and yield what happens, one turn at a time per thread.

        The same id again repeats the outcome and does nothing twice. A message of this thread that a crash
        left unanswered is answered first.

        Raises:
            UsageError: the id was used before with another text.
        """
        letter = Letter(turn.thread, turn.id, turn.user or turn.thread, turn.text, turn.source)
        async with self.memory.locks.hold(turn.thread):
            letter = await self.memory.transcript.accept(letter)
            waiting = await self.memory.transcript.open_letters(turn.thread)
            lost = waiting[: waiting.index(letter)] if letter in waiting else []
            seq = 0
            for one in [*lost, letter]:
                told = one.status in ("done", "interrupted")
                playing = self._playing.repeat(one) if told else self._playing.answer(one, turn.lang, turn.device)
                async with aclosing(playing) as events:
                    async for event in events:
                        seq += 1
                        yield replace(event, seq=seq)

    async def unanswered(self, thread: str, device: str) -> list[Turn]:
        """Return the messages of a thread that a crash left unanswered, oldest first, for a door to play them again."""
        return [
            Turn(thread=thread, text=one.text, user=one.user, id=one.message_id, source=one.source, device=device)
            for one in await self.memory.transcript.open_letters(thread)
        ]

    async def tell(self, thread: str, text: str, id: str) -> Message:
        """Say something unasked and return it, also when this id was told before; it is written down once.

        The caller holds the thread (`memory.locks.hold`). Whoever speaks next in the thread knows of it.
        """
        now = time.time_ns() // 1_000_000
        line = Line("assistant", SUPERVISOR, text, 0, id, now, {"source": UNASKED})
        told = await self.memory.transcript.tell(thread, line)
        return Message(speaker=told.speaker, text=told.text, thread=thread, turn=told.turn)

    def reminding(self, deliver: Deliver, *, user: str | None = None) -> AbstractAsyncContextManager[object]:
        """Let the reminders of one user, or of all, ring during a block."""
        return ringing(self.memory, deliver, user=user)

    async def stop(self, thread: str) -> bool:
        """Stop the answer that is being made in a thread; its `play` then ends with what was shown."""
        return self._playing.stop(thread)

    async def state(self, thread: str) -> dict[str, Any] | None:
        """Return what is known of a thread, as plain data; None for an unknown one."""
        snapshot = await self.graph.aget_state(config_of(thread))
        values = cast(State, snapshot.values)
        if not values:
            return None
        talks = values.get("talks", {})
        return {
            "thread": thread,
            "is_active": values.get("is_active", True),
            "dialog": values.get("dialog"),
            "paused": values.get("paused", []),
            "turn": values.get("turn", 0),
            "pending": [ask(one, values["lang"]).body() for one in values.get("pending", [])],
            "lang": values.get("lang"),
            "wishes": values.get("wishes", []),
            "forms": {name: talk["form"] for name, talk in talks.items() if talk.get("form")},
            "talks": {name: {**talk, "messages": len(talk.get("messages", []))} for name, talk in talks.items()},
        }

    async def fits(self, thread: str, text: str) -> bool:
        """Tell whether a tool waits for the user and the text, given as a `CHOICE`, is an answer."""
        values = cast(State, (await self.graph.aget_state(config_of(thread))).values)
        pending = values.get("pending")
        return fits(pending[0], text, values["lang"]) if pending else False

    async def history(self, thread: str) -> list[Line]:
        """Return a thread's transcript, oldest line first."""
        return await self.memory.transcript.lines(thread)

    async def records(self, thread: str) -> list[Record]:
        """Return the turns of a thread as they can be played again, oldest first."""
        said: dict[str, list[tuple[str, str]]] = {}
        for line in await self.memory.transcript.lines(thread):
            if line.role == "assistant" and line.metadata.get("source") != FAILURE:
                said.setdefault(line.message_id, []).append((line.speaker, line.text))
        kept = await self.memory.transcript.records(thread)
        return [read_record(text, record or "", said.get(message_id, [])) for message_id, text, record in kept]

    async def threads(self) -> list[ThreadInfo]:
        """List the threads, the latest first."""
        return await self.memory.transcript.threads()

    async def forget(self, thread: str) -> bool:
        """Remove every trace of a thread; False if there was none."""
        try:
            return await self.memory.forget(thread)
        finally:
            self.typed.forget(thread)

    def drawing(self) -> str:
        """Return the graph as a mermaid drawing."""
        return self.graph.get_graph().draw_mermaid()
