"""`lab agent`: agents put together from tools, mocks, prompts and a model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from agents.toolkit.commands import CommandResult, name_given
from app.agent_files import read_agent
from app.composition.databases import open_database
from app.lab.agents import Workshop
from app.lab.folder import LabFolder, written
from app.lab.stage import play
from app.security.audit import TABLES, Action, Audit, login
from app.settings import read_settings

application = typer.Typer(name="agent", help="Agents put together from tools, mocks, prompts and a model.")
AgentName = Annotated[str, typer.Argument(metavar="NAME", help="The agent's.")]
Maker = Annotated[str, typer.Option("--maker", callback=name_given, help="Whose it is, as their key is called.")]
LOCAL = "local"


def _workshop(maker: str) -> Workshop:
    return Workshop(LabFolder(read_settings().lab_folder), maker)


@asynccontextmanager
async def deed(what: Action, about: str) -> AsyncIterator[None]:
    """Write down what changes something for everybody."""
    settings = read_settings()
    async with (
        open_database(settings.database_url, tables=[TABLES], key=settings.database_key) as memory,
        Audit(memory.database, memory.now, settings.audit_days).deed(login(), what, about=about),
    ):
        yield


@application.command("list")
async def list_agents(*, maker: Maker = LOCAL) -> CommandResult:
    """List the maker's agents, and the shared ones."""
    workshop = _workshop(maker)
    own = {name: workshop.read(name) for name in workshop.names()}
    shared = {name: agent.maker for name, agent in workshop.shared().items()}
    lines = [f"{name}  version {agent.version}  {', '.join(agent.tools)}" for name, agent in own.items()]
    lines += [f"{name}  shared by {owner}" for name, owner in shared.items()]
    return CommandResult({"own": {name: agent.version for name, agent in own.items()}, "shared": shared}, lines)


@application.command()
async def show(
    name: AgentName,
    *,
    version: Annotated[int, typer.Option(min=0, help="Which version (default: as it is).")] = 0,
    maker: Maker = LOCAL,
) -> CommandResult:
    """Show an agent's file, as it is or as a version was; saved again it is the next version."""
    agent = _workshop(maker).read(name, version)
    return CommandResult(agent.model_dump(mode="json"), written(agent).splitlines())


@application.command()
async def save(name: AgentName, file: Path, *, maker: Maker = LOCAL) -> CommandResult:
    """Keep a YAML file as an agent's next version."""
    kept = _workshop(maker).save(name, read_agent(file))
    return CommandResult({"agent": name, "version": kept.version}, [f"{name}  version {kept.version}"])


@application.command()
async def changes(name: AgentName, old: int, new: int, *, maker: Maker = LOCAL) -> CommandResult:
    """Show in what two versions differ."""
    lines = _workshop(maker).changes(name, old, new)
    return CommandResult(lines, lines)


@application.command("try")
async def try_agent(
    name: AgentName, texts: Annotated[list[str], typer.Argument(metavar="TEXT")], *, maker: Maker = LOCAL
) -> CommandResult:
    """Talk to an agent, a message for each text, and show the trace; nobody else gets to see it."""
    async with _workshop(maker).trial(read_settings(), name) as assistant:
        turns = [await play(assistant, text) for text in texts]
    lines = [line for turn in turns for line in (f"user: {turn.text}", *turn.trace.splitlines())]
    return CommandResult([{"text": turn.text, "trace": turn.trace} for turn in turns], lines)


@application.command()
async def share(name: AgentName, *, maker: Maker = LOCAL) -> CommandResult:
    """Make an agent a dialog for everybody, from the next start of a door on."""
    async with deed("agent_shared", name):
        path = _workshop(maker).share(name)
    return CommandResult({"agent": name, "file": str(path)}, [str(path)])


@application.command()
async def unshare(name: AgentName, *, maker: Maker = LOCAL) -> CommandResult:
    """Take an agent back from everybody."""
    async with deed("agent_unshared", name):
        _workshop(maker).unshare(name)
    return CommandResult({"agent": name}, [])


@application.command()
async def delete(name: AgentName, *, maker: Maker = LOCAL) -> CommandResult:
    """Delete an agent with its versions, its trial talks, and what is shared of it."""
    async with deed("agent_deleted", name):
        _workshop(maker).delete(name)
    return CommandResult({"agent": name}, [])
