"""A visit: one user at one thread, as long as a door is open for them."""

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agents.events import CUT, REBUILT, RETRY, Error, Event, Interrupt, ModelEnd, TurnEnd
from agents.models import FREE
from agents.toolkit.questions import CHOICE
from app.assistant import Assistant, Turn
from app.assistant.file_reader import FileReader
from app.assistant.outcome_store import TERMINAL
from app.process.exit_codes import FAILED, INTERRUPTED, TROUBLE, WAITING

STOP_AGAIN = 0.05
"""Seconds until the next order to stop a turn that has not begun."""
PATIENCE = 10.0
"""The most seconds until a turn begins and can be stopped, and until a stopped turn is stored."""


class Screen(Protocol):
    """Shows the events of a turn; a subclass that writes each event at once needs no `close`."""

    def show(self, event: Event) -> None:
        """Show one event, or leave it out."""

    def close(self) -> None:
        """End the turn on the screen, with or without a `TurnEnd`."""
        return


class Door(Protocol):
    """Plays the turns of a visit before the user's eyes."""

    name: str
    """The kind of the door, which decides on its commands: "repl", "messenger" or "page"."""
    is_traced: bool
    """Whether the user sees a trace of every turn."""
    has_pages: bool
    """Whether the door shows long texts in pages, for a small screen."""

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Show a turn to its end and pass its events to `note`; return False if the user stopped it."""

    async def stop(self, thread: str) -> bool:
        """Stop the running answer; False if there is none."""

    async def begin(self, visit: "Visit", name: str) -> str:
        """Return the thread of another conversation of the user: a new one, or the one of this name."""

    def named(self, thread: str) -> str:
        """Return the name of a thread at this door; empty if the user cannot go to it from here."""

    def here(self, thread: str, lang: str) -> str:
        """Return a remark on the current conversation, if the door shows it nowhere else."""

    async def whisper(self, text: str, lang: str) -> str:
        """Send the user a private text; return the answer for this place."""

    async def hand(self, name: str, content: str, lang: str) -> str:
        """Hand the user a document, and return a remark about it."""


@dataclass
class Visit:
    """One user's visit; doors and slash commands read it, and may change it."""

    assistant: Assistant
    door: Door
    thread: str
    user: str | None = None
    lang: str | None = None
    """The language of the visit's turns; None leaves it to the thread."""
    is_shared: bool = False
    is_open: bool = True
    reader: FileReader | None = None
    """Reads the files beside a message; None where there can be none."""
    files: list[Path] = field(default_factory=list)
    speaker: str | None = None
    """The active dialog, as far as this visit has seen."""
    question: Interrupt | None = None
    """The open question of a tool, as far as this visit has seen."""
    input_tokens: int = 0
    output_tokens: int = 0
    _code: int = 0

    @property
    def owner(self) -> str:
        """The user of the visit."""
        return self.user or self.thread

    async def state(self) -> dict[str, Any]:
        """Return the thread's state, empty for a new thread, and note its speaker and its open question."""
        facts = await self.assistant.state(self.thread, self.owner) or {}
        pending = facts.get("pending")
        self.speaker, self.question = facts.get("dialog"), Interrupt(**pending[0]) if pending else None
        return facts

    async def answer(self, text: str) -> int | None:
        """Play the answer to the open question, as far as this visit has seen; None if the text does not answer it."""
        if self.question is None or not await self.assistant.fits(self.thread, self.owner, text):
            return None
        # Another process may have answered meanwhile, and the next question may look the same.
        id = f"{uuid.uuid4().hex}#{self.question.id}"
        return await self.play(self.turn(text, source=CHOICE, id=id))

    def turn(self, text: str | None, **fields: Any) -> Turn:
        """Return a turn of this visit."""
        return Turn(thread=self.thread, text=text, user=self.user, lang=self.lang, device=TERMINAL, **fields)

    async def play(self, turn: Turn) -> int:
        """Show a turn to its end and return the exit code for its outcome.

        Raises UsageError if the turn's id was used for another text.
        """
        self._code = 0
        is_over = await self.door.play(turn, self._note)
        if self.lang is not None:
            # The user may have asked for another language since the beginning.
            self.lang = (await self.state()).get("lang") or self.lang
        return self._code if is_over else INTERRUPTED

    def _note(self, event: Event) -> None:
        match event:
            case ModelEnd(model=model) if not model.startswith(FREE):
                self.input_tokens += event.input_tokens
                self.output_tokens += event.output_tokens
            case Error(code=code) if code not in (RETRY, REBUILT, *CUT):
                self._code = TROUBLE.get(code, FAILED)
            case Interrupt():
                self.question = event
            case TurnEnd(dialog=dialog, waiting=waiting):
                self.speaker = dialog
                self.question = self.question if waiting else None
                self._code = self._code or (WAITING if waiting else 0)


async def stop_when_begun(
    assistant: Assistant,
    thread: str,
    is_over: Callable[[], bool],
    user: str | None = None,
    *,
    after_tools: bool = False,
) -> bool:
    """Stop the running answer of a thread, even if its turn still waits; False if there is none.

    `user` limits this to an answer to that user. `after_tools` as in `Assistant.stop`.
    """
    for _ in range(round(PATIENCE / STOP_AGAIN)):
        if is_over():
            return False
        if await assistant.stop(thread, user, after_tools=after_tools):
            return True
        await asyncio.sleep(STOP_AGAIN)
    return False
