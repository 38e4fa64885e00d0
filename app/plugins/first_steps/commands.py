"""The commands `setup`, `demo`, `new` and `tools try`. The first three load their modules when they run."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from inspect import Parameter, signature
from typing import Annotated, Any, Literal

import typer

from agents.command_line import CommandResult
from app.cli.invocation import Lang, Trace
from app.composition import plugins_found
from app.plugins.first_steps import trial_command

command_line = typer.Typer()
command_line.add_typer(trial_command.application)
BaseUrl = Annotated[str, typer.Option(help="An OpenAI-compatible endpoint (default: look for servers here).")]
ModelName = Annotated[str, typer.Option(help="The model's name there, or <provider>:<name> as LLM_MODEL takes it.")]
Yes = Annotated[bool, typer.Option("--yes", help="Ask nothing; the key is taken from OPENAI_API_KEY.")]
Fast = Annotated[bool, typer.Option("--fast", help="Do not wait for a reader.")]
Kind = Literal["dialog", "observer", "tool", "language"]
KindGiven = Annotated[Kind, typer.Argument(help="What to begin.")]
Name = Annotated[str, typer.Argument(help="Its name; of a language its code, such as de.")]
OfDialog = Annotated[
    str | None,
    typer.Option("--dialog", help="The dialog that gets the tool, or that the observer's test watches."),
]  # fmt: skip


def with_steps(command: Callable[..., Awaitable[int]]) -> Callable[..., Awaitable[int]]:
    """Return the command with an option for each plug-in that can be set up alone, under the plug-in's name."""
    own = signature(command)
    steps = {name: plugin.setup[name] for name, plugin in plugins_found().items() if name in plugin.setup}
    options = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[bool, typer.Option(f"--{name}", help=step.__doc__)],
        )
        for name, step in steps.items()
    ]
    # Typer reads the options from the signature.
    command.__signature__ = own.replace(parameters=[*own.parameters.values()][:-1] + options)  # type: ignore[attr-defined]
    return command


@command_line.command()
@with_steps
async def setup(*, base_url: BaseUrl = "", model: ModelName = "", yes: Yes = False, **alone: bool) -> int:
    """Connect a language model and write .env."""
    step = next((name for name, is_chosen in alone.items() if is_chosen), "")
    code: int = await _module("setup").set_up(model, base_url, step, asks_nothing=yes)
    return code


@command_line.command()
async def demo(*, lang: Lang = None, trace: Trace = False, fast: Fast = False) -> int:
    """Watch a conversation that shows what it can do."""
    code: int = await _module("demo").demo(lang, is_traced=trace, fast=fast)
    return code


@command_line.command()
async def new(kind: KindGiven, name: Name, *, dialog: OfDialog = None) -> CommandResult:
    """Write the files of a new dialog, observer, tool or language."""
    written: CommandResult = await _module("starter").new(kind, name, dialog)
    return written


def _module(name: str) -> Any:
    return import_module(f"app.plugins.first_steps.{name}")
