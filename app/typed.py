"""What was typed at the prompt: one file beside the database, each entry with the thread it was typed in."""

import fcntl
import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from prompt_toolkit.history import History

MOST = 1000
"""Entries kept; the oldest go."""
LONGEST = 10_000
"""Characters of an entry that is worth keeping."""


def typed_beside(database: Path) -> Path:
    """Return the file that goes with a database."""
    return database.with_name(f"{database.name}.typed")


def forget_typed(path: Path, thread: str) -> None:
    """Take away what was typed in a thread."""
    if path.exists():
        with _alone(path) as file:
            _write(file, [(name, text) for name, text in _entries(file) if name != thread])


class Typed(History):
    """The history of the prompt: what was typed in any thread and any visit, the latest first."""

    def __init__(self, path: Path, thread: Callable[[], str]) -> None:
        super().__init__()
        self._path = path
        self._thread = thread

    async def load(self) -> AsyncGenerator[str, None]:
        """Yield the entries, the latest first: anew each time, since another visit may add or forget some."""
        self._loaded_strings = list(self.load_history_strings())
        for text in self._loaded_strings:
            yield text

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, the latest first."""
        # A prompt whose history cannot be read or kept is a prompt all the same.
        with suppress(OSError), _alone(self._path) as file:
            return [text for _, text in reversed(_entries(file))]
        return []

    def store_string(self, string: str) -> None:
        """Keep an entry that is not too long."""
        if len(string) > LONGEST:
            return
        with suppress(OSError), _alone(self._path) as file:
            _write(file, [*_entries(file), (self._thread(), string)][-MOST:])


@contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """Open the file for this process alone; only its owner may read it."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _entries(file: BinaryIO) -> list[tuple[str, str]]:
    """Return thread and text of each line; what somebody else wrote into the file is left out."""
    found = []
    for line in file.read().splitlines():
        with suppress(ValueError):
            match json.loads(line):
                case [str(thread), str(text)]:
                    found.append((thread, text))
    return found


def _write(file: BinaryIO, entries: Iterable[tuple[str, str]]) -> None:
    # ASCII, so that halves of characters which the keyboard sent do no harm.
    lines = (f"{json.dumps(entry)}\n".encode("ascii") for entry in entries)
    file.seek(0)
    file.truncate()
    file.write(b"".join(lines))
