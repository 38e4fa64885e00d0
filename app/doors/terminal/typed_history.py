"""The history of the prompt, kept in a file beside the database."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress

from prompt_toolkit.history import History

from agents.memory.typed_file import TypedFile


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
