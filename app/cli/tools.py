"""`tools`: list the tools, show one, try one."""

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from agents.command_line import CommandResult, name_given
from agents.errors import ConfigError, UsageError
from agents.language.text.clean import clean
from agents.toolkit.questions import worded
from agents.toolkit.speaker import Speakers
from app.cli.invocation import DEFAULT_THREAD, Lang, tell
from app.cli.tool_trial import Finding, Trial, tried, typed
from app.composition import check_tools, discover, open_parts, plugins_found
from app.composition.served_tools import accept as accept_description
from app.composition.served_tools import openers, with_served_tools
from app.presentation.listing import card_lines, tool_lines
from app.presentation.texts import say
from app.presentation.tool_card import HAND_OVER, Owned, ToolCard, cards, owned_tools
from app.process.exit_codes import FAILED
from app.process.logs import log_on_stderr
from app.settings import Settings, read_settings
from prompts import languages

application = typer.Typer(name="tools")
ToolName = Annotated[str, typer.Argument(metavar="NAME", help="The tool's.")]
Pairs = Annotated[
    list[str], typer.Argument(metavar="ARGUMENT=VALUE", help="A text as it is, anything else as JSON.")
]  # fmt: skip
InNameOf = Annotated[str, typer.Option("--user", callback=name_given, help="In whose name.")]
Yes = Annotated[bool, typer.Option("--yes", help="Let it write.")]


@application.callback(invoke_without_command=True)
def tools(context: typer.Context) -> Awaitable[CommandResult] | None:
    """List the tools; show one, try one."""
    return None if context.invoked_subcommand else list_tools()


async def list_tools() -> CommandResult:
    """List the tools."""
    async with _everyone(read_settings()) as (speakers, _):
        all_cards = cards(speakers, languages())
    return CommandResult([_short(card) for card in all_cards], tool_lines(all_cards))


@application.command()
async def show(name: ToolName) -> CommandResult:
    """Show all there is to review of a tool."""
    settings = read_settings()
    async with _everyone(settings, name) as (speakers, _):
        _owners(name, speakers, settings.app_lang)
        card = next(card for card in cards(speakers, languages()) if card.name == name)
    return CommandResult(card.plain(), card_lines(card))


@application.command("try")
async def try_tool(
    context: typer.Context,
    name: ToolName,
    pairs: Pairs = [],  # noqa: B006  # typer makes a list of its own
    *,
    user: InNameOf = DEFAULT_THREAD,
    lang: Lang = None,
    yes: Yes = False,
) -> CommandResult:
    """Run a tool for real; exit 1 if it fails."""
    settings = read_settings()
    async with _everyone(settings, name) as (speakers, complete):
        check_tools(speakers, complete=complete)
        trial = _trial(name, pairs, speakers, user, lang or settings.app_lang, settings.app_lang, may_write=yes)
        with log_on_stderr(detailed=True, content=settings.log_content):
            finding = await tried(trial, speakers, settings)
    if not context.obj.as_json:
        for notice in finding.notices:
            tell(notice)
    facts = {"tool": name, "args": trial.args, **finding.plain()}
    return CommandResult(facts, _finding_lines(finding, trial.lang), 0 if finding.ok else FAILED)


def _trial(
    name: str, pairs: Sequence[str], speakers: Speakers, user: str, lang: str, own_lang: str, *, may_write: bool
) -> Trial:
    """Return the trial of a tool. Raises UsageError: the tool hands over, or writes without leave."""
    speaker, tool = _owners(name, speakers, own_lang)[0]
    card = next(card for card in cards(speakers, [lang]) if card.name == name)
    if card.kind == HAND_OVER:
        raise UsageError(say("tools.hands_over", own_lang, tool=name))
    args = typed(pairs, tool)
    if card.traits.effect == "write" and not may_write:
        raise UsageError(say("tools.writes", own_lang, tool=name))
    return Trial(tool=tool, speaker=speaker, args=args, user=user, lang=lang)


@application.command()
async def accept(name: ToolName) -> CommandResult:
    """Let models have a tool that its server has come to describe otherwise; it holds from the next start."""
    settings = read_settings()
    async with _everyone(settings, name) as (speakers, _):
        _, tool = _owners(name, speakers, settings.app_lang)[0]
        async with open_parts(settings, remote=False, speakers=speakers) as parts:
            await accept_description(parts.memory.store, tool)
    return CommandResult({"accepted": name}, [say("tools.accepted", settings.app_lang, tool=name)])


@asynccontextmanager
async def _everyone(settings: Settings, name: str = "") -> AsyncIterator[tuple[Speakers, bool]]:
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


def _owners(name: str, speakers: Speakers, lang: str) -> Sequence[Owned]:
    if owners := owned_tools(speakers).get(name):
        return owners
    raise UsageError(say("tools.none", lang, tool=repr(name)))


def _short(card: ToolCard) -> dict[str, object]:
    about = {"name": card.name, "owners": card.owners, "kind": card.kind, "effect": card.traits.effect}
    return {**about, "languages": list(card.examples)}


def _finding_lines(finding: Finding, lang: str) -> list[str]:
    """Return the object for a model, then the view for a user, then the meanings of the numbers."""
    on_screen = finding.view.text() if finding.view else worded(finding.question, lang) if finding.question else ""
    pairs = [(kind, *pair) for kind, ids in finding.aliases.items() for pair in ids.items()]
    numbers = [f"{kind} {number} = {meant}" for kind, number, meant in pairs if number.isdecimal()]
    parts = [part for part in (finding.object, on_screen, "\n".join(numbers)) if part]
    return [clean("\n\n".join(parts))]
