"""The REPL: a prompt, answers as streaming Markdown, slash commands."""

import asyncio
import sys
import time
from collections.abc import Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import Console
from rich.text import Text

from agents.events import Message
from app import commands
from app.clock import Ring
from app.render import LiveMarkdown
from app.terminal import clean, silent_keys
from app.visit import Visit
from app.wording import say

TWICE_WITHIN = 2.0


class Repl:
    """Talk with one user at a terminal until they leave."""

    def __init__(
        self,
        visit: Visit,
        lang: str,
        *,
        console: Console,
        terminal: tuple[Input, Output] | None = None,
    ) -> None:
        self._visit = visit
        self._default_lang = lang
        self._console = console
        self._screen = LiveMarkdown(console, lang)
        self._interrupted_at = -TWICE_WITHIN
        self._terminal = terminal or (None, None)
        self._is_prompting = False
        self._rung: list[Message] = []
        visit.screens = [self._screen, *visit.screens]

    @property
    def door(self) -> str:
        """Where the visit takes place."""
        return self._visit.door

    @property
    def lang(self) -> str:
        """The language of this door's own sentences."""
        return self._visit.lang or self._default_lang

    async def run(self) -> int:
        """Greet in a new thread, take messages and commands until the user leaves; return the exit code."""
        state = await self._visit.state()
        self._visit.speaker = state.get("dialog")
        if not state:
            await self._play(None)
        thread, session = self._visit.thread, await self._session()
        while self._visit.is_open:
            try:
                text = await self._prompt(session)
            except EOFError:
                break
            await self._take(text.strip())
            if self._visit.thread != thread:
                thread, session = self._visit.thread, await self._session()
        self._remark(say("bye", self.lang))
        return 0

    async def ring(self, ring: Ring) -> None:
        """Tell the user a reminder: above the prompt, or when the answer that is being shown is over."""
        self._rung.append(await self._visit.assistant.tell(ring.thread, ring.text, ring.id))
        if self._is_prompting:
            self._show_rung()

    async def _prompt(self, session: PromptSession[str]) -> str:
        self._show_rung()
        with patch_stdout(raw=True):
            self._is_prompting = True
            try:
                return await session.prompt_async("> ", bottom_toolbar=self._toolbar)
            finally:
                self._is_prompting = False

    def _show_rung(self) -> None:
        for message in self._rung:
            self._screen.show(message)
            self._console.bell()
        self._rung.clear()

    async def _take(self, text: str) -> None:
        call = commands.parse(text)
        if call is None:
            if text:
                await self._play(text)
            return
        with silent_keys(sys.stdin):
            answer = await commands.run(*call, self._visit, self.lang)
        self._screen.lang = self.lang
        if answer:
            self._console.print(Text(f"{clean(answer)}\n"))

    async def _play(self, text: str | None) -> None:
        with silent_keys(sys.stdin):
            await self._visit.play(self._visit.turn(text))

    async def _session(self) -> PromptSession[str]:
        lines = await self._visit.assistant.history(self._visit.thread)
        typed = [line.text for line in lines if line.role == "user" and line.text]
        return PromptSession(
            history=InMemoryHistory(typed),
            completer=CommandCompleter(self),
            complete_while_typing=True,
            key_bindings=self._keys(),
            multiline=True,
            prompt_continuation="… ",
            input=self._terminal[0],
            output=self._terminal[1],
        )

    def _toolbar(self) -> str:
        if time.monotonic() - self._interrupted_at < TWICE_WITHIN:
            return f" {say('leave_hint', self.lang)} "
        visit = self._visit
        speaker = visit.speaker or say("nobody", self.lang)
        spent = {"input": visit.input_tokens, "output": visit.output_tokens}
        return clean(say("toolbar", self.lang, speaker=speaker, thread=visit.thread, **spent))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        keys.add("enter")(_send)
        keys.add("escape", "enter")(_new_line)
        keys.add("c-c")(self._interrupt)
        keys.add("<sigint>")(self._interrupt)
        return keys

    def _interrupt(self, event: KeyPressEvent) -> None:
        now = time.monotonic()
        if now - self._interrupted_at < TWICE_WITHIN and not event.current_buffer.text:
            event.app.exit(exception=EOFError)
        self._interrupted_at = now
        event.current_buffer.reset()
        # The hint in the toolbar goes away by itself.
        asyncio.get_running_loop().call_later(TWICE_WITHIN, event.app.invalidate)

    def _remark(self, text: str) -> None:
        self._console.print(Text(clean(text), "dim"))


class CommandCompleter(Completer):
    """Complete the name of a slash command."""

    def __init__(self, repl: Repl) -> None:
        self._repl = repl

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the commands that begin with what was typed."""
        typed = document.text
        if typed.startswith("/") and " " not in typed:
            for command in commands.offered(self._repl.door):
                if command.name.startswith(typed[1:]):
                    about = command.description(self._repl.lang)
                    yield Completion(f"/{command.name}", start_position=-len(typed), display_meta=about)


def _send(event: KeyPressEvent) -> None:
    """Send the message; behind a backslash, begin a new line instead."""
    buffer = event.current_buffer
    if buffer.document.text_before_cursor.endswith("\\"):
        buffer.delete_before_cursor()
        _new_line(event)
    else:
        buffer.validate_and_handle()


def _new_line(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")
