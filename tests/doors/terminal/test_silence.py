"""A silent user at the terminal is asked whether they are still there, unless they are typing."""

import asyncio
import time
from io import StringIO

import pytest
from prompt_toolkit.application import get_app
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from agents.toolkit.speaker import Silence
from app.assistant import clocks
from app.assistant.clocks import SilenceClock
from app.assistant.short_term_memory import contents
from app.testing import Chat
from tests.support.terminal_visit import repl_for
from tests.support.until import until

WORDS = "Are you still there?"


async def test_a_silent_user_is_asked_above_the_prompt(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who types is not asked; with an empty line they are, and their next line gets an answer."""
    monkeypatch.setattr(clocks, "DAY", range(24))
    chat.speakers = chat.speakers.with_defaults(silence=Silence(60))
    chat.expects(supervisor=["Welcome.", "Good."])
    screen = StringIO()
    with create_pipe_input() as keys:
        async with chat.assistant() as assistant:
            terminal = (keys, DummyOutput())
            repl, visit = repl_for(assistant, "ann", Console(file=screen, width=80), InMemoryHistory(), terminal)
            clock = SilenceClock(assistant, repl.nudge, lambda thread: thread == visit.thread)
            repl.noted = clock.heard
            assistant.memory.now = lambda: time.time() + 61
            running = asyncio.ensure_future(repl.run())
            await until(lambda: "Welcome." in screen.getvalue())
            keys.send_text("w")
            await until(lambda: get_app().current_buffer.text)
            await clock.look()
            assert WORDS not in screen.getvalue()
            keys.send_text("\x7f")
            await until(lambda: not get_app().current_buffer.text)
            await clock.look()
            assert screen.getvalue().count(WORDS) == 1
            keys.send_text("here I am again\r")
            await until(lambda: "Good." in screen.getvalue())
            keys.send_text("\x04")
            assert await running == 0
            memory = contents(await assistant.history("ann"))
    assert [(it["content"], it["metadata"]["source"]) for it in memory] == [
        ("Welcome.", "greeting"),
        (WORDS, "silence"),
        ("here I am again", "message"),
        ("Good.", "llm"),
    ]
