"""`ask`, `resume` and `chat`: turns on the command line, for a person at a terminal or a script at a pipe."""

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.text import Text

from agents.errors import UsageError
from agents.language.text.clean import clean
from agents.toolkit.commands import readable
from app.assistant import Assistant
from app.assistant.clocks import SilenceClock
from app.assistant.closing import TERMINAL
from app.cli.invocation import DEFAULT_THREAD, AsJson, Lang, Model, Thread, Trace, User, results_alone
from app.composition import open_assistant
from app.composition.services import make_file_reader
from app.doors.slash_commands.talk import file_at
from app.doors.terminal.door import TerminalDoor, with_files
from app.doors.terminal.prompt_line import Typed
from app.doors.terminal.repl import Repl
from app.doors.terminal.screens import Chunks, JsonLines, LiveMarkdown, PlainText
from app.doors.terminal.trace_tree import TraceTree
from app.doors.terminal.tty import incoming_lines
from app.doors.visit import FAILED, INTERRUPTED, WAITING, Screen, Visit
from app.listing import answers
from app.logs import HeldLog, log_on_stderr
from app.settings import Settings, read_settings
from app.texts import say

RULES = "local:rules"
TRACE_WIDTH = 200
"""Columns of a trace that goes to a file."""

AsChunks = Annotated[
    bool, typer.Option("--chunks", help="Print the turn as chunks of a chat completion, one JSON object a line.")
]


@dataclass(frozen=True, kw_only=True)
class Talk:
    """Whose conversation it is, who answers in which language, and how it is shown."""

    thread: str
    user: str | None
    lang: str | None
    model: str | None
    is_traced: bool
    as_json: bool
    as_chunks: bool

    @property
    def is_for_scripts(self) -> bool:
        """Whether stdout holds JSON alone."""
        return self.as_json or self.as_chunks


async def ask(
    text: Annotated[str, typer.Argument(help="What to say; - reads standard input.")] = "",
    *,
    file: Annotated[list[str], typer.Option(help="A picture, recording or document to go with it.")] = [],  # noqa: B006
    message_id: Annotated[str | None, typer.Option(help="The same id again does nothing twice.")] = None,
    thread: Thread = DEFAULT_THREAD,
    user: User = None,
    lang: Lang = None,
    model: Model = None,
    trace: Trace = False,
    json: AsJson = False,
    chunks: AsChunks = False,
) -> int:
    """Play one turn."""
    settings = read_settings()
    shown_lang = lang or settings.app_lang
    talk = Talk(thread=thread, user=user, lang=lang, model=model, is_traced=trace, as_json=json, as_chunks=chunks)
    message = await _message(text)
    paths = [_path(name, shown_lang) for name in file]
    if not message.strip() and not paths:
        raise UsageError(say("no_text", shown_lang))
    async with _open_visit(talk, settings) as visit:
        turn = visit.turn(message, **({"id": message_id} if message_id else {}))
        reading = await with_files(make_file_reader(settings, visit.assistant), turn, paths, shown_lang)
        for remark in reading.remarks:
            Console(stderr=True, highlight=False).print(Text(clean(remark), "dim"), soft_wrap=True)
        return await visit.play(reading.turn) if reading.turn else FAILED


async def resume(
    thread: Thread,
    choose: Annotated[str, typer.Option(metavar="X", help="A number, an id, a label, or a form's values.")],
    *,
    user: User = None,
    lang: Lang = None,
    model: Model = None,
    trace: Trace = False,
    json: AsJson = False,
    chunks: AsChunks = False,
) -> int:
    """Answer what a tool has asked."""
    settings = read_settings()
    talk = Talk(thread=thread, user=user, lang=lang, model=model, is_traced=trace, as_json=json, as_chunks=chunks)
    async with _open_visit(talk, settings) as visit:
        return await answer(visit, readable(choose), lang or settings.app_lang)


