"""`ask` and `resume`: one turn on the command line; and the common parts of commands that talk."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

from agents.command_line import readable
from agents.errors import UsageError
from agents.language.text.clean import clean
from agents.toolkit.questions import CHOICE
from app.assistant import Assistant, Turn
from app.assistant.outcome_store import TERMINAL
from app.cli.invocation import DEFAULT_THREAD, AsJson, Lang, Model, Thread, Trace, User, results_alone
from app.composition import make_file_reader, open_assistant
from app.doors.slash_commands.talk import file_at
from app.doors.terminal.door import TerminalDoor, with_files
from app.doors.terminal.screens import JsonLines, PlainText
from app.doors.terminal.trace_tree import TraceTree
from app.doors.terminal.tty import incoming_lines
from app.doors.visit import Screen, Visit
from app.presentation.lines import answers
from app.presentation.texts import say
from app.process.exit_codes import FAILED, WAITING
from app.process.logs import HeldLog, log_on_stderr
from app.settings import Settings, read_settings

RULES = "local:rules"
TRACE_WIDTH = 200
"""Columns of a trace that goes to a file."""


@dataclass(frozen=True, kw_only=True)
class TalkOptions:
    """The options of every command that talks: thread and user, the model, and the form of the output."""

    thread: Thread = DEFAULT_THREAD
    user: User = None
    lang: Lang = None
    model: Model = None
    is_traced: Trace = False
    as_json: AsJson = False


Command = Callable[..., Awaitable[int]]


def with_options(command: Command) -> Command:
    """Return a command with the fields of `TalkOptions` as options; it passes them on as one value."""
    own, options = signature(command), signature(TalkOptions).parameters

    @wraps(command)
    async def run(**given: Any) -> int:
        talk = TalkOptions(**{name: given.pop(name) for name in options if name in given})
        return await command(talk, **given)

    parameters = [*own.parameters.values()][1:]
    # Typer reads the options from the signature.
    run.__signature__ = own.replace(parameters=[*parameters, *options.values()])  # type: ignore[attr-defined]
    return run


@with_options
async def ask(
    talk: TalkOptions,
    text: Annotated[str, typer.Argument(help="What to say; - reads standard input.")] = "",
    *,
    file: Annotated[list[str], typer.Option(help="A picture, recording or document to go with it.")] = [],  # noqa: B006
    message_id: Annotated[str | None, typer.Option(help="The same id again does nothing twice.")] = None,
) -> int:
    """Play one turn."""
    settings = read_settings()
    lang = talk.lang or settings.app_lang
    piped = [line async for line in incoming_lines(sys.stdin)] if text == "-" else []
    message = "\n".join(piped) if text == "-" else readable(text)
    paths = [_path(name, lang) for name in file]
    if not message.strip() and not paths:
        raise UsageError(say("no_text", lang))
    async with opened(talk, settings) as (assistant, results, _):
        visit = visit_of(assistant, talk, screen_of(talk, results, lang))
        turn = visit.turn(message, **({"id": message_id} if message_id else {}))
        reading = await with_files(make_file_reader(settings, assistant), turn, paths, lang)
        for remark in reading.remarks:
            Console(stderr=True, highlight=False).print(Text(clean(remark), "dim"), soft_wrap=True)
        return await visit.play(reading.turn) if reading.turn else FAILED


@with_options
async def resume(
    talk: TalkOptions,
    *,
    choose: Annotated[str, typer.Option(metavar="X", help="A number, an id, a label, or a form's values.")],
    question: Annotated[str, typer.Option(metavar="ID", help="Which question, as it was shown with it.")] = "",
) -> int:
    """Answer what a tool has asked."""
    settings = read_settings()
    lang = talk.lang or settings.app_lang
    async with opened(talk, settings) as (assistant, results, _):
        visit = visit_of(assistant, talk, screen_of(talk, results, lang))
        first, code, played = question or await _open_question(visit), 0, ""
        # The process that asked the question may have been killed before its turn was stored.
        for turn in await assistant.unanswered(talk.thread, TERMINAL):
            played = turn.id
            if (code := await visit.play(turn)) not in (0, WAITING):
                return code
        now_open, choice = await _open_question(visit), readable(choose)
        if (repeated := await _repeated(visit, choice, question)) is not None:
            return code if repeated.id == played else await visit.play(repeated)
        if not now_open:
            raise UsageError(say("nothing_asked", lang, thread=repr(talk.thread)))
        if question and now_open != question:
            raise UsageError(say("other_question", lang, question=repr(question), open=now_open))
        if now_open != first:
            # The question is new to the user: it is shown now.
            return code
        code_of_answer = await visit.answer(choice)
        if code_of_answer is None:
            raise UsageError(say("no_answer", lang, choice=repr(choose), known=answers(visit.question)))
        return code_of_answer


async def _open_question(visit: Visit) -> str:
    """Return the id of the open question, or nothing; a visit without a user becomes that of the asked user."""
    people = await visit.assistant.asked(visit.thread)
    if visit.user is None and len(people) == 1:
        visit.user = people[0]
    await visit.state()
    return visit.question.id if visit.question else ""


async def _repeated(visit: Visit, choice: str, question: str) -> Turn | None:
    """Return the last message if it is this very answer: a repeated command must not answer the next question."""
    last = await visit.assistant.last_message(visit.thread, visit.owner)
    if last is None or last.source != CHOICE or last.text != choice:
        return None
    answered, still_open = last.message_id.rpartition("#")[2], visit.question
    if (question and answered != question) or (still_open and still_open.id == answered):
        return None
    return visit.turn(choice, source=CHOICE, id=last.message_id)


@asynccontextmanager
async def opened(
    talk: TalkOptions, settings: Settings, *, holds_log: bool = False
) -> AsyncIterator[tuple[Assistant, TextIO, HeldLog]]:
    """Yield the assistant, the stream for results, and the log; a held log waits for the end of a turn."""
    streams = results_alone() if talk.as_json else nullcontext(sys.stdout)
    log_to = log_on_stderr(detailed=talk.is_traced, content=settings.log_content, held=holds_log)
    with streams as results, log_to as log:
        models = settings.models(talk.model) if talk.model else None
        async with open_assistant(settings, models=models) as assistant:
            yield assistant, results, log


def visit_of(assistant: Assistant, talk: TalkOptions, *screens: Screen) -> Visit:
    """Return the visit of the options, shown on screens."""
    tracer = TraceTree(Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else TRACE_WIDTH))
    door = TerminalDoor(assistant, screens, tracer, is_traced=talk.is_traced)
    return Visit(assistant, door, talk.thread, talk.user, talk.lang)


def screen_of(talk: TalkOptions, results: TextIO, lang: str) -> Screen:
    """Return the screen for a turn without a terminal."""
    return JsonLines(results) if talk.as_json else PlainText(results, sys.stderr, lang)


def _path(name: str, lang: str) -> Path:
    if (path := file_at(name)) is None:
        raise UsageError(say("no_file", lang, name=name))
    return path
