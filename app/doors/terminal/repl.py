"""The REPL: a prompt, answers as streaming Markdown, slash commands."""

import asyncio
import signal
import sys
import time
from collections.abc import Callable

from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import Console
from rich.text import Text

from agents.events import Message
from agents.language.text.clean import clean
from agents.memory.inbox import SILENCE
from app.assistant.clocks import Ring
from app.doors import slash_commands
from app.doors.terminal.door import with_files
from app.doors.terminal.prompt_line import Completions, input_line
from app.doors.terminal.screens import LiveMarkdown
from app.doors.terminal.tty import plain_line, silent_keys
from app.doors.visit import Visit
from app.tasks import on_signal
from app.texts import say

TWICE_WITHIN = 2.0
"""Seconds within which a second Ctrl-C at the prompt leaves."""


class Repl:
    """Talk with one user at a terminal until they leave."""

    def __init__(
        self,
        visit: Visit,
        screen: LiveMarkdown,
        *,
        console: Console,
        history: History,
        terminal: tuple[Input, Output] | None = None,
    ) -> None:
        self._visit = visit
        self._screen, self._default_lang = screen, screen.lang
        self._console = console
        self._interrupted_at = -TWICE_WITHIN
        completer = Completions(visit, lambda: self.lang)
        # The line editor sends escape sequences as soon as it is made.
        plain = console.is_dumb_terminal
        self._line = None if plain else input_line(completer, history, self._interrupt, terminal or (None, None))
        self._is_prompting = False
        self._rung: list[Message] = []
        self.noted: Callable[[str], None] = lambda thread: None
        """Is called with the thread whenever the user enters something."""

    @property
    def lang(self) -> str:
        """The language of this door's own sentences."""
        return self._visit.lang or self._default_lang

    async def run(self) -> int:
        """Greet in a new thread, take messages and commands until the user leaves; return the exit code."""
        state = await self._visit.state()
        # A Ctrl-C between an answer and the prompt comes too late for the one and too early for the other.
        with on_signal(signal.SIGINT, lambda: None):
            await self._greet()
            if not state:
                await self._play(None)
            elif self._visit.question:
                self._screen.show(self._visit.question)
            while self._visit.is_open:
                try:
                    text = await self._prompt()
                except EOFError:
                    break
                self.noted(self._visit.thread)
                if text.strip():
                    self._interrupted_at = -TWICE_WITHIN
                    await self._take(text.strip())
        self._remark(say("bye", self.lang))
        return 0

    async def ring(self, ring: Ring) -> None:
        """Tell the user a notice: above the prompt, or when the answer that is being shown is over."""
        self._rung.append(await self._visit.assistant.tell(ring.thread, ring.text, ring.id, ring.user))
        if self._is_prompting:
            self._show_rung()

    async def nudge(self, nudge: Ring) -> bool:
        """Ask a silent user whether they are still there; False while something is typed, or an answer is shown."""
        if not self._is_prompting or (self._line is not None and self._line.default_buffer.text):
            return False
        nudge_message = await self._visit.assistant.tell(nudge.thread, nudge.text, nudge.id, nudge.user, source=SILENCE)
        self._screen.show(nudge_message)
        return True

    async def _greet(self) -> None:
        """Begin with what the dialogs tell a user who comes back, such as what is on today."""
        if greeting := await self._visit.assistant.greeting(self._visit.owner, self.lang):
            self._console.print(Text(f"{clean(greeting)}\n"))

    async def _prompt(self) -> str:
        self._show_rung()
        self._is_prompting = True
        try:
            if self._line is None:
                return await self._plain()
            with patch_stdout(raw=True):
                return await self._line.prompt_async([("bold ansigreen", "> ")], bottom_toolbar=self._toolbar)
        finally:
            self._is_prompting = False

    async def _plain(self) -> str:
        try:
            return await plain_line(self._console, sys.stdin)
        except KeyboardInterrupt:
            self._console.print()
            if self._leaves():
                raise EOFError from None
            return ""

    def _show_rung(self) -> None:
        for message in self._rung:
            self._screen.show(message)
            self._console.bell()
        self._rung.clear()

    async def _take(self, text: str) -> None:
        call = slash_commands.parse(text)
        if call is None:
            await self._play(text)
            return
        with silent_keys(sys.stdin):
            answer = await slash_commands.run(*call, self._visit, self.lang)
        self._screen.lang = self.lang
        if answer:
            self._console.print(Text(f"{clean(answer)}\n"))

    async def _play(self, text: str | None) -> None:
        visit, turn = self._visit, self._visit.turn(text)
        with silent_keys(sys.stdin):
            if visit.files and visit.reader and text is not None:
                reading = await with_files(visit.reader, turn, visit.files, self.lang)
                visit.files.clear()
                for remark in reading.remarks:
                    self._remark(remark)
                if reading.turn is None:
                    return
                turn = reading.turn
            await visit.play(turn)

    def _toolbar(self) -> str:
        if time.monotonic() - self._interrupted_at < TWICE_WITHIN:
            return f" {say('leave_hint', self.lang)} "
        visit = self._visit
        speaker = visit.speaker or say("nobody", self.lang)
        if visit.question:
            return clean(say("toolbar_choice", self.lang, speaker=speaker, thread=visit.thread))
        if not visit.input_tokens:
            return clean(say("toolbar_free", self.lang, speaker=speaker, thread=visit.thread))
        spent = {"input": visit.input_tokens, "output": visit.output_tokens}
        return clean(say("toolbar", self.lang, speaker=speaker, thread=visit.thread, **spent))

    def _interrupt(self, event: KeyPressEvent) -> None:
        """Clear the line; the second time leave, if nothing was typed in between."""
        was_empty = not event.current_buffer.text
        event.current_buffer.reset()
        if self._leaves() and was_empty:
            event.app.exit(exception=EOFError)
        # The hint in the toolbar goes away by itself.
        asyncio.get_running_loop().call_later(TWICE_WITHIN, event.app.invalidate)

    def _leaves(self) -> bool:
        """Note an interrupt at the prompt; return whether it follows close upon another."""
        before, self._interrupted_at = self._interrupted_at, time.monotonic()
        return self._interrupted_at - before < TWICE_WITHIN

    def _remark(self, text: str) -> None:
        self._console.print(Text(clean(text), "dim"))
