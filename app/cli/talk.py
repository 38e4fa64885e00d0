"""`ask`, `resume` and `chat`: turns on the command line, for a person at a terminal or a script at a pipe."""

import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from agents.errors import UsageError
from agents.language.text.clean import clean
from app.assistant import Assistant
from app.assistant.closing import TERMINAL
from app.assistant.silence_clock import asking_after
from app.cli.stdout import stdout
from app.composition import open_assistant
from app.composition.file_reader import make_file_reader
from app.doors.slash_commands.attached import file_at
from app.doors.terminal.attached_files import with_files
from app.doors.terminal.chunks import Chunks
from app.doors.terminal.door import TerminalDoor
from app.doors.terminal.repl import Repl
from app.doors.terminal.screens import JsonLines, LiveMarkdown, PlainText
from app.doors.terminal.trace_tree import TraceTree
from app.doors.terminal.tty import incoming_lines
from app.doors.terminal.typed_history import Typed
from app.doors.visit import FAILED, INTERRUPTED, WAITING, Screen, Visit
from app.listing import answers
from app.logs import log_on_stderr
from app.sentences import say
from app.settings import Settings

RULES = "local:rules"
CHUNKS = "chunks"
"""What `--json` holds where chunks of a chat completion are asked for."""
WIDE = 200
"""Columns of a trace that goes to a file."""


async def ask(options: Namespace, settings: Settings) -> int:
    """Play one turn and return the exit code.

    Raises:
        UsageError: there is no text, or no such file, or the message id was used for another text.
    """
    text, lang = await _text(options.text), options.lang or settings.app_lang
    paths = [_file(name, lang) for name in options.file]
    if not text.strip() and not paths:
        raise UsageError(say("no_text", lang))
    async with _open_visit(options, settings) as visit:
        turn = visit.turn(text, **({"id": options.message_id} if options.message_id else {}))
        reading = await with_files(make_file_reader(settings, visit.assistant), turn, paths, lang)
        for remark in reading.remarks:
            Console(stderr=True, highlight=False).print(Text(clean(remark), "dim"), soft_wrap=True)
        return await visit.play(reading.turn) if reading.turn else FAILED


def _file(name: str, lang: str) -> Path:
    if (path := file_at(name)) is None:
        raise UsageError(say("no_file", lang, name=name))
    return path


async def resume(options: Namespace, settings: Settings) -> int:
    """Answer what a tool has asked in a thread and return the exit code; without a user for the one who was asked.

    Raises:
        UsageError: nothing was asked, or this is no answer.
    """
    lang = options.lang or settings.app_lang
    async with _open_visit(options, settings) as visit:
        # The process that put the question may have been killed before it was stored.
        for turn in await visit.assistant.unanswered(options.thread, TERMINAL):
            if (code := await visit.play(turn)) not in (0, WAITING):
                return code
        people = await visit.assistant.asked(options.thread)
        if options.user is None and len(people) == 1:
            visit.user = people[0]
        if not (await visit.state()).get("pending"):
            raise UsageError(say("nothing_asked", lang, thread=repr(options.thread)))
        answered = await visit.answer(os.fsencode(options.choose).decode("utf-8", "replace"))
        if answered is None:
            raise UsageError(say("no_answer", lang, choice=repr(options.choose), known=answers(visit.question)))
        return answered


async def chat(options: Namespace, settings: Settings) -> int:
    """Talk until the input ends or the user leaves; return the exit code."""
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not options.json
    with log_on_stderr(detailed=options.trace, content=settings.log_content, held=at_terminal) as log:
        async with open_assistant(settings, model=options.model) as assistant:
            state = await assistant.state(options.thread)
            lang = options.lang or (state or {}).get("lang") or settings.app_lang
            console = Console(stderr=not at_terminal, highlight=False)
            for remark in _welcome(options, settings, lang, greets=not state, at_terminal=at_terminal):
                console.print(Text(clean(remark), "dim"), soft_wrap=not at_terminal)
            if not at_terminal:
                return await _lines(_visit(assistant, options, _screen(options, lang)), is_new=not state)
            screen = LiveMarkdown(console, lang)
            visit = _visit(assistant, options, screen, log)
            visit.reader = make_file_reader(settings, assistant)
            repl = Repl(visit, screen, console=console, history=Typed(assistant.typed, lambda: visit.thread))
            async with (
                assistant.ringing(repl.ring, user=visit.owner),
                asking_after(assistant, repl.nudge, lambda thread: thread == visit.thread) as clock,
            ):
                repl.noted = clock.heard
                return await repl.run()


@asynccontextmanager
async def _open_visit(options: Namespace, settings: Settings) -> AsyncIterator[Visit]:
    """Open the assistant for a command that plays no more than it was told."""
    with log_on_stderr(detailed=options.trace, content=settings.log_content):
        async with open_assistant(settings, model=options.model) as assistant:
            yield _visit(assistant, options, _screen(options, options.lang or settings.app_lang))


async def _lines(visit: Visit, *, is_new: bool) -> int:
    """Take every line as a message; return the code of the last turn that went wrong, else of the last turn."""
    code = await visit.play(visit.turn(None)) if is_new else 0
    trouble = code if code != WAITING else 0
    if code == INTERRUPTED:
        return code
    async for line in incoming_lines(sys.stdin):
        if line.strip():
            code = await visit.play(visit.turn(line.strip()))
            trouble = code if code not in (0, WAITING) else trouble
        if code == INTERRUPTED:
            break
    return trouble or code


def _visit(assistant: Assistant, options: Namespace, *screens: Screen) -> Visit:
    tracer = TraceTree(Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else WIDE))
    door = TerminalDoor(assistant, screens, tracer, is_traced=options.trace)
    return Visit(assistant, door, options.thread, options.user, options.lang)


def _screen(options: Namespace, lang: str) -> Screen:
    if options.json == CHUNKS:
        return Chunks(stdout())
    return JsonLines(stdout()) if options.json else PlainText(sys.stdout, sys.stderr, lang)


def _welcome(options: Namespace, settings: Settings, lang: str, *, greets: bool, at_terminal: bool) -> list[str]:
    model = options.model or settings.llm_model
    remarks = [say("welcome", lang, thread=options.thread, model=model)]
    # In a new thread the model says itself what it is.
    if model == RULES and not greets:
        remarks.append(say("rules_notice", lang))
    return [*remarks, say("keys", lang), ""] if at_terminal else remarks


async def _text(argument: str) -> str:
    if argument == "-":
        return "\n".join([line async for line in incoming_lines(sys.stdin)])
    # Bytes of the command line that are no UTF-8 could not be stored or sent.
    return os.fsencode(argument).decode("utf-8", "replace")
