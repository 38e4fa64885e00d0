"""`tools try`: run one tool for real."""

from collections.abc import Sequence
from typing import Annotated

import typer

from agents.command_line import CommandResult, name_given
from agents.errors import UsageError
from agents.language.text.clean import clean
from agents.toolkit.questions import worded
from agents.toolkit.speaker import Speakers
from app.cli.invocation import DEFAULT_THREAD, Lang, tell
from app.cli.tools import ToolName, everyone, owners_of
from app.composition import check_tools
from app.plugins.first_steps.tool_trial import Finding, Trial, tried, typed
from app.presentation.tool_card import HAND_OVER, cards
from app.process.exit_codes import FAILED
from app.process.logs import log_on_stderr
from app.settings import read_settings
from prompts import sentence

application = typer.Typer(name="tools")
Pairs = Annotated[
    list[str], typer.Argument(metavar="ARGUMENT=VALUE", help="A text as it is, anything else as JSON.")
]  # fmt: skip
InNameOf = Annotated[str, typer.Option("--user", callback=name_given, help="In whose name.")]
Yes = Annotated[bool, typer.Option("--yes", help="Let it write.")]


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
    async with everyone(settings, name) as (speakers, complete):
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
    speaker, tool = owners_of(name, speakers, own_lang)[0]
    card = next(card for card in cards(speakers, [lang]) if card.name == name)
    if card.kind == HAND_OVER:
        raise UsageError(sentence("first_steps/phrases", "trial.hands_over", own_lang, tool=name))
    args = typed(pairs, tool)
    if card.traits.effect == "write" and not may_write:
        raise UsageError(sentence("first_steps/phrases", "trial.writes", own_lang, tool=name))
    return Trial(tool=tool, speaker=speaker, args=args, user=user, lang=lang)


def _finding_lines(finding: Finding, lang: str) -> list[str]:
    """Return the object for a model, then the view for a user, then the meanings of the numbers."""
    on_screen = finding.view.text() if finding.view else worded(finding.question, lang) if finding.question else ""
    pairs = [(kind, *pair) for kind, ids in finding.aliases.items() for pair in ids.items()]
    numbers = [f"{kind} {number} = {meant}" for kind, number, meant in pairs if number.isdecimal()]
    parts = [part for part in (finding.object, on_screen, "\n".join(numbers)) if part]
    return [clean("\n\n".join(parts))]
