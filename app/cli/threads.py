"""Commands on a thread: `state`, `forget`, `export` and `import`."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError

from agents.command_line import CommandResult, name_given
from agents.conversation.deletion import worded
from agents.errors import Undeleted, UsageError
from agents.language.text.clean import clean, safe_json
from agents.memory.deletions import NOT_ALL
from agents.sources.documents.files import Unreadable
from agents.sources.documents.files import contents as contents_of_file
from app.assistant import Assistant
from app.assistant.run import config_of
from app.assistant.short_term_memory import ExportedThread, contents
from app.assistant.system_messages import SystemMessages
from app.cli.invocation import OptionalThread, Thread, results_alone, tell
from app.composition import check_reach, open_assistant, plugins_found
from app.presentation.lines import conversation_markdown, state_lines
from app.presentation.texts import say
from app.process.exit_codes import FAILED
from app.security.audit import deed, login
from app.settings import Settings, read_settings

LARGEST_EXPORT = 100_000_000
"""The most bytes of an imported file."""


async def state(thread: Thread) -> CommandResult:
    """Show who holds a thread's conversation."""
    settings = read_settings()
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        facts = await _state(assistant, thread, settings.app_lang)
        prompt = assistant.prompt(facts["dialog"], facts.get("lang") or settings.app_lang)
        prompt = "\n\n".join([prompt, *(await SystemMessages.of(assistant.memory.store, thread)).texts])
    result = {**facts, "config": config_of(thread), "prompt": prompt}
    return CommandResult(result, [*state_lines(facts), "", prompt])


async def _state(assistant: Assistant, thread: str, lang: str) -> dict[str, Any]:
    facts = await assistant.state(thread)
    if facts is None:
        raise UsageError(say("no_thread", lang, thread=repr(thread)))
    return facts


UserOption = Annotated[
    str | None,
    typer.Option(callback=name_given, help="Whose part of it; without a thread all that is kept of this user."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; without a terminal nobody is asked.")]


async def forget(
    context: typer.Context, *, thread: OptionalThread = None, user: UserOption = None, yes: Yes = False
) -> CommandResult:
    """Delete a thread, a person's part of it, or all about a person."""
    lang = (settings := read_settings()).app_lang
    if thread is None and user is None:
        raise UsageError(say("forget.name_one", lang))
    async with open_assistant(settings, remote=False) as assistant:
        await check_reach(assistant.memory)
        scope = await _scope(assistant, thread, user)
        about = {"thread": thread, "user": user}
        if scope is None:
            raise UsageError(say("forget.nothing", lang, user=user))
        if sys.stdin.isatty() and not yes and not context.obj.as_json:
            question = f"{say(f'forget.{scope}', lang, **about)} {say('forget.sure', lang)} "
            if (await asyncio.to_thread(_typed, clean(question))) not in ("y", "yes", say("forget.yes", lang)):
                return CommandResult({}, [say("forget.left", lang)], FAILED)
        try:
            async with deed(assistant.services, login(), "forget", thread or "", user or ""):
                if scope == "person":
                    await assistant.forgetting.person(user or "")
                elif scope == "part":
                    await assistant.forgetting.part(thread or "", user or "")
                elif not await assistant.forgetting.thread(thread or ""):
                    raise UsageError(say("no_thread", lang, thread=repr(thread)))
        except Undeleted:
            return CommandResult({"forgotten": False}, [worded("forgotten", NOT_ALL, lang)], FAILED)
    result = {**{name: value for name, value in about.items() if value}, "forgotten": True}
    return CommandResult(result, [say(f"forget.done_{scope}", lang, **about)])


def _typed(question: str) -> str:
    try:
        return input(question).strip().lower()
    except EOFError:
        return ""


async def _scope(assistant: Assistant, thread: str | None, user: str | None) -> str | None:
    """Return the scope of a deletion: "own" or "shared" thread, "part" of one, "person"; None if nothing is there."""
    writers = await assistant.forgetting.writers(thread) if thread else set()
    if user is None:
        return "shared" if len(writers) > 1 else "own"
    if thread is None or writers == {user}:
        return "person" if thread is None else "own"
    return "part" if user in writers else None


Form = Literal["markdown", "json"]
AsTest = Annotated[bool, typer.Option("--as-test", help="A trace test, the models' replies as its script.")]


async def export(
    thread: Thread,
    *,
    format: Annotated[Form | None, typer.Option(help="Default: markdown.")] = None,
    as_test: AsTest = False,
) -> None:
    """Print a thread: to read, as JSON, or as a test.

    Raises:
        UsageError: two forms are asked for, there is no such thread, or nothing of it can be played again.
    """
    if format and as_test:
        raise UsageError("choose one of --format and --as-test")
    settings = read_settings()
    # The output is a file, in any form.
    with results_alone() as results:
        results.write(await _as_test(settings, thread) if as_test else await exported(settings, thread, format))


async def _as_test(settings: Settings, thread: str) -> str:
    writers = [plugin.thread_test for plugin in plugins_found().values() if plugin.thread_test]
    if not writers:
        raise UsageError("no plug-in that is on writes tests: see PLUGINS")
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        source, remark = await writers[0](assistant, thread, settings.app_lang)
    if remark:
        tell(remark)
    return source


async def exported(settings: Settings, thread: str, form: Form | None = "markdown") -> str:
    """Return a thread in a form. Raises UsageError: there is no such thread."""
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        lines = await assistant.history(thread)
        state = await assistant.state(thread) if lines else await _state(assistant, thread, settings.app_lang)
        messages_now = await SystemMessages.of(assistant.memory.store, thread)
    forms = (state or {}).get("forms", {})
    if form == "json":
        data = {"thread": thread, "contents": contents(lines), "forms": forms, **messages_now.model_dump()}
        return safe_json(data, indent=2) + "\n"
    return conversation_markdown(thread, lines, forms, settings.app_lang)


Exported = Annotated[Path, typer.Argument(metavar="FILE")]
Name = Annotated[str | None, typer.Option("--thread", callback=name_given, help="Its name (default: as it was).")]


async def import_(file: Exported, *, thread: Name = None) -> CommandResult:
    """Store a thread that `export --format json` has printed; its next message goes on from the transcript.

    Raises:
        UsageError: the file cannot be read, is not such an export, or there is such a thread already.
    """
    lang = (settings := read_settings()).app_lang
    try:
        data = await asyncio.to_thread(contents_of_file, file, LARGEST_EXPORT)
        # PowerShell's `>` writes UTF-16, other programs a mark of the byte order.
        exported = ExportedThread.model_validate_json(data.decode(json.detect_encoding(data)))
    except (Unreadable, UnicodeDecodeError) as fault:
        raise UsageError(f"{file}: {fault}") from None
    except ValidationError as fault:
        place = ".".join(map(str, fault.errors()[0]["loc"]))
        raise UsageError(say("import.wrong", lang, file=file, why=f"{place} {fault.errors()[0]['msg']}")) from None
    name = thread or exported.thread
    async with (
        open_assistant(settings, remote=False) as assistant,
        assistant.memory.locks.hold(name),
        deed(assistant.services, login(), "import", name),
    ):
        if not await assistant.memory.transcript.restore(name, exported.messages(name)):
            raise UsageError(say("import.exists", lang, thread=repr(name)))
        await exported.save(assistant.memory.store, name)
    return CommandResult({"thread": name, "messages": len(exported.contents)}, [say("import.done", lang, thread=name)])