async def answer(visit: Visit, choice: str, lang: str) -> int:
    """Answer the question of a thread, for the one who was asked if the visit names nobody; return the exit code.

    Raises:
        UsageError: nothing was asked, or the choice does not answer it.
    """
    # The process that put the question may have been killed before it was stored.
    for turn in await visit.assistant.unanswered(visit.thread, TERMINAL):
        if (code := await visit.play(turn)) not in (0, WAITING):
            return code
    people = await visit.assistant.asked(visit.thread)
    if visit.user is None and len(people) == 1:
        visit.user = people[0]
    if not (await visit.state()).get("pending"):
        raise UsageError(say("nothing_asked", lang, thread=repr(visit.thread)))
    code_of_answer = await visit.answer(choice)
    if code_of_answer is None:
        raise UsageError(say("no_answer", lang, choice=repr(choice), known=answers(visit.question)))
    return code_of_answer


async def chat(
    *,
    thread: Thread = DEFAULT_THREAD,
    user: User = None,
    lang: Lang = None,
    model: Model = None,
    trace: Trace = False,
    json: AsJson = False,
    chunks: AsChunks = False,
) -> int:
    """Talk; from a pipe, one message a line."""
    settings = read_settings()
    talk = Talk(thread=thread, user=user, lang=lang, model=model, is_traced=trace, as_json=json, as_chunks=chunks)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not talk.is_for_scripts
    with _streams(talk) as results, _log(talk, settings, held=at_terminal) as log:
        async with open_assistant(settings, models=settings.models(model)) as assistant:
            state = await assistant.state(thread)
            shown_lang = lang or (state or {}).get("lang") or settings.app_lang
            console = Console(stderr=not at_terminal, highlight=False)
            for remark in _welcome(talk, settings, shown_lang, greets=not state, at_terminal=at_terminal):
                console.print(Text(clean(remark), "dim"), soft_wrap=not at_terminal)
            if not at_terminal:
                return await _lines(_visit(assistant, talk, _screen(talk, results, shown_lang)), is_new=not state)
            screen = LiveMarkdown(console, shown_lang)
            visit = _visit(assistant, talk, screen, log)
            visit.reader = make_file_reader(settings, assistant)
            repl = Repl(visit, screen, console=console, history=Typed(assistant.typed, lambda: visit.thread))
            async with (
                assistant.ringing(repl.ring, user=visit.owner),
                SilenceClock(assistant, repl.nudge, lambda thread: thread == visit.thread) as clock,
            ):
                repl.noted = clock.heard
                return await repl.run()


@asynccontextmanager
async def _open_visit(talk: Talk, settings: Settings) -> AsyncIterator[Visit]:
    """Open the assistant for a command that plays no more than it was told."""
    with _streams(talk) as results, _log(talk, settings):
        async with open_assistant(settings, models=settings.models(talk.model)) as assistant:
            yield _visit(assistant, talk, _screen(talk, results, talk.lang or settings.app_lang))


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


def _visit(assistant: Assistant, talk: Talk, *screens: Screen) -> Visit:
    tracer = TraceTree(Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else TRACE_WIDTH))
    door = TerminalDoor(assistant, screens, tracer, is_traced=talk.is_traced)
    return Visit(assistant, door, talk.thread, talk.user, talk.lang)


def _screen(talk: Talk, results: TextIO, lang: str) -> Screen:
    if talk.as_chunks:
        return Chunks(results)
    return JsonLines(results) if talk.as_json else PlainText(results, sys.stderr, lang)


def _welcome(talk: Talk, settings: Settings, lang: str, *, greets: bool, at_terminal: bool) -> list[str]:
    model = talk.model or settings.llm_model
    remarks = [say("welcome", lang, thread=talk.thread, model=model)]
    # In a new thread the model says itself what it is.
    if model == RULES and not greets:
        remarks.append(say("rules_notice", lang))
    return [*remarks, say("keys", lang), ""] if at_terminal else remarks


async def _message(argument: str) -> str:
    if argument == "-":
        return "\n".join([line async for line in incoming_lines(sys.stdin)])
    return readable(argument)


def _path(name: str, lang: str) -> Path:
    if (path := file_at(name)) is None:
        raise UsageError(say("no_file", lang, name=name))
    return path


def _streams(talk: Talk) -> AbstractContextManager[TextIO]:
    return results_alone() if talk.is_for_scripts else nullcontext(sys.stdout)


def _log(talk: Talk, settings: Settings, *, held: bool = False) -> AbstractContextManager[HeldLog]:
    return log_on_stderr(detailed=talk.is_traced, content=settings.log_content, held=held)
