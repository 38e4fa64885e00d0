"""The command line: every command by its name, those of the dialogs among them, and the exit codes."""

import asyncio
import inspect
import os
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from agents.errors import BrokenState, ContractError, DatabaseError, UnusableDatabase
from agents.language.text.clean import clean, safe_json
from agents.plugin import Plugin
from agents.toolkit.commands import CommandResult
from app.assistant.assistant import STORAGE
from app.cli import demo, installation, migration, setup, starter, talk, threads, tools
from app.cli.document_index import application as document_index
from app.cli.invocation import Invocation, options_of, results_alone
from app.composition import plugins_found
from app.doors.visit import FAILED, FAULTS, INTERRUPTED, TROUBLE, USAGE
from app.process.tasks import cancelled_by
from app.settings import read_settings
from prompts import PromptError

PROGRAM = "python -m app"
TERMINATED = 143

COMMANDS: Sequence[Callable[..., Awaitable[CommandResult | int | None]]] = (
    *(talk.chat, talk.ask, talk.resume),
    *(threads.threads, threads.state, threads.history, threads.export, threads.back, threads.forget, threads.import_),
    threads.system_messages,
    *(demo.demo, setup.setup, installation.notes),
    *(installation.graph, installation.calibrate, installation.check),
    *(starter.new, migration.migrate, migration.compact),
)

Host = Annotated[str, typer.Option(help="Where it listens; only this machine unless API_KEYS are set.")]
Port = Annotated[int, typer.Option(min=0, max=65535)]


async def serve(*, host: Host = "127.0.0.1", port: Port = 8000) -> int:
    """Answer over HTTP, until stopped."""
    return int(await import_module("app.doors.http.service").serve(read_settings(), host, port))


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; faults of the caller are one line on stderr."""
    _open_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except typer.TyperException as fault:
        return _tell_fault(fault.format_message(), USAGE)
    except UnusableDatabase as fault:
        return _tell_fault(fault, TROUBLE[STORAGE])
    except FAULTS as fault:
        return _tell_fault(fault, USAGE)
    except BrokenState as fault:
        return _tell_fault(f"{fault}; say something in it, or forget it", TROUBLE[STORAGE])
    except (DatabaseError, sqlite3.Error) as fault:
        return _tell_fault(f"{fault}; the database cannot be used", TROUBLE[STORAGE])
    except KeyboardInterrupt:
        return INTERRUPTED
    except EOFError:
        return _tell_fault("the input ended before everything was answered", FAILED)
    except OSError as fault:
        # Nobody reads any more, or the disk is full; what is left in the buffer must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED if isinstance(fault, BrokenPipeError) else _tell_fault(fault or type(fault).__name__, FAILED)


def _open_streams() -> None:
    """Open the streams that the caller has closed; the next file that is opened would take their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream := getattr(sys, name), TextIOWrapper) and mode == "w":
            # What the terminal's encoding cannot show is shown as "?", and no command fails over it.
            stream.reconfigure(errors="replace")


def application() -> TyperGroup:
    """Return all commands; a broken dialog's own ones are left out, so that `check` can tell what is wrong."""
    every = typer.Typer(help="One assistant, many dialogs.", add_completion=False, rich_markup_mode=None)
    for command in (*COMMANDS, serve):
        every.command(command.__name__.strip("_").replace("_", "-"))(command)
    plug_ins = _of_plugins()
    brought = [plugin.command_line for plugin in plug_ins.values() if plugin.command_line]
    for part in (tools.application, document_index, *brought):
        every.add_typer(part)
    group = get_command(every)
    assert isinstance(group, TyperGroup)
    group.commands["setup"].params += setup.options(plug_ins)
    _finish(group, options_of(_prepared))
    return group


def _of_plugins() -> Mapping[str, Plugin]:
    try:
        return plugins_found()
    except (ContractError, PromptError):
        # Every command says what is wrong when it comes to the dialogs itself, and `check` lists it.
        return {}


def _run(arguments: Sequence[str]) -> int:
    invocation = Invocation()
    invocation.command = next(iter(arguments), "")
    outcome = application().main([*arguments], PROGRAM, standalone_mode=False, obj=invocation)
    if asyncio.iscoroutine(outcome):
        with results_alone() if invocation.as_json else nullcontext():
            outcome = asyncio.run(_until_terminated(outcome))
    if isinstance(outcome, CommandResult):
        text = safe_json(outcome.object) if invocation.as_json else clean("\n".join(outcome.lines))
        sys.stdout.write(f"{text}\n" if text else "")
        return outcome.exit_code
    return outcome or 0


async def _until_terminated(command: Coroutine[object, object, object]) -> object:
    """Run the command; SIGTERM cancels it, so that a running answer is stopped and stored first."""
    with cancelled_by(signal.SIGTERM):
        return await command
    return TERMINATED


def _note_json(context: typer.Context, value: bool) -> None:
    context.obj.as_json = context.obj.as_json or value


def _prepared(
    as_json: Annotated[
        bool,
        typer.Option("--json", callback=_note_json, expose_value=False, help="Print JSON and nothing else on stdout."),
    ] = False,
) -> None:
    """Have the option that every command gets whose result can be printed as JSON."""


def _finish(command: object, options: Sequence[Any]) -> None:
    """Show the first line of a command's docstring as its help; let it take `--json` if it returns a result."""
    assert isinstance(command, TyperGroup | TyperCommand)
    command.help = (command.help or "").partition("\n")[0]
    returned = inspect.signature(command.callback).return_annotation if command.callback else None
    if CommandResult.__name__ in str(returned):
        command.params += options
    for part in command.commands.values() if isinstance(command, TyperGroup) else ():
        _finish(part, options)


def _tell_fault(fault: object, code: int) -> int:
    """Tell what is wrong in one line, whatever is in it, and return the exit code."""
    line = " ".join(str(fault).split())
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)
    sys.stderr.write(f"{PROGRAM}: {shown}\n")
    return code
