"""`chat`: a conversation at a terminal, or one message a line from a pipe."""

import sys

from prompt_toolkit.history import InMemoryHistory
from rich.console import Console
from rich.text import Text

from agents.language.text.clean import clean
from agents.memory.inbox import lines_of
from app.assistant.clocks import SilenceClock
from app.cli.talk import RULES, TalkOptions, opened, screen_of, visit_of, with_options
from app.composition import make_file_reader
from app.composition.rankers import prepared
from app.doors.terminal.live_markdown import LiveMarkdown
from app.doors.terminal.repl import Repl
from app.doors.terminal.tty import incoming_lines
from app.doors.visit import Visit
from app.presentation.texts import say
from app.process.exit_codes import INTERRUPTED, WAITING
from app.settings import Settings, read_settings

OFFERED = 1_000
"""The latest lines of a conversation among which the user's own are offered again at the prompt."""


@with_options
async def chat(talk: TalkOptions) -> int:
    """Talk; from a pipe, one message a line."""
    settings = read_settings()
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not talk.as_json
    async with opened(talk, settings, holds_log=at_terminal) as (assistant, results, log):
        state = await assistant.state(talk.thread)
        lang = talk.lang or (state or {}).get("lang") or settings.app_lang
        console = Console(stderr=not at_terminal, highlight=False)
        for remark in _welcome(talk, settings, lang, greets=not state, at_terminal=at_terminal):
            console.print(Text(clean(remark), "dim"), soft_wrap=not at_terminal)
        if not at_terminal:
            return await _lines(visit_of(assistant, talk, screen_of(talk, results, lang)), is_new=not state)
        screen = LiveMarkdown(console, lang)
        visit = visit_of(assistant, talk, screen, log)
        visit.reader = make_file_reader(settings, assistant)
        latest = await assistant.memory.transcript.lines(visit.thread, limit=OFFERED)
        messages = [line.text for line in lines_of(visit.owner, latest) if line.role == "user"]
        repl = Repl(visit, screen, console=console, history=InMemoryHistory(messages))
        async with (
            assistant.ringing(repl.ring, user=visit.owner),
            prepared(assistant.speakers, direct=settings.direct_switch),
            SilenceClock(assistant, repl.nudge, lambda thread: thread == visit.thread) as clock,
        ):
            repl.noted = clock.heard
            return await repl.run()


async def _lines(visit: Visit, *, is_new: bool) -> int:
    """Take every line as a message; return the code of the last turn that went wrong, else of the last turn."""
    code = await visit.play(visit.turn(None)) if is_new else 0
    trouble = code if code != WAITING else 0
    if code == INTERRUPTED:
        return code
    async for line in incoming_lines(sys.stdin):
        if line.strip():
            code = await visit.play(visit.turn(line.strip()))
            trouble = code if code not in (0, WAITING) else trouble
        if code == INTERRUPTED:
            break
    return trouble or code


def _welcome(talk: TalkOptions, settings: Settings, lang: str, *, greets: bool, at_terminal: bool) -> list[str]:
    model = talk.model or settings.llm_model
    remarks = [say("welcome", lang, thread=talk.thread, model=model)]
    # In a new thread, the model introduces itself.
    if model == RULES and not greets:
        remarks.append(say("rules_notice", lang))
    return [*remarks, say("keys", lang), ""] if at_terminal else remarks
