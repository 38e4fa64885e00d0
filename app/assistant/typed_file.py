"""The file beside the database with the lines that were typed at the prompt, each entry with its thread."""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

MOST_ENTRIES = 1000
"""The number of kept entries; the oldest go."""
LONGEST_ENTRY = 10_000
"""The most characters of a kept entry."""


class TypedFile:
    """The entries of one file that processes share: each locks it for itself. Raises OSError like a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def beside(cls, database: Path) -> "TypedFile":
        """Return the file that goes with a database."""
        return cls(database.with_name(f"{database.name}.typed"))

    def texts(self) -> list[str]:
        """Return the typed texts of all threads, the oldest first."""
        with _alone(self.path) as file:
            return [text for _, text in _entries(file)]

    def add(self, thread: str, text: str) -> None:
        """Keep a text that was typed in a thread, unless it is too long."""
        if len(text) <= LONGEST_ENTRY:
            with _alone(self.path) as file:
                _write(file, [*_entries(file), (thread, text)][-MOST_ENTRIES:])

    def forget(self, thread: str) -> None:
        """Delete the typed texts of a thread."""
        if self.path.exists():
            with _alone(self.path) as file:
                _write(file, [(name, text) for name, text in _entries(file) if name != thread])


@contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """Open the file for this process alone; only its owner may read it."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _entries(file: BinaryIO) -> list[tuple[str, str]]:
    entries = []
    for line in file.read().splitlines():
        with suppress(ValueError):
            match json.loads(line):
                case [str(thread), str(text)]:
                    entries.append((thread, text))
    return entries


def _write(file: BinaryIO, entries: Iterable[tuple[str, str]]) -> None:
    # ASCII also keeps the halves of characters that a keyboard sent.
    lines = (f"{json.dumps(entry)}\n".encode("ascii") for entry in entries)
    file.seek(0)
    file.truncate()
    file.write(b"".join(lines))
