"""`python -m app research`: the sources of searches, and the vectors of one's own documents."""

from dataclasses import asdict

import typer

from agents.command_line import CommandResult
from agents.errors import UsageError
from agents.models.failures import cause_of
from agents.toolkit.commands import services_of
from dialogs.research import retrievers
from dialogs.research.settings import ResearchSettings
from dialogs.research.vectors import Vectors

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


@command_line.command()
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
