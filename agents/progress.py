"""A bar on a terminal for the progress of a long command."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.language.text.clean import clean


@contextmanager
def progress_bar() -> Iterator[Callable[..., None]]:
    """Show a bar on a terminal; yield its function, which takes the numbers of done and of all parts, and the next."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task, is_over = progress.add_task("", total=None), threading.Event()

        def advance(done: int, total: int, name: str = "") -> None:
            if is_over.is_set():
                raise asyncio.CancelledError
            progress.update(task, completed=done, total=total, description=clean(Path(name).name))

        try:
            yield advance
        finally:
            is_over.set()
