"""The REPL: a line editor with keys, completions and history; answers as streaming Markdown; slash commands."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import is_searching
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import Console
from rich.text import Text

from agents.events import Message
from agents.language.text.clean import clean
from agents.memory.inbox import SILENCE
from agents.toolkit.questions.options import naming
from app.assistant.clocks import Ring
from app.doors import slash_commands
from app.doors.terminal.door import with_files
from app.doors.terminal.live_markdown import LiveMarkdown
from app.doors.terminal.tty import incoming_lines, silent_keys
from app.doors.visit import Visit
from app.presentation.texts import say
from app.process.tasks import cancelled_by, on_signal

TWICE_WITHIN = 2.0
"""Seconds within which a second Ctrl-C at the prompt leaves."""


class Repl:
    """Talks with one user at a terminal until they leave."""

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
        # The line editor sends escape sequences as soon as it is created.
        plain = console.is_dumb_terminal
        self._line = None if plain else input_line(completer, history, self._interrupt, terminal or (None, None))
        self._is_prompting = False
        self._rung: list[Message] = []
        self.noted: Callable[[str], None] = lambda thread: None
        """Called with the thread at each entry of the user."""

    @property
    def lang(self) -> str:
        """The language of this door's own sentences."""
        return self._visit.lang or self._default_lang

    async def run(self) -> int:
        """Greet in a new thread, take messages and commands until the user leaves; return the exit code."""
        state = await self._visit.state()
        # A Ctrl-C between an answer and the prompt is too late for the answer and too early for the prompt.
        with on_signal(signal.SIGINT, lambda: None):
            if greeting := await self._visit.assistant.greeting(self._visit.owner, self.lang):
                self._console.print(Text(f"{clean(greeting)}\n"))
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
        """Show the user a notice: above the prompt, or after the running answer."""
        self._rung.append(await self._visit.assistant.tell(ring.thread, ring.text, ring.id, ring.user))
        if self._is_prompting:
            self._show_rung()

    async def nudge(self, nudge: Ring) -> bool:
        """Ask a silent user whether they are still there; False while the line has text, or an answer runs."""
        if not self._is_prompting or (self._line is not None and self._line.default_buffer.text):
            return False
        nudge_message = await self._visit.assistant.tell(nudge.thread, nudge.text, nudge.id, nudge.user, source=SILENCE)
        self._screen.show(nudge_message)
        return True

    async def _prompt(self) -> str:
        self._show_rung()
        self._is_prompting = True
        try:
            if self._line is None:
                return await self._plain_line()
            with patch_stdout(raw=True):
                return await self._line.prompt_async([("bold ansigreen", "> ")], bottom_toolbar=self._toolbar)
        finally:
            self._is_prompting = False

    async def _plain_line(self) -> str:
        """Read a message on a terminal that can only show text; Ctrl-C drops it."""
        self._console.print("> ", end="")
        text = ""
        with cancelled_by(signal.SIGINT) as signalled:
            async for line in incoming_lines(sys.stdin):
                text += line
                if not text.endswith("\\"):
                    return text
                text = f"{text[:-1]}\n"
                self._console.print("… ", end="")
        if signalled:
            self._console.print()
            if not self._leaves():
                return ""
        raise EOFError

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


def input_line(
    completer: Completer,
    history: History,
    interrupt: Callable[[KeyPressEvent], None],
    terminal: tuple[Input | None, Output | None],
) -> PromptSession[str]:
    """Return the line: Enter sends, Alt-Enter or a trailing backslash begins a new line, Ctrl-C interrupts."""
    keys = KeyBindings()
    # During a search of the history, Enter takes the match and Ctrl-C goes back.
    keys.add("enter", filter=~is_searching)(_send)
    keys.add("escape", "enter", filter=~is_searching)(_new_line)
    keys.add("c-c", filter=~is_searching)(interrupt)
    keys.add("<sigint>", filter=~is_searching)(interrupt)
    return PromptSession(
        history=history,
        completer=completer,
        complete_while_typing=True,
        key_bindings=keys,
        multiline=True,
        prompt_continuation="… ",
        enable_open_in_editor=True,
        tempfile_suffix=".md",
        input=terminal[0],
        output=terminal[1],
    )


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


@dataclass
class Completions(Completer):
    """Completes the input of a visit."""

    visit: Visit
    lang: Callable[[], str]

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield answers: options by number or by label, or the fields of a form, each on its own line."""
        if (question := self.visit.question) is None:
            return
        typed = document.text
        for number, option in enumerate(question.options, 1):
            label = " ".join(clean(option["label"]).split())
            if str(number) == typed or label.casefold().startswith(typed.casefold()):
                shown = {"display": f"{number}. {label}", "display_meta": clean(option.get("detail", ""))}
                yield Completion(naming(number - 1, question.options, self.lang()), -len(typed), **shown)
        *_, line = typed.split("\n")
        for field in question.fields if len(question.fields) > 1 else []:
            if f"{field['label']}: ".casefold().startswith(line.casefold()):
                yield Completion(f"{field['label']}: ", start_position=-len(line))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the answers, then the commands, or the arguments of one, that begin with the typed text."""
        for answer in self.get_completions(document, complete_event):
            yield answer
        typed = document.text
        if not typed.startswith("/") or "\n" in typed:
            return
        name, space, argument = typed[1:].partition(" ")
        if space:
            choices = await slash_commands.choices(name, self.visit)
        else:
            argument, door = typed, self.visit.door.name
            choices = {f"/{entry.name}": entry.description(self.lang()) for entry in slash_commands.offered(door)}
        for text, about in choices.items():
            if text.casefold().startswith(argument.casefold()):
                yield Completion(text, start_position=-len(argument), display_meta=about)
