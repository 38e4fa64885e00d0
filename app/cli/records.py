"""Commands that read the database without the graph: `threads`, `history` and `notes`."""

import shlex
from dataclasses import asdict
from typing import Annotated

import typer

from agents.command_line import CommandResult, name_given
from agents.errors import UsageError
from agents.memory.thread_list import MOST_LISTED
from app.assistant.short_term_memory import contents
from app.cli.invocation import Thread
from app.databases import backend_of
from app.presentation.lines import history_lines, note_lines, thread_lines
from app.presentation.texts import say
from app.settings import read_settings

UserOption = Annotated[
    str | None, typer.Option(callback=name_given, help="Only threads in which this user has written.")
]
Words = Annotated[str, typer.Option(help="In a thread's name, or in what was said last in it.")]
Limit = Annotated[int, typer.Option(min=1, help="How many at most.")]
Before = Annotated[int | None, typer.Option(min=0, metavar="PLACE", help="Only those behind the thread of this place.")]


async def threads(
    *, user: UserOption = None, words: Words = "", limit: Limit = MOST_LISTED, before: Before = None
) -> CommandResult:
    """List the threads, the one last written to first."""
    lang = (settings := read_settings()).app_lang
    async with backend_of(settings.database_url).open(reads=True) as memory:
        page = await memory.threads.page(user, words=words, before=before, most=limit)
    lines = thread_lines(page.rows) if page.rows else []
    if page.next is not None:
        options = {"user": user, "words": words, "before": page.next}
        way = shlex.join(["threads", *(f"--{name}={value}" for name, value in options.items() if value)])
        lines += ["", say("more_threads", lang, way=way)]
    return CommandResult([asdict(info) for info in page.rows], lines or [say("no_threads", lang)])


async def history(thread: Thread) -> CommandResult:
    """Show what was said in a thread."""
    lang = (settings := read_settings()).app_lang
    async with backend_of(settings.database_url).open(reads=True) as memory:
        lines = await memory.transcript.lines(thread)
        if not lines and await memory.saver.aget_tuple({"configurable": {"thread_id": thread}}) is None:
            raise UsageError(say("no_thread", lang, thread=repr(thread)))
    return CommandResult({"thread": thread, "contents": contents(lines)}, history_lines(lines, lang))


async def notes() -> CommandResult:
    """List what was passed on to a person."""
    lang = (settings := read_settings()).app_lang
    async with backend_of(settings.database_url).open(reads=True) as memory:
        notes = await memory.notes.all()
    return CommandResult([asdict(note) for note in notes], note_lines(notes) if notes else [say("no_notes", lang)])
