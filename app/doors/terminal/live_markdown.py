"""Events as Markdown in a terminal, while they come."""

import asyncio
import time
from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from agents import events
from agents.events.views import View
from agents.language.text.clean import clean
from agents.state import SUPERVISOR
from agents.state.citations import Citation
from app.doors.terminal.tty import Canvas
from app.doors.terminal.views import Cited, asked, drawn, source_list
from app.presentation.texts import gallery, say

FRAME = 1 / 15
SLOWEST_FRAME = 1.0
TICK = 1.0
"""Seconds between two signs of life while there is no text."""
SPINNER = "⠋⠙⠸⠴⠦⠇"


class LiveMarkdown:
    """Shows an answer as Markdown while it streams: a preview is redrawn in place until its `Message` comes."""

    def __init__(self, console: Console, lang: str) -> None:
        self.lang, self._console, self._canvas = lang, console, Canvas(console)
        self._preview, self._speaker, self._frame = "", SUPERVISOR, FRAME
        self._redraw: asyncio.TimerHandle | None = None
        self._broken = ""
        """The shown part of a reply that broke off, until the next try brings text."""
        self._begun = time.monotonic()

    def show(self, event: events.Event) -> None:
        """Show a piece of the answer, the answer, a view, an error, or the present step."""
        match event:
            case events.TurnStart() | events.ToolStart() | events.Sources() | events.ModelThinking():
                self._go_on(event)
            case events.Token(speaker=speaker, text=text):
                self._take(speaker, text)
            case events.Message(shown=False):
                self._say(event)
            case events.PrivateMessage(text=text):
                self._say(events.Message(speaker=SUPERVISOR, text=text))
            case events.Interrupt():
                self._settle(*asked(event, self.lang))
            case View() | events.Images():
                view = event if isinstance(event, View) else gallery(event.images, say("images", self.lang))
                self._settle(*drawn(view))
            case events.Error(code=code) if code == events.RETRY:
                self._broken, self._preview = self._preview or self._broken, ""
                self._waits("↻ …")
            case events.TurnEnd(held_by=person) if person:
                self._settle(Text(clean(say("held", self.lang, name=person)), "dim"))
            case events.Error(text=text):
                self._keep_broken()
                self._settle(Text(f"! {clean(text)}", "yellow"))

    def close(self) -> None:
        """Leave the shown text on the screen; a preview without its message was stopped."""
        self._keep_broken()
        self._cancel_redraw()
        self._canvas.draw([])

    def _keep_broken(self) -> None:
        """Leave the shown part of an answer that stays incomplete on the screen."""
        self._preview = self._preview or self._broken
        if self._preview:
            self._say(events.Message(speaker=self._speaker, text=self._preview, interrupted=True))

    def _take(self, speaker: str, text: str) -> None:
        if speaker != self._speaker:
            self._preview = ""
        if not self._preview:
            # A waiting request is itself a sign of work.
            self._cancel_redraw()
        self._speaker, self._broken = speaker, ""
        self._preview += text
        if self._redraw is None and self._console.is_terminal:
            self._redraw = asyncio.get_running_loop().call_later(self._frame, self._draw_preview)

    def _draw_preview(self) -> None:
        self._redraw = None
        started = time.perf_counter()
        self._preview_on(*_answer(self._speaker, self._preview))
        spent = time.perf_counter() - started
        # The layout of a long answer takes long. Nine tenths of the time stay free for the conversation.
        self._frame = min(max(FRAME, spent * 10), SLOWEST_FRAME)

    def _say(self, message: events.Message) -> None:
        parts = _answer(message.speaker, message.text, message.citations) if message.text else []
        stopped = [Text(f"⏹ {say('stopped', self.lang)}", "dim")] if message.interrupted else []
        if parts or stopped:
            self._settle(*parts, *stopped)
        self._preview = self._broken = ""

    def _go_on(self, event: events.TurnStart | events.ToolStart | events.Sources | events.ModelThinking) -> None:
        """Show the beginning of a turn, or its present step, until there is a piece of the answer."""
        doing = "…"
        match event:
            case events.TurnStart():
                self._begun = time.monotonic()
            case events.ToolStart(speaker=speaker, tool=tool):
                doing = f"… {speaker}: {tool}"
            case events.Sources(sources=sources):
                doing = f"… {say('sources_read', self.lang, count=len(sources))}"
            case events.ModelThinking():
                doing = f"… {say('thinking', self.lang)}"
        if not self._preview:
            self._waits(doing)

    def _waits(self, text: str) -> None:
        """Show the present step; after a second also its duration, and the way to stop it."""
        self._cancel_redraw()
        seconds = int(time.monotonic() - self._begun)
        sign = SPINNER[seconds % len(SPINNER)] if seconds else ""
        waited = f"{sign} {clean(text)} {say('waiting', self.lang, seconds=seconds)}" if seconds else clean(text)
        shown = _answer(self._speaker, self._broken) if self._broken else []
        self._preview_on(*shown, Text(waited, "dim"))
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._redraw = asyncio.get_running_loop().call_later(TICK, self._waits, text)

    def _preview_on(self, *parts: RenderableType) -> None:
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._canvas.draw(self._canvas.lines(*parts))

    def _settle(self, *parts: RenderableType) -> None:
        self._cancel_redraw()
        self._canvas.draw([*self._canvas.lines(*parts), ""], last=True)

    def _cancel_redraw(self) -> None:
        if self._redraw is not None:
            self._redraw.cancel()
            self._redraw = None


def _answer(speaker: str, text: str, citations: Sequence[Citation] = ()) -> list[RenderableType]:
    """Return the name of the dialog (the supervisor needs none), its text, and the cited sources."""
    named = [Text(clean(speaker), "bold cyan")] if speaker != SUPERVISOR else []
    return [*named, Cited(text, citations), *source_list(citations)]
