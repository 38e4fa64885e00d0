"""`ask`, `resume` and `chat`: turns on the command line, for a person at a terminal or a script at a pipe."""

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
from app.assistant.clocks import SilenceClock
from app.assistant.closing import TERMINAL
from app.cli.invocation import DEFAULT_THREAD, AsJson, Lang, Model, Thread, Trace, User, results_alone
from app.composition import make_file_reader, open_assistant
from app.composition.rankers import prepared
from app.doors.slash_commands.talk import file_at
from app.doors.terminal.door import TerminalDoor, with_files
from app.doors.terminal.repl import Repl, Typed
from app.doors.terminal.screens import Chunks, JsonLines, LiveMarkdown, PlainText
from app.doors.terminal.trace_tree import TraceTree
from app.doors.terminal.tty import incoming_lines
from app.doors.visit import Screen, Visit
from app.presentation.listing import answers
from app.presentation.texts import say
from app.process.exit_codes import FAILED, INTERRUPTED, WAITING
from app.process.logs import HeldLog, log_on_stderr
from app.settings import Settings, read_settings

RULES = "local:rules"
TRACE_WIDTH = 200
"""Columns of a trace that goes to a file."""

AsChunks = Annotated[
    bool, typer.Option("--chunks", help="Print the turn as chunks of a chat completion, one JSON object a line.")
]


@dataclass(frozen=True, kw_only=True)
class TalkOptions:
    """The options of every command that talks: whose conversation it is, who answers, and how it is shown."""

    thread: Thread = DEFAULT_THREAD
    user: User = None
    lang: Lang = None
    model: Model = None
    is_traced: Trace = False
    as_json: AsJson = False
    as_chunks: AsChunks = False

    @property
    def is_for_scripts(self) -> bool:
        """Whether stdout holds JSON alone."""
        return self.as_json or self.as_chunks


Command = Callable[..., Awaitable[int]]


def _talking(command: Command) -> Command:
    """Return a command that has the options of a `Talk` on the command line, and passes the talk on."""
    own, options = signature(command), signature(TalkOptions).parameters

    @wraps(command)
    async def run(**given: Any) -> int:
        talk = TalkOptions(**{name: given.pop(name) for name in options if name in given})
        return await command(talk, **given)

    parameters = [*own.parameters.values()][1:]
    # Typer reads the options from the signature.
    run.__signature__ = own.replace(parameters=[*parameters, *options.values()])  # type: ignore[attr-defined]
    return run


@_talking
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
    async with _opened(talk, settings) as (assistant, results, _):
        visit = _visit(assistant, talk, _screen(talk, results, lang))
        turn = visit.turn(message, **({"id": message_id} if message_id else {}))
        reading = await with_files(make_file_reader(settings, assistant), turn, paths, lang)
        for remark in reading.remarks:
            Console(stderr=True, highlight=False).print(Text(clean(remark), "dim"), soft_wrap=True)
        return await visit.play(reading.turn) if reading.turn else FAILED


@_talking
async def resume(
    talk: TalkOptions,
    *,
    choose: Annotated[str, typer.Option(metavar="X", help="A number, an id, a label, or a form's values.")],
    question: Annotated[str, typer.Option(metavar="ID", help="Which question, as it was shown with it.")] = "",
) -> int:
    """Answer what a tool has asked."""
    settings = read_settings()
    lang = talk.lang or settings.app_lang
    async with _opened(talk, settings) as (assistant, results, _):
        visit = _visit(assistant, talk, _screen(talk, results, lang))
        seen, code, played = question or await _open_question(visit), 0, ""
        # The process that put the question may have been killed before its turn was stored.
        for turn in await assistant.unanswered(talk.thread, TERMINAL):
            played = turn.id
            if (code := await visit.play(turn)) not in (0, WAITING):
                return code
        asked, choice = await _open_question(visit), readable(choose)
        if (repeated := await _repeated(visit, choice, question)) is not None:
            return code if repeated.id == played else await visit.play(repeated)
        if not asked:
            raise UsageError(say("nothing_asked", lang, thread=repr(talk.thread)))
        if question and asked != question:
            raise UsageError(say("other_question", lang, question=repr(question), open=asked))
        if asked != seen:
            # Nobody has seen it before: it is shown now.
            return code
        code_of_answer = await visit.answer(choice)
        if code_of_answer is None:
            raise UsageError(say("no_answer", lang, choice=repr(choose), known=answers(visit.question)))
        return code_of_answer


