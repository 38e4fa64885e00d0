"""Commands for the operator that print what is stored or discovered: threads, state, history, notes, check."""

import sys
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from agents.errors import ConfigError, UsageError
from agents.memory.people import TOLD
from app.assistant import Assistant
from app.assistant.run import config_of
from app.assistant.time_travel import go_back, kept_turns
from app.cli.stdout import print_result
from app.composition import discover, open_assistant
from app.composition.remote_tools import with_remote_tools
from app.composition.report import report
from app.listing import history_lines, note_lines, report_lines, state_lines, thread_lines
from app.sentences import say
from app.settings import Settings
from app.short_term_memory import contents

USAGE = 2
"""The exit code of a command that was called wrongly, or of a check that found faults."""


async def threads(options: Namespace, settings: Settings) -> int:
    """Print the threads there are."""
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        infos = await assistant.threads()
    lines = thread_lines(infos) if infos else [say("no_threads", settings.app_lang)]
    return print_result(options, [asdict(info) for info in infos], lines)


async def state(options: Namespace, settings: Settings) -> int:
    """Print who holds a thread's conversation, what it remembers, and the present speaker's system prompt."""
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        facts = await _state(assistant, options.thread, settings.app_lang)
        prompt = assistant.prompt(facts["dialog"], facts.get("lang") or settings.app_lang)
    result = {**facts, "config": config_of(options.thread), "prompt": prompt}
    return print_result(options, result, [*state_lines(facts), "", prompt])


async def history(options: Namespace, settings: Settings) -> int:
    """Print what was said in a thread; as JSON in the form of the short-term memory."""
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        lines = await assistant.history(options.thread)
        if not lines:
            await _state(assistant, options.thread, settings.app_lang)
    return print_result(
        options, {"thread": options.thread, "contents": contents(lines)}, history_lines(lines, settings.app_lang)
    )


async def back(options: Namespace, settings: Settings) -> int:
    """Go back to the end of an earlier turn; print what was said to it and what stays done."""
    async with open_assistant(settings, remote=False) as assistant:
        facts = await _state(assistant, options.thread, settings.app_lang)
        lang = facts.get("lang") or settings.app_lang
        turns = sorted(await kept_turns(assistant, options.thread))
        if options.turn not in turns:
            raise UsageError(say("no_turn", lang, turn=options.turn, known=", ".join(map(str, turns))))
        notice = await go_back(assistant, options.thread, options.turn, say("gone_back", lang, turn=options.turn))
        lines = [
            line
            for line in await assistant.history(options.thread)
            if line.turn == options.turn and line.metadata.get("source") not in TOLD
        ]
    result = {"thread": options.thread, "turn": options.turn, "left": facts["turn"], "text": notice.text}
    return print_result(options, result, [*history_lines(lines, lang), "", notice.text])


async def notes(options: Namespace, settings: Settings) -> int:
    """Print what was passed on to a person."""
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        notes = await assistant.memory.notes.all()
    lines = note_lines(notes) if notes else [say("no_notes", settings.app_lang)]
    return print_result(options, [asdict(note) for note in notes], lines)


async def graph(options: Namespace, settings: Settings) -> int:
    """Print the drawing of the graph, as mermaid."""
    async with open_assistant(settings, remote=False) as assistant:
        sys.stdout.write(assistant.drawing().rstrip("\n") + "\n")
    return 0


async def check(options: Namespace, settings: Settings) -> int:
    """Print everything that is discovered, and what is wrong with it."""
    result = report(settings)
    if not result["faults"]:
        try:
            absent: list[ConfigError] = []
            async with with_remote_tools(settings, discover()[0], absent.append) as speakers:
                result = report(settings, speakers, complete=not absent)
            result["faults"] += map(str, absent)
        except ConfigError as wrong:
            result["faults"].append(str(wrong))
    print_result(options, result, report_lines(result, settings.app_lang))
    return USAGE if result["faults"] else 0


async def _state(assistant: Assistant, thread: str, lang: str) -> dict[str, Any]:
    facts = await assistant.state(thread)
    if facts is None:
        raise UsageError(say("no_thread", lang, thread=repr(thread)))
    return facts
