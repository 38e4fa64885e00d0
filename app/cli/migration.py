"""`migrate`: an installation moves to another database."""

from importlib import import_module
from typing import Annotated

import typer

from agents.toolkit.commands import CommandResult
from app.cli.progress import progress_bar
from app.composition.migration import copy
from app.settings import read_settings
from app.texts import say

To = Annotated[str, typer.Option("--to", metavar="URL", help="An empty database: postgresql://… or sqlite:///….")]


async def migrate(*, to: To) -> CommandResult:
    """Copy everything in DATABASE_URL to another database; run it again after an interruption.

    Raises:
        UsageError: the target holds conversations already, or the source is of another version of this program.
        ConfigError: one of the databases cannot be used.
    """
    settings = read_settings()
    with progress_bar() as tell:
        # The door's own table. Its libraries are slow to load.
        others = [import_module("app.doors.http.callbacks").TABLES]
        counts = await copy(settings.database_url, to, others, tell)
    tables = {name: count for name, count in counts.items() if count}
    lines = [say("migrated_table", settings.app_lang, table=name, count=count) for name, count in tables.items()]
    facts = {"rows": sum(counts.values()), "tables": len(tables)}
    return CommandResult({"tables": counts}, [*lines, say("migrated", settings.app_lang, **facts)])
