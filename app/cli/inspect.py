"""What is stored and what is discovered, for its operator: commands that do one thing and print it."""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from agents.errors import ConfigError, UsageError
from app.assistant import Assistant
from app.assistant.run import config_of
from app.cli.stdout import stdout
from app.composition import discover, open_assistant, report, system_prompt
from app.composition.remote_tools import with_remote_tools
from app.listing import history_lines, note_lines, report_lines, state_lines, thread_lines
from app.sentences import say
from app.settings import Settings

USAGE = 2


async def threads(options: Namespace, settings: Settings) -> int:
    """Print the threads there are."""
    async with open_assistant(settings, remote=False) as assistant:
        found = await assistant.threads()
    lines = thread_lines(found) if found else [say("no_threads", settings.app_lang)]
    return _print(options, [asdict(info) for info in found], lines)


async def state(options: Namespace, settings: Settings) -> int:
    """Print who holds a thread's conversation, what it remembers, and the present speaker's system prompt."""
    async with open_assistant(settings, remote=False) as assistant:
        found = await _known(assistant, options.thread, settings.app_lang)
    prompt = system_prompt(found["dialog"], found.get("lang") or settings.app_lang)
    whole = {**found, "config": config_of(options.thread), "prompt": prompt}
    return _print(options, whole, [*state_lines(found), "", prompt])


async def history(options: Namespace, settings: Settings) -> int:
    """Print what was said in a thread."""
    async with open_assistant(settings, remote=False) as assistant:
        await _known(assistant, options.thread, settings.app_lang)
        lines = await assistant.history(options.thread)
    return _print(options, [asdict(line) for line in lines], history_lines(lines, settings.app_lang))


async def forget(options: Namespace, settings: Settings) -> int:
    """Remove every trace of a thread."""
    async with open_assistant(settings, remote=False) as assistant:
        if not await assistant.forget(options.thread):
            raise UsageError(say("no_thread", settings.app_lang, thread=repr(options.thread)))
    answer = say("forgotten", settings.app_lang, thread=options.thread)
    return _print(options, {"thread": options.thread, "forgotten": True}, [answer])


async def notes(options: Namespace, settings: Settings) -> int:
    """Print what was passed on to a person."""
    async with open_assistant(settings, remote=False) as assistant:
        found = await assistant.memory.notes.all()
    lines = note_lines(found) if found else [say("no_notes", settings.app_lang)]
    return _print(options, [asdict(note) for note in found], lines)


async def graph(options: Namespace, settings: Settings) -> int:
    """Print the drawing of the graph, as mermaid."""
    async with open_assistant(settings, remote=False) as assistant:
        sys.stdout.write(assistant.drawing().rstrip("\n") + "\n")
    return 0


async def check(options: Namespace, settings: Settings) -> int:
    """Print everything that was discovered, and what is wrong with it."""
    found = report(settings)
    if not found["faults"]:
        try:
            absent: list[ConfigError] = []
            async with with_remote_tools(settings, discover()[0], absent.append) as speakers:
                found = report(settings, speakers, whole=not absent)
            found["faults"] += map(str, absent)
        except ConfigError as wrong:
            found["faults"].append(str(wrong))
    _print(options, found, report_lines(found, settings.app_lang))
    return USAGE if found["faults"] else 0


async def _known(assistant: Assistant, thread: str, lang: str) -> dict[str, Any]:
    found = await assistant.state(thread)
    if found is None:
        raise UsageError(say("no_thread", lang, thread=repr(thread)))
    return found


def _print(options: Namespace, plain: Any, lines: Sequence[str]) -> int:
    text = json.dumps(plain, ensure_ascii=False, default=str) if options.json else "\n".join(lines)
    stdout().write(text + "\n")
    return 0
