"""A visit: one user at one thread, as long as a door is open for them. Turns are played and stopped here."""

import asyncio
import signal
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.events import RETRY, Error, Event, Interrupt, TurnEnd
from agents.events.models import ModelEnd
from agents.questions import CHOICE, mark
from app.assistant import Assistant, Turn
from app.signals import on_signal

TERMINAL = "terminal"
"""The device of a visit on the command line."""
INTERRUPTED = 130
FAILED = 1
WAITING = 10
"""The exit code of a turn that ends with a question to the user."""
TROUBLE = {"busy": 75, "key_refused": 76, "unavailable": 77}
"""The exit code for the code of an `error` event; any other is a failure."""
STOP_AGAIN = 0.05
PATIENCE = 10.0
"""Seconds that a stopped answer may take to be stored."""


class Screen(Protocol):
    """Whatever shows the events of a turn."""

    def show(self, event: Event) -> None:
        """Show one event, or leave it out."""

    def close(self) -> None:
        """Take note that the turn is over, with or without a `TurnEnd`."""


@dataclass
class Visit:
    """What the doors and the slash commands know of a user's visit, and may change."""

    assistant: Assistant
    thread: str
    user: str | None = None
    lang: str | None = None
    """The language to ask for; None leaves it to the thread."""
    screens: Sequence[Screen] = ()
    dialogs: Mapping[str, str] = field(default_factory=dict)
    """The dialogs one can go to, with their descriptions."""
    tracer: Screen | None = None
    traced: bool = False
    """Whether the tracer is shown the turns, too."""
    door: str = "repl"
    """Where the visit takes place: decides which commands are offered."""
    is_open: bool = True
    speaker: str | None = None
    """The dialog in charge, as far as this visit has seen."""
    question: Interrupt | None = None
    """What a tool asked and nobody has answered, as far as this visit has seen."""
    input_tokens: int = 0
    output_tokens: int = 0
    _code: int = 0

    async def state(self) -> dict[str, Any]:
        """Return the thread's state; empty for a new thread. Takes note of who speaks and what is asked."""
        found = await self.assistant.state(self.thread) or {}
        pending = found.get("pending")
        self.speaker, self.question = found.get("dialog"), Interrupt(**pending[0]) if pending else None
        return found

    async def answer(self, text: str) -> int | None:
        """Play the answer to what a tool has asked, as far as this visit has seen; None if it is no answer."""
        if self.question is None or not await self.assistant.fits(self.thread, text):
            return None
        # Somebody else may have answered meanwhile, and what is asked now looks the same.
        id = f"{uuid.uuid4().hex}#{mark(self.question.id)}"
        return await self.play(self.turn(text, source=CHOICE, id=id))

    def turn(self, text: str | None, **more: str) -> Turn:
        """Return a turn of this visit."""
        return Turn(thread=self.thread, text=text, user=self.user, lang=self.lang, device=TERMINAL, **more)

    async def play(self, turn: Turn) -> int:
        """Show a turn to its end and return the exit code that tells how it went.

        SIGINT stops the answer, a second one gives the turn up. When the caller is cancelled the answer is
        stopped first, so that what was shown is also what is stored.

        Raises:
            UsageError: the turn's id was used for another text.
        """
        self._code = 0
        playing = asyncio.create_task(self._show(turn))
        interrupt = _Interrupt(self.assistant, turn.thread, playing)
        try:
            with on_signal(signal.SIGINT, interrupt):
                await asyncio.shield(playing)
        except asyncio.CancelledError:
            if not playing.cancelled():
                await interrupt.stop()
                raise
        finally:
            for screen in self._shown_on():
                screen.close()
        return INTERRUPTED if interrupt.count else self._code

    async def stop(self) -> bool:
        """Stop the answer that is being made; False if there is none."""
        return await self.assistant.stop(self.thread)

    async def _show(self, turn: Turn) -> None:
        screens = self._shown_on()
        async for event in self.assistant.play(turn):
            self._note(event)
            for screen in screens:
                screen.show(event)

    def _shown_on(self) -> Sequence[Screen]:
        return [*self.screens, self.tracer] if self.tracer and self.traced else self.screens

    def _note(self, event: Event) -> None:
        match event:
            case ModelEnd(input_tokens=spent, output_tokens=made):
                self.input_tokens += spent
                self.output_tokens += made
            case Error(code=code) if code != RETRY:
                self._code = TROUBLE.get(code, FAILED)
            case Interrupt():
                self.question = event
            case TurnEnd(dialog=dialog, waiting=waiting):
                self.speaker = dialog
                self.question = self.question if waiting else None
                self._code = self._code or (WAITING if waiting else 0)


class _Interrupt:
    """What Ctrl-C does while a turn is played."""

    def __init__(self, assistant: Assistant, thread: str, playing: asyncio.Task[None]) -> None:
        self.count = 0
        self._assistant = assistant
        self._thread = thread
        self._playing = playing
        self._stopping: asyncio.Task[None] | None = None

    def __call__(self) -> None:
        self.count += 1
        if self.count == 1:
            self._stopping = asyncio.create_task(self.stop())
        else:
            self._playing.cancel()

    async def stop(self) -> None:
        """Stop the answer and wait until the turn is over; give the turn up if that takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                # While the turn still waits for another one of its thread there is nothing to stop yet.
                while not self._playing.done() and not await self._assistant.stop(self._thread):
                    await asyncio.wait([self._playing], timeout=STOP_AGAIN)
                await asyncio.wait([self._playing])
        self._playing.cancel()
