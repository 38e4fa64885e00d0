"""`python -m app research`: which sources can be searched."""

import typer

from agents.toolkit.commands import CommandResult, services_of
from dialogs.research import retrievers
from dialogs.research.settings import ResearchSettings

command_line = typer.Typer(name="research", help="searches: which sources there are, and which of them are set up")


@command_line.command()
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
