"""`forget`: delete a thread, one person's part of it, or all that is kept of a person; asked at a terminal."""

import asyncio
import sys
from typing import Annotated

import typer

from agents.errors import UsageError
from agents.toolkit.commands import CommandResult, name_given
from app.assistant import Assistant
from app.cli.options import OptionalThread
from app.composition import open_assistant
from app.sentences import say
from app.settings import read_settings

NOT_AGREED = 1
"""The exit code when the question was not answered with yes."""

Whose = Annotated[
    str | None,
    typer.Option(callback=name_given, help="Whose part of it; without a thread all that is kept of this user."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; without a terminal nobody is asked.")]


async def forget(
    context: typer.Context, *, thread: OptionalThread = None, user: Whose = None, yes: Yes = False
) -> CommandResult:
    """Delete a thread, a person's part of it, or all about a person."""
    lang = (settings := read_settings()).app_lang
    if thread is None and user is None:
        raise UsageError(say("forget.name_one", lang))
    async with open_assistant(settings, remote=False) as assistant:
        scope = await _scope(assistant, thread, user)
        about = {"thread": thread, "user": user}
        if scope is None:
            raise UsageError(say("forget.nothing", lang, user=user))
        if sys.stdin.isatty() and not yes and not context.obj.as_json:
            question = f"{say(f'forget.{scope}', lang, **about)} {say('forget.sure', lang)} "
            if not await _agreed(question, lang):
                return CommandResult({}, [say("forget.left", lang)], NOT_AGREED)
        await _delete(assistant, scope, thread or "", user or "", lang)
    result = {**{name: value for name, value in about.items() if value}, "forgotten": True}
    return CommandResult(result, [say(f"forget.done_{scope}", lang, **about)])


async def _agreed(question: str, lang: str) -> bool:
    try:
        typed = await asyncio.to_thread(input, question)
    except EOFError:
        return False
    return typed.strip().lower() in ("y", "yes", say("setup.yes", lang))


async def _scope(assistant: Assistant, thread: str | None, user: str | None) -> str | None:
    """Return what is to be deleted: "own" or "shared" thread, "part" of one, "person"; None if nothing is there."""
    writers = await assistant.forgetting.writers(thread) if thread else set()
    if user is None:
        return "shared" if len(writers) > 1 else "own"
    if thread is None or writers == {user}:
        return "person" if thread is None else "own"
    return "part" if user in writers else None


async def _delete(assistant: Assistant, scope: str, thread: str, user: str, lang: str) -> None:
    if scope == "person":
        await assistant.forgetting.person(user)
    elif scope == "part":
        await assistant.forgetting.part(thread, user)
    elif not await assistant.forget(thread):
        raise UsageError(say("no_thread", lang, thread=repr(thread)))
