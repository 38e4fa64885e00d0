"""`tools`: list the tools, show one, accept one."""

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from agents.command_line import CommandResult
from agents.errors import ConfigError, UsageError
from agents.toolkit.speaker import Speakers
from app.cli.invocation import tell
from app.composition import discover, open_parts, plugins_found
from app.composition.served_tools import accept as accept_description
from app.composition.served_tools import openers, with_served_tools
from app.presentation.lines import card_lines, tool_lines
from app.presentation.texts import say
from app.presentation.tool_card import Owned, ToolCard, cards, owned_tools
from app.settings import Settings, read_settings
from prompts import languages

application = typer.Typer(name="tools")
ToolName = Annotated[str, typer.Argument(metavar="NAME", help="The tool's.")]


@application.callback(invoke_without_command=True)
def tools(context: typer.Context) -> Awaitable[CommandResult] | None:
    """List the tools; show one."""
    return None if context.invoked_subcommand else list_tools()


async def list_tools() -> CommandResult:
    """List the tools."""
    async with everyone(read_settings()) as (speakers, _):
        all_cards = cards(speakers, languages())
    return CommandResult([_short(card) for card in all_cards], tool_lines(all_cards))


@application.command()
async def show(name: ToolName) -> CommandResult:
    """Show all there is to review of a tool."""
    settings = read_settings()
    async with everyone(settings, name) as (speakers, _):
        owners_of(name, speakers, settings.app_lang)
        card = next(card for card in cards(speakers, languages()) if card.name == name)
    return CommandResult(card.plain(), card_lines(card))


@application.command()
async def accept(name: ToolName) -> CommandResult:
    """Let models have a tool that its server has come to describe otherwise; it holds from the next start."""
    settings = read_settings()
    async with everyone(settings, name) as (speakers, _):
        _, tool = owners_of(name, speakers, settings.app_lang)[0]
        async with open_parts(settings, remote=False, speakers=speakers) as parts:
            await accept_description(parts.memory.store, tool)
    return CommandResult({"accepted": name}, [say("tools.accepted", settings.app_lang, tool=name)])


@asynccontextmanager
async def everyone(settings: Settings, name: str = "") -> AsyncIterator[tuple[Speakers, bool]]:
    """Yield all speakers and whether they have all tools; for the name of a local tool no service is opened.

    An unreachable server, and a tool that no model can take, are reported on stderr.
    """
    speakers, _ = discover()
    served = openers(plugins_found())
    if not served or name in owned_tools(speakers):
        yield speakers, not served
        return
    absent: list[ConfigError] = []
    async with with_served_tools(plugins_found(), speakers, absent.append, absent.append) as everyone:
        for fault in absent:
            tell(str(fault))
        yield everyone, not absent


def owners_of(name: str, speakers: Speakers, lang: str) -> Sequence[Owned]:
    """Return a tool by name, for each speaker that has it. Raises UsageError: there is no such tool."""
    if owners := owned_tools(speakers).get(name):
        return owners
    raise UsageError(say("tools.none", lang, tool=repr(name)))


def _short(card: ToolCard) -> dict[str, object]:
    about = {"name": card.name, "owners": card.owners, "kind": card.kind, "effect": card.traits.effect}
    return {**about, "languages": list(card.examples)}
