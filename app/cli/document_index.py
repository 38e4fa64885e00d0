"""`python -m app index`: one's own documents for searches, added, listed and removed."""

import asyncio
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from agents.errors import UsageError
from agents.language.text.clean import clean
from agents.memory import database_path
from agents.sources.documents.index import DocumentIndex, index_file
from agents.sources.documents.indexing import Tell, index_folder, index_help
from agents.sources.documents.indexing import remove as remove_folder
from app.cli.stdout import print_result
from app.sentences import say
from app.settings import Settings

UNREADABLE = 1
"""The exit code when some files could not be read; the others are indexed."""


async def add(options: Namespace, settings: Settings) -> int:
    """Index what is new or changed in a folder or file, and take out what is gone.

    Raises:
        UsageError: there is no such place, or it overlaps one that is indexed.
    """
    with _opened(settings) as index, _bar() as tell:
        # In a thread, so that Ctrl-C and SIGTERM are heard: the file at hand is finished, and what was read stays.
        report = await asyncio.to_thread(index_folder, index, options.path, options.url or "", tell)
    for line in report.unreadable:
        sys.stderr.write(f"python -m app: {clean(line)}\n")
    facts = {**asdict(report), "unreadable": len(report.unreadable)}
    print_result(options, asdict(report), [say("indexed", settings.app_lang, path=options.path, **facts)])
    return UNREADABLE if report.unreadable else 0


async def list_(options: Namespace, settings: Settings) -> int:
    """Print what is indexed."""
    with _opened(settings) as index:
        index_help(index)
        folders = index.folders()
    lines = [say("indexed_folder", settings.app_lang, **asdict(folder)) for folder in folders]
    return print_result(
        options, [asdict(folder) for folder in folders], lines or [say("not_indexed", settings.app_lang)]
    )


async def remove(options: Namespace, settings: Settings) -> int:
    """Take a folder or file out of the index; `help` stands for our help pages.

    Raises:
        UsageError: it is not indexed.
    """
    with _opened(settings) as index:
        index_help(index)
        if not remove_folder(index, options.path):
            known = ", ".join(folder.path for folder in index.folders())
            raise UsageError(say("no_folder", settings.app_lang, path=options.path, known=known))
    return print_result(options, {"removed": options.path}, [say("unindexed", settings.app_lang, path=options.path)])


@contextmanager
def _opened(settings: Settings) -> Iterator[DocumentIndex]:
    index = DocumentIndex(index_file(database_path(settings.database_url)))
    try:
        yield index
    finally:
        index.close()


@contextmanager
def _bar() -> Iterator[Tell]:
    """Show on a terminal how far indexing has come; elsewhere nothing."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task, is_over = progress.add_task("", total=None), threading.Event()

        def tell(done: int, total: int, name: str) -> None:
            if is_over.is_set():
                raise asyncio.CancelledError
            progress.update(task, completed=done, total=total, description=clean(Path(name).name))

        try:
            yield tell
        finally:
            is_over.set()