async def _open_question(visit: Visit) -> str:
    """Return the id of the open question, or nothing; a visit that names nobody is that of the one who was asked."""
    people = await visit.assistant.asked(visit.thread)
    if visit.user is None and len(people) == 1:
        visit.user = people[0]
    await visit.state()
    return visit.question.id if visit.question else ""


async def _repeated(visit: Visit, choice: str, question: str) -> Turn | None:
    """Return the last message if it is this very answer: a command that is run again does not answer what came next."""
    last = await visit.assistant.last_message(visit.thread, visit.owner)
    if last is None or last.source != CHOICE or last.text != choice:
        return None
    answered, still_open = last.message_id.rpartition("#")[2], visit.question
    if (question and answered != question) or (still_open and still_open.id == answered):
        return None
    return visit.turn(choice, source=CHOICE, id=last.message_id)


@_talking
async def chat(talk: TalkOptions) -> int:
    """Talk; from a pipe, one message a line."""
    settings = read_settings()
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not talk.is_for_scripts
    async with _opened(talk, settings, holds_log=at_terminal) as (assistant, results, log):
        state = await assistant.state(talk.thread)
        lang = talk.lang or (state or {}).get("lang") or settings.app_lang
        console = Console(stderr=not at_terminal, highlight=False)
        for remark in _welcome(talk, settings, lang, greets=not state, at_terminal=at_terminal):
            console.print(Text(clean(remark), "dim"), soft_wrap=not at_terminal)
        if not at_terminal:
            return await _lines(_visit(assistant, talk, _screen(talk, results, lang)), is_new=not state)
        screen = LiveMarkdown(console, lang)
        visit = _visit(assistant, talk, screen, log)
        visit.reader = make_file_reader(settings, assistant)
        repl = Repl(visit, screen, console=console, history=Typed(assistant.typed, lambda: visit.thread))
        async with (
            assistant.ringing(repl.ring, user=visit.owner),
            prepared(assistant.speakers, direct=settings.direct_switch),
            SilenceClock(assistant, repl.nudge, lambda thread: thread == visit.thread) as clock,
        ):
            repl.noted = clock.heard
            return await repl.run()


@asynccontextmanager
async def _opened(
    talk: TalkOptions, settings: Settings, *, holds_log: bool = False
) -> AsyncIterator[tuple[Assistant, TextIO, HeldLog]]:
    """Yield the assistant, the stream for results, and the log, which waits for the end of a turn if it is held."""
    streams = results_alone() if talk.is_for_scripts else nullcontext(sys.stdout)
    log_to = log_on_stderr(detailed=talk.is_traced, content=settings.log_content, held=holds_log)
    with streams as results, log_to as log:
        models = settings.models(talk.model) if talk.model else None
        async with open_assistant(settings, models=models) as assistant:
            yield assistant, results, log


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


def _visit(assistant: Assistant, talk: TalkOptions, *screens: Screen) -> Visit:
    tracer = TraceTree(Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else TRACE_WIDTH))
    door = TerminalDoor(assistant, screens, tracer, is_traced=talk.is_traced)
    return Visit(assistant, door, talk.thread, talk.user, talk.lang)


def _screen(talk: TalkOptions, results: TextIO, lang: str) -> Screen:
    if talk.as_chunks:
        return Chunks(results)
    return JsonLines(results) if talk.as_json else PlainText(results, sys.stderr, lang)


def _welcome(talk: TalkOptions, settings: Settings, lang: str, *, greets: bool, at_terminal: bool) -> list[str]:
    model = talk.model or settings.llm_model
    remarks = [say("welcome", lang, thread=talk.thread, model=model)]
    # In a new thread the model says itself what it is.
    if model == RULES and not greets:
        remarks.append(say("rules_notice", lang))
    return [*remarks, say("keys", lang), ""] if at_terminal else remarks


def _path(name: str, lang: str) -> Path:
    if (path := file_at(name)) is None:
        raise UsageError(say("no_file", lang, name=name))
    return path
