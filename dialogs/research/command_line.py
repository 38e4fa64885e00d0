"""`python -m app index` and `research`: one's own documents for searches, the sources, and the vectors."""

import asyncio
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.errors import UsageError
from agents.language.text.clean import clean
from agents.models.failures import cause_of
from agents.progress import progress_bar
from agents.sources.documents.files import READERS
from agents.toolkit.commands import installation_of, services_of
from dialogs.research import retrievers
from dialogs.research.index import DocumentIndex, Report, index_folder, looked_at
from dialogs.research.index import remove as remove_folder
from dialogs.research.settings import ResearchSettings
from dialogs.research.vectors import Vectors
from prompts import sentence

FAILED = 1
command_line = typer.Typer()
documents = typer.Typer(name="index", help="Index your own documents for searches: add, list, remove.")
searches = typer.Typer(name="research", help="searches: which sources there are, and which of them are set up")
command_line.add_typer(documents)
command_line.add_typer(searches)
Added = Annotated[Path, typer.Argument(metavar="PATH", help=f"Read are: {' '.join(READERS)}.")]
Removed = Annotated[str, typer.Argument(metavar="PATH", help="As it was added; help: our help pages.")]
Url = Annotated[str, typer.Option(help="Where readers find the folder, such as https://docs.example/.")]


@documents.command()
async def add(context: typer.Context, path: Added, *, url: Url = "") -> CommandResult:
    """Index a folder, or a file; again: what has changed.

    Raises:
        UsageError: there is no such place, or it overlaps one that is indexed.
    """
    async with services_of(context, reads=True) as services:
        report = await indexed(services.get(DocumentIndex), path, url)
    for line in report.unreadable:
        sys.stderr.write(f"python -m app: {clean(line)}\n")
    facts = {"added": report.added, "unchanged": report.unchanged, "removed": report.removed}
    lines = [_say(context, "indexed", path=path, unreadable=len(report.unreadable), **facts)]
    if report.skipped:
        kinds = ", ".join(f"{clean(kind)} {count}" for kind, count in sorted(report.skipped.items()))
        lines.append(_say(context, "skipped", kinds=kinds))
    return CommandResult(asdict(report), lines, FAILED if report.unreadable else 0)


async def indexed(index: DocumentIndex, place: Path, url: str) -> Report:
    """Index a place, and show the progress at a terminal. Raises as `index_folder`."""
    with progress_bar() as advance:
        # A thread leaves Ctrl-C and SIGTERM to the loop: the present file is finished, and all read files stay.
        return await asyncio.to_thread(index_folder, index, place, url, advance)


@documents.command("list")
async def list_folders(context: typer.Context) -> CommandResult:
    """List what is indexed."""
    async with services_of(context, reads=True) as services:
        with looked_at(services.get(DocumentIndex)) as index:
            folders = [asdict(folder) for folder in index.folders()]
    lines = [_say(context, "indexed_folder", **folder) for folder in folders]
    return CommandResult(folders, lines or [_say(context, "not_indexed")])


@documents.command()
async def remove(context: typer.Context, path: Removed) -> CommandResult:
    """Take a folder, a file or help out of the index.

    Raises:
        UsageError: it is not indexed.
    """
    async with services_of(context, reads=True) as services:
        index = services.get(DocumentIndex)
        if not remove_folder(index, path):
            with looked_at(index) as looked:
                folders = ", ".join(folder.path for folder in looked.folders())
            raise UsageError(_say(context, "no_folder", path=path, known=folders))
    return CommandResult({"removed": path}, [_say(context, "unindexed", path=path)])


def _say(context: typer.Context, key: str, **facts: object) -> str:
    return sentence("research/phrases", key, installation_of(context).lang, **facts)


@searches.command()
async def sources(context: typer.Context) -> CommandResult:
    """List the sources, what each needs, and the name under which it is searched."""
    async with services_of(context) as services:
        plans = services.get(ResearchSettings).search_sources
    used = {name: plan.name for plan in plans for name in plan.sources}
    rows = [
        {"name": name, "searched_as": used.get(name), "needs": [setting.upper() for setting in source.needs]}
        for name, source in retrievers.discover().items()
    ]
    lines = [f"{name}{f' – {used[name]}' if name in used else ''}" for name in retrievers.discover()]
    return CommandResult(rows, lines)


@searches.command()
async def embed(context: typer.Context) -> CommandResult:
    """Have EMBEDDINGS_MODEL make vectors of the passages that are new in the index, and tell what it took.

    Raises:
        UsageError: no model is set, or it does not answer.
    """
    async with services_of(context) as services:
        vectors = services.find(Vectors)
        if vectors is None:
            raise UsageError("EMBEDDINGS_MODEL names no model; see dialogs/research/.env.example")
        try:
            cost = await vectors.add()
        except Exception as failure:
            # Clients raise errors of many types; the vectors made before are kept.
            raise UsageError(f"{vectors.model.name} makes no vectors: {cause_of(failure)}") from failure
    line = (
        f"{cost.passages} passages were sent to {vectors.model.name}: {cost.characters} characters in"
        f" {cost.seconds:.1f} s. The vectors take {cost.bytes} bytes."
    )
    return CommandResult(asdict(cost), [line])
