"""The command line: every command by its name, including those of plug-ins and dialogs."""

import asyncio
import gc
import inspect
import os
import signal
import sqlite3
import sys
import warnings
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from agents.command_line import CommandResult
from agents.discovery import code_of, load
from agents.errors import BrokenState, ContractError, DatabaseError, UnusableDatabase, UsageError
from agents.language.text.clean import clean, safe_json
from app.cli.invocation import Invocation, options_of, results_alone
from app.extensions import module_of
from app.process.exit_codes import FAILED, FAULTS, INTERRUPTED, STORAGE, TERMINATED, TROUBLE, USAGE
from app.process.tasks import cancelled_by

PROGRAM = "python -m app"
MODULES: Mapping[str, Sequence[str]] = {
    "chat": ("chat",),
    "talk": ("ask", "resume"),
    "records": ("threads", "history", "notes"),
    "threads": ("state", "export", "forget", "import"),
    "installation": ("graph", "check"),
    "migration": ("migrate", "compact"),
    "serve": ("serve",),
    "tools": ("tools",),
}
"""The modules of `app/cli/` with their commands or groups: a command imports only its own module."""
OPEN = ("migrate", "tools")
"""The commands that a plug-in may replace or extend; no other command of the core imports plug-ins."""
MODULE_OF = {command: module for module, commands in MODULES.items() for command in commands}


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; faults of the caller are one line on stderr."""
    _open_streams()
    # A parameter may be called `json`: a model of pydantic has its field, and loses a method that nobody calls.
    warnings.filterwarnings("ignore", "Field name .* shadows an attribute", UserWarning)
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
        # The reader is gone, or the disk is full; the rest of the buffer must not cause an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED if isinstance(fault, BrokenPipeError) else _tell_fault(fault or type(fault).__name__, FAILED)


def _open_streams() -> None:
    """Open the streams that the caller has closed; the next file that is opened would take their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream := getattr(sys, name), TextIOWrapper) and mode == "w":
            # A character outside the terminal's encoding is shown as "?", and no command fails over it.
            stream.reconfigure(errors="replace")


def application(name: str = "", rest: Sequence[str] = ()) -> TyperGroup:
    """Return the command of that name alone; for an unknown name all commands, also those of plug-ins.

    `rest` are the arguments behind the name.
    """
    every = typer.Typer(help="One assistant, many dialogs.", add_completion=False, rich_markup_mode=None)
    # Without this a single command would have no name.
    every.callback()(lambda: None)
    for command in [name] if name in MODULE_OF else MODULE_OF:
        module = import_module(f"app.cli.{MODULE_OF[command]}")
        if hasattr(module, "application"):
            every.add_typer(module.application)
        else:
            function = command.replace("-", "_")
            every.command(command)(getattr(module, f"{function}_" if iskeyword(function) else function))
    group = get_command(every)
    assert isinstance(group, TyperGroup)
    if name not in MODULE_OF or (name in OPEN and not _is_of_core(group.commands[name], rest)):
        for plugin_name, plugin in _plugin_commands().brought(name).items():
            if not (part := plugin.command_line):
                continue
            brought = typer.Typer(add_completion=False, rich_markup_mode=None)
            brought.callback()(lambda: None)
            with code_of(module_of(plugin_name)):
                brought.add_typer(load(part).command_line if isinstance(part, str) else part)
                _join(group, get_command(brought), plugin_name)
    _finish(group, options_of(_prepared))
    return group


def _is_of_core(command: object, rest: Sequence[str]) -> bool:
    """Tell whether the core has the command of a group that these arguments name; without a name it has its own."""
    named = next((argument for argument in rest if not argument.startswith("-")), "")
    commands = command.commands if isinstance(command, TyperGroup) else {}
    return named in commands or (bool(commands) and not named and "--help" not in rest)


def _join(group: TyperGroup, brought: object, plugin: str) -> None:
    """Add a plug-in's commands to a group. Raises ContractError: a name is taken, and not by one of the `OPEN` ones."""
    for name, command in brought.commands.items() if isinstance(brought, TyperGroup) else ():
        there = group.commands.get(name)
        if isinstance(there, TyperGroup) and isinstance(command, TyperGroup):
            _join(there, command, plugin)
        elif there and name not in OPEN:
            raise ContractError(f"the command {name!r} of {plugin} is there twice: rename your own")
        else:
            group.commands[name] = command


def _plugin_commands() -> Any:
    return import_module("app.cli.plugin_commands")


def _run(arguments: Sequence[str]) -> int:
    name = next(iter(arguments), "")
    group = application(name, arguments[1:])
    if not gc.isenabled():
        # All imports of the command are loaded, and stay.
        gc.freeze()
        gc.enable()
    invocation: Invocation = Invocation() if name in MODULE_OF else _plugin_commands().PluginInvocation(name)
    try:
        outcome = group.main([*arguments], PROGRAM, standalone_mode=False, obj=invocation)
        if asyncio.iscoroutine(outcome):
            with results_alone() if invocation.as_json else nullcontext():
                outcome = asyncio.run(_until_terminated(outcome))
    except UsageError as fault:
        return _tell_fault(fault.told(invocation.lang), USAGE)
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
    """Declare the option `--json`, which every command with a result gets."""


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
    """Print a fault in one line, whatever its text holds, and return the exit code."""
    line = " ".join(str(fault).split())
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)
    sys.stderr.write(f"{PROGRAM}: {shown}\n")
    return code
