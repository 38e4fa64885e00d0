"""One use of the command line: the common options of commands, and their standard output."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Annotated, Any, TextIO

import typer
from typer.main import get_command

from agents.command_line import name_given
from agents.language.text.clean import clean
from prompts import FALLBACK, languages

DEFAULT_THREAD = "me"


class Invocation:
    """The `obj` of a context of the command line."""

    as_json = False
    """Whether stdout gets only the result, as JSON."""

    @property
    def lang(self) -> str:
        """The language of refusals; commands of the core word theirs themselves."""
        return FALLBACK


def language_given(value: str | None) -> str | None:
    """Return the code of a language. Raises BadParameter: the application has no texts in that language."""
    if value is not None and value not in languages():
        raise typer.BadParameter(f"there is no language {value!r}; there are: {', '.join(languages())}")
    return value


Thread = Annotated[str, typer.Option(callback=name_given, help="Which conversation.")]
OptionalThread = Annotated[str | None, typer.Option(callback=name_given, help="Which conversation.")]
User = Annotated[str | None, typer.Option(callback=name_given, help="Whose conversation (default: the thread's name).")]
Lang = Annotated[str | None, typer.Option(callback=language_given, help="Which language (default: APP_LANG).")]
Model = Annotated[str | None, typer.Option(help="The model to ask (default: LLM_MODEL).")]
Trace = Annotated[bool, typer.Option("--trace", help="Show on stderr what happens in every turn.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")]


def options_of(prepared: Callable[..., None]) -> list[Any]:
    """Return the options of a function, for other commands."""
    command = typer.Typer(add_completion=False)
    command.command()(prepared)
    return [option for option in get_command(command).params if option.name != "help"]


def tell(text: str) -> None:
    """Tell the operator something on stderr."""
    sys.stderr.write(f"{clean(text)}\n")


@contextmanager
def results_alone() -> Iterator[TextIO]:
    """Yield stdout for results; during the block other prints of the whole process go to stderr."""
    results = sys.stdout
    with redirect_stdout(sys.stderr):
        yield results
