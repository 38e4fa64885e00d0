"""`export`: a conversation to read (Markdown), to process (JSON), or to play again (a trace test)."""

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal

import typer

from agents.errors import UsageError
from agents.language.text.clean import clean, safe_json
from agents.memory.inbox import TranscriptLine, writers_of
from app.cli.options import AsJson, Thread
from app.cli.replay import rehearse
from app.cli.stdout import results_alone
from app.cli.trace_test import trace_test
from app.composition import open_assistant
from app.listing import markdown_lines
from app.recording.record import Record
from app.sentences import say
from app.settings import Settings, read_settings
from app.short_term_memory import contents

AsTest = Annotated[bool, typer.Option("--as-test", help="A trace test, the models' replies as its script.")]
Format = Annotated[Literal["markdown", "json"] | None, typer.Option(help="Default: markdown.")]


async def export(
    thread: Thread,
    *,
    format: Format = None,
    json: AsJson = False,
    as_test: AsTest = False,
) -> None:
    """Print a thread: to read, as JSON, or as a test.

    Raises:
        UsageError: two forms are asked for, there is no such thread, or nothing of it can be played again.
    """
    settings = read_settings()
    forms = {format or "", *(["json"] if json else []), *(["test"] if as_test else [])} - {""}
    if len(forms) > 1:
        raise UsageError("choose one of --format, --json and --as-test")
    # What it prints is a file, in any form.
    with results_alone() as results:
        results.write(await exported(settings, thread, *forms))


async def exported(settings: Settings, thread: str, form: str = "markdown") -> str:
    """Return a thread in the form that was asked for: "markdown", "json" or "test".

    Raises:
        UsageError: there is no such thread, or nothing of it can be played again.
    """
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        state = await assistant.state(thread)
        lines = await assistant.history(thread)
        records = await assistant.records(thread)
    if state is None and not lines:
        raise UsageError(say("no_thread", settings.app_lang, thread=repr(thread)))
    filled_in = (state or {}).get("forms", {})
    if form == "test":
        return await _test(records, lines, settings.app_lang)
    if form == "json":
        return safe_json({"thread": thread, "contents": contents(lines), "forms": filled_in}, indent=2) + "\n"
    return markdown(thread, lines, filled_in, settings.app_lang)


def markdown(thread: str, lines: Sequence[TranscriptLine], forms: Mapping[str, Mapping[str, object]], lang: str) -> str:
    """Return a conversation to be read: who said what and when, and what the dialogs found out."""
    parts = [f"# {say('export.title', lang, thread=thread)}"]
    parts += markdown_lines(lines, lang)
    if forms:
        parts.append(f"## {say('export.forms', lang)}")
    for name, form in forms.items():
        values = (", ".join(map(str, value)) if isinstance(value, list) else value for value in form.values())
        rows = [f"- {field}: {value}" for field, value in zip(form, values, strict=True) if value not in (None, "")]
        parts.append("\n".join([f"### {name}", "", *rows]))
    return clean("\n\n".join(parts)) + "\n"


async def _test(records: Sequence[Record], lines: Sequence[TranscriptLine], lang: str) -> str:
    """Return the test; say on stderr where it ends before the conversation does, and why."""
    if len(writers_of(lines)) > 1:
        raise UsageError(say("export.several", lang))
    play = await rehearse(records)
    covered, all_turns = len(play.turns), len(records)
    if covered < all_turns:
        why = say(f"export.{_obstacle(records[covered])}", lang)
        remark = say("export.ends_early", lang, turns=covered, whole=all_turns, turn=covered + 1, why=why)
        if not covered:
            raise UsageError(remark)
        sys.stderr.write(f"{remark}\n")
    day = datetime.fromtimestamp(lines[0].at_ms / 1000).astimezone().strftime("%Y-%m-%d") if lines else ""
    return trace_test(play, day)


def _obstacle(turn: Record) -> str:
    if turn.is_playable:
        return "differs"
    return turn.status if turn.status in ("interrupted", "large") else "unrecorded"
