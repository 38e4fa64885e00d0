"""Commands for the operator that print what is stored or discovered: threads, state, history, notes, check."""

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from agents.errors import ConfigError, UsageError
from agents.memory.inbox import TOLD
from agents.toolkit.command_line import CommandResult
from app.assistant import Assistant
from app.assistant.run import config_of
from app.assistant.time_travel import go_back, kept_turns
from app.cli.options import Thread
from app.composition import discover, open_assistant
from app.composition.remote_tools import with_remote_tools
from app.composition.report import report
from app.listing import history_lines, note_lines, report_lines, state_lines, thread_lines
from app.sentences import say
from app.settings import read_settings
from app.short_term_memory import contents

USAGE = 2
"""The exit code of a command that was called wrongly, or of a check that found faults."""

TurnNumber = Annotated[int, typer.Option(metavar="K", help="As `history --json` numbers them.")]


async def threads() -> CommandResult:
    """List the threads."""
    settings = read_settings()
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        infos = await assistant.threads()
    lines = thread_lines(infos) if infos else [say("no_threads", settings.app_lang)]
    return CommandResult([asdict(info) for info in infos], lines)


async def state(thread: Thread) -> CommandResult:
    """Show who holds a thread's conversation."""
    settings = read_settings()
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        facts = await _state(assistant, thread, settings.app_lang)
        prompt = assistant.prompt(facts["dialog"], facts.get("lang") or settings.app_lang)
    result = {**facts, "config": config_of(thread), "prompt": prompt}
    return CommandResult(result, [*state_lines(facts), "", prompt])


async def history(thread: Thread) -> CommandResult:
    """Show what was said in a thread."""
    settings = read_settings()
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        lines = await assistant.history(thread)
        if not lines:
            await _state(assistant, thread, settings.app_lang)
    return CommandResult({"thread": thread, "contents": contents(lines)}, history_lines(lines, settings.app_lang))


async def back(thread: Thread, turn: TurnNumber) -> CommandResult:
    """Go back to the end of an earlier turn; what was done stays done."""
    settings = read_settings()
    async with open_assistant(settings, remote=False) as assistant:
        facts = await _state(assistant, thread, settings.app_lang)
        lang = facts.get("lang") or settings.app_lang
        turns = sorted(await kept_turns(assistant, thread))
        if turn not in turns:
            raise UsageError(say("no_turn", lang, turn=turn, known=", ".join(map(str, turns))))
        notice = await go_back(assistant, thread, turn, say("gone_back", lang, turn=turn))
        lines = [
            line
            for line in await assistant.history(thread)
            if line.turn == turn and line.metadata.get("source") not in TOLD
        ]
    result = {"thread": thread, "turn": turn, "left": facts["turn"], "text": notice.text}
    return CommandResult(result, [*history_lines(lines, lang), "", notice.text])


async def notes() -> CommandResult:
    """List what was passed on to a person."""
    settings = read_settings()
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        notes = await assistant.memory.notes.all()
    lines = note_lines(notes) if notes else [say("no_notes", settings.app_lang)]
    return CommandResult([asdict(note) for note in notes], lines)


async def graph() -> None:
    """Draw the graph, as mermaid."""
    async with open_assistant(read_settings(), remote=False) as assistant:
        sys.stdout.write(assistant.drawing().rstrip("\n") + "\n")


async def check() -> CommandResult:
    """Show everything that is discovered; exit 2 if something is wrong."""
    settings = read_settings()
    result = report(settings)
    if not result["faults"]:
        try:
            absent: list[ConfigError] = []
            async with with_remote_tools(settings, discover()[0], absent.append) as speakers:
                result = report(settings, speakers, complete=not absent)
            result["faults"] += map(str, absent)
        except ConfigError as wrong:
            result["faults"].append(str(wrong))
    return CommandResult(result, report_lines(result, settings.app_lang), USAGE if result["faults"] else 0)


async def _state(assistant: Assistant, thread: str, lang: str) -> dict[str, Any]:
    facts = await assistant.state(thread)
    if facts is None:
        raise UsageError(say("no_thread", lang, thread=repr(thread)))
    return facts
