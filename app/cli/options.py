"""Options that several commands have, and how their values are read."""

import os
from typing import Annotated

import typer

from prompts import languages

DEFAULT_THREAD = "me"


def readable(text: str) -> str:
    """Return an argument of the command line; bytes that are not UTF-8 could neither be stored nor sent."""
    return os.fsencode(text).decode("utf-8", "replace")


def name_given(value: str | None) -> str | None:
    """Return a name as it can be stored.

    Raises:
        BadParameter: the name is blank.
    """
    if value is not None and not value.strip():
        raise typer.BadParameter("a name is needed")
    return value if value is None else readable(value)


def language_given(value: str | None) -> str | None:
    """Return the code of a language that there are texts for.

    Raises:
        BadParameter: there are none.
    """
    if value is not None and value not in languages():
        raise typer.BadParameter(f"there is no language {value!r}; there are: {', '.join(languages())}")
    return value


Thread = Annotated[str, typer.Option(callback=name_given, help="Which conversation.")]
OptionalThread = Annotated[str | None, typer.Option(callback=name_given, help="Which conversation.")]
User = Annotated[str | None, typer.Option(callback=name_given, help="Whose conversation (default: the thread's name).")]
Device = Annotated[str | None, typer.Option(callback=name_given, help="Only through this door, such as terminal.")]
Name = Annotated[str, typer.Argument(callback=name_given)]
Lang = Annotated[str | None, typer.Option(callback=language_given, help="Which language (default: APP_LANG).")]
Model = Annotated[str | None, typer.Option(help="The model to ask (default: LLM_MODEL).")]
Trace = Annotated[bool, typer.Option("--trace", help="Show on stderr what happens in every turn.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")]
