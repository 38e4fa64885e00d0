"""A copy of the prompts that a test may change. It is repaired for the next test: a new copy takes 60 ms."""

import os
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import prompts

FileState = tuple[int, int] | None
"""The size and the time of the last change of a file; None for a folder."""
SHIPPED = prompts.FOLDER
_spare: list[Path] = []
"""Unused copies, each equal to the prompts."""


@contextmanager
def copied_prompts(folder: Path) -> Iterator[Path]:
    """Make a new folder with a copy of the prompts, for the length of the block."""
    if _spare:
        _spare.pop().rename(folder)
    else:
        shutil.copytree(SHIPPED, folder, ignore=shutil.ignore_patterns("__pycache__"))
    edition = prompts.edition()
    try:
        yield folder
    finally:
        if prompts.edition() is not edition:
            # What was made of the texts since then is made of changed ones.
            prompts.read_anew()
        _put_right(folder)
        spare = folder.with_name("prompts-put-right")
        folder.rename(spare)
        _spare.append(spare)


def state_of(folder: Path) -> Set[object]:
    """Return the state of all files of a folder of prompts: equal states have the same texts."""
    return (_shipped() if folder == SHIPPED else _contents(folder)).items()


@cache
def _shipped() -> dict[str, FileState]:
    return _contents(SHIPPED)


def _put_right(folder: Path) -> None:
    is_now, should_be = _contents(folder), _shipped()
    for name in sorted(is_now.keys() - should_be.keys(), reverse=True):
        (folder / name).rmdir() if is_now[name] is None else (folder / name).unlink()
    for name, state in sorted(should_be.items()):
        if is_now.get(name, ...) == state:
            continue
        if state is None:
            (folder / name).mkdir()
        else:
            shutil.copy2(SHIPPED / name, folder / name)


def _contents(folder: Path) -> dict[str, FileState]:
    """Return the state of each file and folder, by relative path."""
    contents: dict[str, FileState] = {}
    waiting = [""]
    while waiting:
        within = waiting.pop()
        for entry in os.scandir(folder / within):
            name = os.path.join(within, entry.name)
            if entry.is_dir():
                if entry.name != "__pycache__":
                    contents[name] = None
                    waiting.append(name)
            else:
                status = entry.stat()
                contents[name] = status.st_size, status.st_mtime_ns
    return contents
