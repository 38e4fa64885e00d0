"""`index`: one's own documents for searches, added, listed and removed."""

import asyncio
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.errors import UsageError
from agents.language.text.clean import clean
from agents.sources.documents.files import READERS, files_in
from agents.sources.documents.index import DocumentIndex, index_file, index_folder, index_help
from agents.sources.documents.index import remove as remove_folder
from app.cli.invocation import tell
from app.cli.progress import progress_bar
from app.databases import backend_of
from app.presentation.texts import say
from app.process.exit_codes import FAILED
from app.settings import Settings, read_settings

application = typer.Typer(name="index", help="Index your own documents for searches: add, watch, list, remove.")
Added = Annotated[Path, typer.Argument(metavar="PATH", help=f"Read are: {' '.join(READERS)}.")]
Removed = Annotated[str, typer.Argument(metavar="PATH", help="As it was added; help: our help pages.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="Seconds between two looks at the folder.")]
Url = Annotated[str, typer.Option(help="Where readers find the folder, such as https://docs.example/.")]


@application.command()
async def add(path: Added, *, url: Url = "") -> CommandResult:
    """Index a folder, or a file; again: what has changed.

    Raises:
        UsageError: there is no such place, or it overlaps one that is indexed.
    """
    settings = read_settings()
    with _opened(settings) as index, progress_bar() as advance:
        # A thread leaves Ctrl-C and SIGTERM to the loop: the present file is finished, and all read files stay.
        report = await asyncio.to_thread(index_folder, index, path, url, advance)
    for line in report.unreadable:
        tell(f"python -m app: {line}")
    facts = {"added": report.added, "unchanged": report.unchanged, "removed": report.removed}
    lines = [say("indexed", settings.app_lang, path=path, unreadable=len(report.unreadable), **facts)]
    if report.skipped:
        kinds = ", ".join(f"{clean(kind)} {count}" for kind, count in sorted(report.skipped.items()))
        lines.append(say("skipped", settings.app_lang, kinds=kinds))
    return CommandResult(asdict(report), lines, FAILED if report.unreadable else 0)


@application.command("list")
async def list_folders() -> CommandResult:
    """List what is indexed."""
    settings = read_settings()
    with _opened(settings) as index:
        index_help(index)
        folders = [asdict(folder) for folder in index.folders()]
    lines = [say("indexed_folder", settings.app_lang, **folder) for folder in folders]
    return CommandResult(folders, lines or [say("not_indexed", settings.app_lang)])


@application.command()
async def remove(path: Removed) -> CommandResult:
    """Take a folder, a file or help out of the index.

    Raises:
        UsageError: it is not indexed.
    """
    settings = read_settings()
    with _opened(settings) as index:
        index_help(index)
        if not remove_folder(index, path):
            indexed = ", ".join(folder.path for folder in index.folders())
            raise UsageError(say("no_folder", settings.app_lang, path=path, known=indexed))
    return CommandResult({"removed": path}, [say("unindexed", settings.app_lang, path=path)])


@application.command()
async def watch(path: Added, *, url: Url = "", every: Seconds = 5) -> CommandResult:
    """Index a folder, and again whenever something in it has changed, until stopped.

    Raises:
        UsageError: there is no such place, or it overlaps one that is indexed.
    """
    before = None
    while True:
        if (state := await asyncio.to_thread(_state, path)) != before:
            result, before = await add(path, url=url), state
            sys.stdout.write("".join(f"{clean(line)}\n" for line in result.lines))
            sys.stdout.flush()
        await asyncio.sleep(every)


def _state(path: Path) -> frozenset[tuple[str, int, int]]:
    """Return the state of a folder, for a comparison: its files with their sizes and times."""
    files = [(str(file), file.lstat()) for file in files_in(path) if file.exists()]
    return frozenset((name, about.st_size, about.st_mtime_ns) for name, about in files)


def _opened(settings: Settings) -> closing[DocumentIndex]:
    return closing(DocumentIndex(index_file(backend_of(settings.database_url).path)))
