"""Counts the usage of models, limits it by day, and lists it: `python -m app usage`, and in `/metrics`."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.errors import ConfigError
from agents.memory import Memory
from agents.models import FREE, Models
from agents.plugin import Plugin
from agents.toolkit.commands import installation_of
from agents.toolkit.services import Services
from app.plugins.usage.counts import TABLES, Usage, UsageSettings
from app.presentation.lines import columns
from app.settings import Settings
from prompts import sentence

HEAD = ("DAY (UTC)", "MODEL", "CALLS", "INPUT", "CACHED", "OUTPUT", "MONEY", "LARGEST TURN")


@asynccontextmanager
async def opened(services: Services) -> AsyncIterator[Sequence[object]]:
    """Offer the counts. Raises ConfigError: money is limited, and a model has no price."""
    limits, settings, models = services.get(UsageSettings), services.find(Settings), services.find(Models)
    prices = settings.llm_prices if settings else {}
    paid = {model.name for model in models or () if not model.name.startswith(FREE)}
    unpriced = ", ".join(sorted(paid - prices.keys()))
    if unpriced and settings and (limits.user_money_per_day or limits.money_per_day):
        raise ConfigError(f"LLM_PRICES: money is limited, and there is no price of {unpriced} (see .env.example)")
    yield [Usage(services.get(Memory), limits, prices)]


commands = typer.Typer()
Days = Annotated[int, typer.Option(min=1, help="So many days, today among them.")]
OneUser = Annotated[str | None, typer.Option("--user", metavar="U", help="One user: today and yesterday.")]


@commands.command()
async def usage(context: typer.Context, *, days: Days = 7, user: OneUser = None) -> CommandResult:
    """List the tokens and the money that models took, by day."""
    installation = installation_of(context)
    async with installation.services(reads=True) as services:
        used = await services.get(Usage).by_day(days, user)
    lines = columns([HEAD, *(tuple(map(str, (*day[:6], f"{day.money:.4f}", day.largest))) for day in used)])
    return CommandResult(
        [day._asdict() for day in used],
        lines if used else [sentence("usage/phrases", "no_usage", installation.lang)],
    )


plugin = Plugin(
    settings=UsageSettings,
    tables=TABLES,
    services=opened,
    command_line=commands,
    routes=("app.plugins.usage.metrics",),
)
