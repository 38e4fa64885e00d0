"""`export`: a conversation to read (Markdown), to process (JSON), or to play again (a trace test)."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from agents.errors import UsageError
from agents.language.text.clean import clean, safe_json
from agents.memory.inbox import TranscriptLine
from agents.memory.people import writers_of
from app.calendar_file import calendar
from app.cli.replay import rehearse
from app.cli.stdout import stdout
from app.cli.trace_test import trace_test
from app.composition import open_assistant
from app.listing import markdown_lines
from app.recording.record import Record
from app.sentences import say
from app.settings import Settings
from app.short_term_memory import contents


async def export(options: Namespace, settings: Settings) -> int:
    """Print a thread in the form that was asked for, or its user's reminders as a calendar.

    Raises:
        UsageError: there is no such thread, or nothing of it can be played again.
    """
    if options.format == "ics":
        return await _calendar(options, settings)
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        state = await assistant.state(options.thread)
        lines = await assistant.history(options.thread)
        records = await assistant.records(options.thread)
    if state is None and not lines:
        raise UsageError(say("no_thread", settings.app_lang, thread=repr(options.thread)))
    forms = (state or {}).get("forms", {})
    if options.as_test:
        stdout().write(await _test(records, lines, settings.app_lang))
    elif options.format == "json":
        document = {"thread": options.thread, "contents": contents(lines), "forms": forms}
        stdout().write(safe_json(document, indent=2) + "\n")
    else:
        stdout().write(markdown(options.thread, lines, forms, settings.app_lang))
    return 0


async def _calendar(options: Namespace, settings: Settings) -> int:
    user = options.user or options.thread
    async with open_assistant(settings, remote=False, reads=True) as assistant:
        live = await assistant.memory.reminders.live(user)
    # Its lines end as the standard wants them, so they are not written as text.
    stdout().write(calendar(live, user, datetime.now(UTC)).decode("utf-8"))
    return 0


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
