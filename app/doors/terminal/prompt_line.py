"""The input line of the REPL: its keys, its editor, what it completes, and its history in a file."""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import is_searching
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output

from agents.language.text.clean import clean
from agents.memory.typed_file import TypedFile
from agents.toolkit.questions.options import naming
from app.doors import slash_commands
from app.doors.visit import Visit


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


@dataclass
class Completions(Completer):
    """Completes what is typed in a visit."""

    visit: Visit
    lang: Callable[[], str]

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield answers: options by number or by label, or the fields of a form that are on a line of their own."""
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
        """Yield the answers, then the commands, or the arguments of one, that begin with what was typed."""
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


class Typed(History):
    """The history of the prompt: what was typed in any thread and any visit, the latest first."""

    def __init__(self, file: TypedFile, thread: Callable[[], str]) -> None:
        super().__init__()
        self._file = file
        self._thread = thread

    async def load(self) -> AsyncGenerator[str, None]:
        """Yield the entries, the latest first: anew each time, since another visit may add or forget some."""
        self._loaded_strings = list(self.load_history_strings())
        for text in self._loaded_strings:
            yield text

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, the latest first; none if the file cannot be read."""
        # A prompt whose history cannot be read or kept is a prompt all the same.
        with suppress(OSError):
            return reversed(self._file.texts())
        return []

    def store_string(self, string: str) -> None:
        """Keep an entry that is not too long."""
        with suppress(OSError):
            self._file.add(self._thread(), string)
