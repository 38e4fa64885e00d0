"""`tools`: list the tools, show one, try one, edit its card."""

import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from langchain_core.tools import BaseTool

from agents.errors import ConfigError, UsageError
from agents.language.text.clean import clean
from agents.toolkit.card import HAND_OVER, ToolCard, cards, owned_tools, slots
from agents.toolkit.questions import worded
from agents.toolkit.speaker import Speaker, Speakers
from app.cli.card_file import CardFile, changed, edited
from app.cli.stdout import print_result
from app.cli.tool_arguments import typed
from app.cli.tool_trial import Finding, Trial, tried
from app.composition import check_tools, discover
from app.composition.remote_tools import with_remote_tools
from app.doors.visit import FAILED
from app.listing import card_lines, tool_lines
from app.logs import log_on_stderr
from app.sentences import say
from app.settings import Settings
from prompts import card_file, languages

Owned = Mapping[str, Sequence[tuple[Speaker, BaseTool]]]
"""By name, the tools and whose they are."""


async def list_(options: Namespace, settings: Settings) -> int:
    """Print the tools there are."""
    async with _everyone(settings) as (speakers, _):
        all_cards = cards(speakers, languages())
    return print_result(options, [_short(card) for card in all_cards], tool_lines(all_cards))


async def show(options: Namespace, settings: Settings) -> int:
    """Print all there is to review of a tool."""
    async with _everyone(settings, options.name) as (speakers, _):
        _known(options.name, owned_tools(speakers), settings.app_lang)
        card = next(card for card in cards(speakers, languages()) if card.name == options.name)
    return print_result(options, card.plain(), card_lines(card))


async def try_(options: Namespace, settings: Settings) -> int:
    """Run a tool for real and print what came of it; return 1 if it failed."""
    async with _everyone(settings, options.name) as (speakers, complete):
        check_tools(speakers, complete=complete)
        return await _try(options, settings, speakers)


async def _try(options: Namespace, settings: Settings, speakers: Speakers) -> int:
    lang = options.lang or settings.app_lang
    card = next((card for card in cards(speakers, [lang]) if card.name == options.name), None)
    speaker, tool = _known(options.name, owned_tools(speakers), settings.app_lang)[0]
    assert card is not None  # there is one for every known tool
    if card.kind == HAND_OVER:
        raise UsageError(say("tools.hands_over", settings.app_lang, tool=tool.name))
    args = typed(options.pairs, tool)
    if card.traits.effect == "write" and not options.yes:
        raise UsageError(say("tools.writes", settings.app_lang, tool=tool.name))
    trial = Trial(tool=tool, speaker=speaker, args=args, user=options.user, lang=lang)
    with log_on_stderr(detailed=True, content=settings.log_content):
        finding = await tried(trial, speakers, settings)
    if not options.json:
        for notice in finding.notices:
            sys.stderr.write(f"{clean(notice.message)}\n")
    print_result(options, {"tool": tool.name, "args": args, **finding.plain()}, _finding_lines(finding, lang))
    return 0 if finding.ok else FAILED


async def edit(options: Namespace, settings: Settings) -> int:
    """Change the texts of a tool's card, by options or in an editor; a card that breaks a rule is not written."""
    lang = settings.app_lang
    async with _everyone(settings, options.name) as (speakers, _):
        tools = _known(options.name, owned_tools(speakers), lang)
    file = CardFile(card_file(options.name, options.lang), slots([tool for _, tool in tools]))
    if options.description is not None or options.add_example or options.remove_example:
        text = changed(file.text, options.description, options.add_example, options.remove_example)
        written = file.replace(text)
    elif sys.stdin.isatty() and sys.stdout.isatty():
        written = await edited(file)
    else:
        raise UsageError(say("tools.no_change", lang))
    sys.stdout.write(say("tools.written" if written else "tools.unchanged", lang, path=file.path) + "\n")
    return 0


@asynccontextmanager
async def _everyone(settings: Settings, name: str = "") -> AsyncIterator[tuple[Speakers, bool]]:
    """Yield all speakers and whether they have all tools: who asks for one that is here waits for no service.

    A server that cannot be reached is told on stderr.
    """
    speakers, _ = discover()
    if not settings.has_remote_tools or name in owned_tools(speakers):
        yield speakers, not settings.has_remote_tools
        return
    absent: list[ConfigError] = []
    async with with_remote_tools(settings, speakers, absent.append) as everyone:
        for fault in absent:
            sys.stderr.write(f"{clean(str(fault))}\n")
        yield everyone, not absent


def _known(name: str, owned: Owned, lang: str) -> Sequence[tuple[Speaker, BaseTool]]:
    if name not in owned:
        raise UsageError(say("tools.none", lang, tool=repr(name)))
    return owned[name]


def _short(card: ToolCard) -> dict[str, object]:
    about = {"name": card.name, "owners": card.owners, "kind": card.kind, "effect": card.traits.effect}
    return {**about, "languages": list(card.examples)}


def _finding_lines(finding: Finding, lang: str) -> list[str]:
    """Return what a model would read, then what a user would see, then what the numbers mean."""
    on_screen = finding.view.text() if finding.view else worded(finding.question, lang) if finding.question else ""
    numbers = [f"{kind} {n} = {meant}" for kind, ids in finding.aliases.items() for n, meant in ids.items()]
    parts = [part for part in (finding.object, on_screen, "\n".join(numbers)) if part]
    return [clean("\n\n".join(parts))]
