"""The input line of the REPL: its keys, its completion, its editor."""

from collections.abc import AsyncGenerator, Callable, Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import is_searching
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output

from app.doors import slash_commands
from app.doors.visit import Visit


class CommandCompleter(Completer):
    """Complete slash commands, and what may stand behind them."""

    def __init__(self, visit: Visit, lang: Callable[[], str]) -> None:
        self._visit = visit
        self._lang = lang

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return nothing: what may stand behind a command is looked up asynchronously."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield the commands, or the arguments of one, that begin with what was typed."""
        typed = document.text
        if not typed.startswith("/") or "\n" in typed:
            return
        name, space, argument = typed[1:].partition(" ")
        if space:
            choices = await slash_commands.choices(name, self._visit)
        else:
            argument, door = typed, self._visit.door.name
            choices = {f"/{entry.name}": entry.description(self._lang()) for entry in slash_commands.offered(door)}
        for text, about in choices.items():
            if text.casefold().startswith(argument.casefold()):
                yield Completion(text, start_position=-len(argument), display_meta=about)


def input_line(
    completer: Completer,
    history: History,
    interrupt: Callable[[KeyPressEvent], None],
    terminal: tuple[Input | None, Output | None],
) -> PromptSession[str]:
    """Return the line: Enter sends, Alt-Enter or a trailing backslash begins a new line, Ctrl-C interrupts."""
    keys = KeyBindings()
    # While one searches the history, Enter takes the match and Ctrl-C goes back.
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
