"""The input line of the REPL: its keys, its completion, its editor."""

from collections.abc import Callable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import is_searching
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output


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
