"""`migrate` and `compact`: a database moves, or is written anew."""

from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.memory.backend import Backend
from agents.progress import progress_bar
from app.composition.migration import copy
from app.databases import backend_of
from app.presentation.texts import say
from app.settings import Settings, read_settings

To = Annotated[str, typer.Option("--to", metavar="URL", help="An empty database: postgresql://… or sqlite:///….")]


async def migrate(*, to: To) -> CommandResult:
    """Copy everything in DATABASE_URL to another database; run it again after an interruption.

    Raises:
        UsageError: the target holds conversations already, or the source is of another version of this program.
        ConfigError: one of the databases cannot be used.
    """
    settings = read_settings()
    return await copy_to(backend_of(to), settings)


async def copy_to(target: Backend, settings: Settings) -> CommandResult:
    """Copy everything in DATABASE_URL to another database. Raises as `migrate`."""
    with progress_bar() as advance:
        counts = await copy(backend_of(settings.database_url), target, advance)
    tables = {name: count for name, count in counts.items() if count}
    lines = [say("migrated_table", settings.app_lang, table=name, count=count) for name, count in tables.items()]
    facts = {"rows": sum(counts.values()), "tables": len(tables)}
    return CommandResult({"tables": counts}, [*lines, say("migrated", settings.app_lang, **facts)])


async def compact() -> CommandResult:
    """Write the database file anew, without remains of what was forgotten; others wait meanwhile.

    Raises:
        ConfigError: the database cannot be used, or its server does this by itself.
    """
    settings = read_settings()
    before, after = await backend_of(settings.database_url).compact()
    facts = {"before": before, "after": after}
    return CommandResult(facts, [say("compacted", settings.app_lang, **{k: f"{v:,}" for k, v in facts.items()})])
