"""The audit log of what operators do, and its list: `python -m app audit`."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import typer
from pydantic import Field

from agents.command_line import CommandResult
from agents.language.text.clean import clean
from agents.memory import Memory
from agents.plugin import Plugin, PluginSettings
from agents.toolkit.commands import installation_of
from agents.toolkit.services import Services
from app.plugins.audit.log import TABLES, Audit
from app.presentation.lines import columns, moment
from prompts import sentence


class AuditSettings(PluginSettings):
    """The days for which the audit log is kept."""

    audit_days: int = Field(default=365, ge=1)


@asynccontextmanager
async def opened(services: Services) -> AsyncIterator[Sequence[object]]:
    """Offer the audit log as a service."""
    memory, settings = services.get(Memory), services.get(AuditSettings)
    yield [Audit(memory.database, memory.now, settings.audit_days)]


commands = typer.Typer()
Days = Annotated[int, typer.Option(min=1, help="So many days, today among them.")]


@commands.command()
async def audit(context: typer.Context, *, days: Days = 30) -> CommandResult:
    """List what operators did: when, who, what, to which thread."""
    installation = installation_of(context)
    async with installation.services(reads=True) as services:
        deeds = await services.get(Audit).deeds(days)
    rows = ((moment(deed.at_ms), *(clean(text) or "-" for text in deed[1:])) for deed in deeds)
    lines = columns([("AT", "WHO", "WHAT", "THREAD", "ABOUT", "OUTCOME"), *rows])
    return CommandResult(
        [deed._asdict() for deed in deeds],
        lines if deeds else [sentence("audit/phrases", "no_deeds", installation.lang)],
    )


plugin = Plugin(settings=AuditSettings, tables=TABLES, services=opened, command_line=commands)
