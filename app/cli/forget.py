"""`forget`: delete a thread, one person's part of it, or all that is kept of a person; asked at a terminal."""

import asyncio
import sys
from argparse import Namespace

from agents.errors import UsageError
from app.assistant import Assistant
from app.cli.stdout import print_result
from app.composition import open_assistant
from app.sentences import say
from app.settings import Settings

LEFT = 1
"""The exit code when the question was not answered with yes."""


async def forget(options: Namespace, settings: Settings) -> int:
    """Say what is deleted and what is kept, ask, delete; return the exit code.

    Raises:
        UsageError: nothing was named, or there is nothing of it.
    """
    lang, thread, user = settings.app_lang, options.thread, options.user
    if thread is None and user is None:
        raise UsageError(say("forget.name_one", lang))
    async with open_assistant(settings, remote=False) as assistant:
        scope = await _scope(assistant, thread, user)
        about = {"thread": thread, "user": user}
        if scope is None:
            raise UsageError(say("forget.nothing", lang, user=user))
        if sys.stdin.isatty() and not options.yes and not options.json:
            question = f"{say(f'forget.{scope}', lang, **about)} {say('forget.sure', lang)} "
            typed = await asyncio.to_thread(input, question)
            if typed.strip().lower() not in ("y", "yes", say("setup.yes", lang)):
                print_result(options, {}, [say("forget.left", lang)])
                return LEFT
        await _delete(assistant, scope, options, lang)
    result = {**{name: value for name, value in about.items() if value}, "forgotten": True}
    return print_result(options, result, [say(f"forget.done_{scope}", lang, **about)])


async def _scope(assistant: Assistant, thread: str | None, user: str | None) -> str | None:
    """Return what is to be deleted: "own" or "shared" thread, "part" of one, "person"; None if there is none of it."""
    writers = await assistant.forgetting.writers(thread) if thread else set()
    if user is None:
        return "shared" if len(writers) > 1 else "own"
    if thread is None or writers == {user}:
        return "person" if thread is None else "own"
    return "part" if user in writers else None


async def _delete(assistant: Assistant, scope: str, options: Namespace, lang: str) -> None:
    if scope == "person":
        await assistant.forgetting.person(options.user)
    elif scope == "part":
        await assistant.forgetting.part(options.thread, options.user)
    elif not await assistant.forget(options.thread):
        raise UsageError(say("no_thread", lang, thread=repr(options.thread)))
