"""`seat`: a person takes a conversation over, answers, and hands it back."""

import getpass
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from agents.command_line import readable
from agents.errors import UsageError
from agents.language.text.clean import clean, safe_json
from agents.memory.inbox import TranscriptLine
from app.assistant.short_term_memory import contents
from app.cli.invocation import AsJson, OptionalThread, results_alone
from app.composition import open_assistant
from app.composition.models import NO_MODELS
from app.doors.terminal.tty import incoming_lines
from app.plugins.seat.place import Operator, Seat
from app.plugins.seat.seats import Seats, take_seat
from app.plugins.seat.terminal import OperatorSeat, typed_lines
from app.presentation.lines import columns, history_lines
from app.process.logs import log_on_stderr
from app.security.audit import deed, login
from app.settings import read_settings
from prompts import sentence

MINUTE_MS = 60_000
IsList = Annotated[bool, typer.Option("--list", help="List the calls and who holds what, and do nothing else.")]
As = Annotated[str | None, typer.Option("--as", metavar="NAME", help="What the user sees (default: your login).")]
Note = Annotated[str, typer.Option(metavar="TEXT", help="What the assistant is told when you hand back.")]
Force = Annotated[bool, typer.Option("--force", help="Take it even if somebody else holds it.")]


command_line = typer.Typer()


@command_line.command()
async def seat(
    *,
    thread: OptionalThread = None,
    is_list: IsList = False,
    operator: As = None,
    note: Note = "",
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Take a conversation over from the assistant; from a pipe, one message a line.

    Raises:
        UsageError: no thread is named, nobody has written there, or somebody else holds it.
    """
    settings = read_settings()
    lang = settings.app_lang
    if not is_list and thread is None:
        raise UsageError("name a thread: --thread T, or see who calls: --list")
    with (
        results_alone() if as_json else nullcontext(sys.stdout) as results,
        log_on_stderr(detailed=False, content=settings.log_content),
    ):
        # The command asks no model, so none has to be reachable.
        async with open_assistant(settings, models=NO_MODELS, remote=False) as assistant:
            if thread is None or is_list:
                seats = await assistant.services.get(Seats).all()
                rows = [safe_json([seat._asdict() for seat in seats])] if as_json else seat_lines(seats, lang)
                results.write("".join(f"{row}\n" for row in rows))
                return 0
            account = getpass.getuser()
            name = readable(operator or account)
            person = Operator(name, f"shell {account}: {name}")
            async with deed(assistant.services, login(), "seat_taken", thread, name):
                await take_seat(assistant, thread, person, force=force)

            def show(lines: Sequence[TranscriptLine]) -> None:
                rows = [*map(safe_json, contents(lines))] if as_json else history_lines(lines, lang)
                results.write("".join(f"{row}\n" for row in rows))
                results.flush()

            return await _sit(OperatorSeat(assistant, thread, person, show), readable(note), lang, as_json=as_json)


async def _sit(seat: OperatorSeat, note: str, lang: str, *, as_json: bool) -> int:
    remarks = Console(stderr=True, highlight=False)

    def remark(key: str) -> None:
        remarks.print(Text(clean(sentence("seat/phrases", f"operator.{key}", lang)), "dim"), soft_wrap=True)

    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    if at_terminal:
        remark("keys")
    has_prompt = at_terminal and not remarks.is_dumb_terminal
    entries = typed_lines() if has_prompt else incoming_lines(sys.stdin)
    remark("back" if await seat.run(entries, note) else "left")
    return 0


def seat_lines(seats: Sequence[Seat], lang: str) -> list[str]:
    """Return the calls and the held threads, a line each, the one that waits longest first."""
    now_ms = time.time_ns() // 1_000_000

    def line(seat: Seat) -> str:
        minutes = (now_ms - (seat.waits_ms or seat.since_ms)) // MINUTE_MS
        about = {"name": seat.holder, "caller": seat.caller, "minutes": minutes}
        keys = (["held"] if seat.holder else ["called"]) + (["unanswered"] if seat.waits_ms else [])
        parts = [*(sentence("seat/phrases", f"operator.list_{key}", lang, **about) for key in keys), seat.reason]
        return clean("; ".join(filter(None, parts)))

    rows = columns((seat.thread, line(seat)) for seat in seats)
    return rows or [sentence("seat/phrases", "operator.list_empty", lang)]
