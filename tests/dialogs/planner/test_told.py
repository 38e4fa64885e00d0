"""A notice that rang is shown at the prompt, and the next speaker knows it."""

import asyncio
from datetime import datetime, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from agents.events import Event
from agents.language.schedule import Moment
from agents.memory.inbox import InboxEntry
from app.assistant.clocks import Ring
from app.testing import Chat
from app.testing.script import Call, Script
from dialogs.planner.store import Reminders
from tests.support.fake_assistant import StandIn, line, says
from tests.support.scripted_assistant import ROLES, stage
from tests.support.terminal_visit import repl_for
from tests.support.until import until


@pytest.mark.needs("profile")
async def test_whoever_speaks_next_knows_what_was_told(chat: Chat) -> None:
    """A notice is in the transcript once and in the histories; the conversation stays unchanged."""
    chat.expects(supervisor=[Call("get_acquainted", {"brief": "talk"})], profile=["What do you do?", "Later then."])
    await chat.says("Hello, I am new here")
    async with chat.assistant() as assistant:
        for _ in range(2):  # as after a crash
            async with assistant.memory.locks.hold("ann"):
                note = await assistant.tell("ann", "⏰ tea", "reminder-1-5")
            assert str(note) == "supervisor: ⏰ tea"
        assert [line.text for line in await assistant.history("ann")].count("⏰ tea") == 1
    before = await chat.state()
    await chat.says(None)
    assert (await chat.state())["dialog"] == before["dialog"] == "profile"
    for speaker in ("supervisor", "profile"):
        messages = await chat.messages(speaker)
        assert [(message.text, message.id) for message in messages if "⏰" in message.text] == [
            ("⏰ tea", "reminder-1-5")
        ]


async def test_a_reminder_is_shown_above_the_prompt() -> None:
    """One that rings while the prompt is open is shown at once, one that rings in a turn after it."""
    screen = StringIO()
    stand_in = StandIn(says("Nice"), lines=[line("user", "hi")])
    stand_in.assistant.tell = tell  # type: ignore[assignment]
    with create_pipe_input() as keys:
        console = Console(file=screen, width=80)
        repl, _ = repl_for(stand_in.assistant, "me", console, InMemoryHistory(), (keys, DummyOutput()))
        await repl.ring(ring("before the prompt"))
        assert "before" not in screen.getvalue()
        running = asyncio.ensure_future(repl.run())
        await until(lambda: "before the prompt" in screen.getvalue())
        await repl.ring(ring("at the prompt"))
        assert "at the prompt" in screen.getvalue()
        keys.send_text("\x04")
        assert await running == 0


async def all_rang(reminders: Reminders) -> bool:
    """Tell whether every reminder has rung, and that is noted."""
    return await reminders.due(2**53, None, "*") == []


async def test_a_missed_reminder_is_told_when_the_prompt_opens(tmp_path: Path) -> None:
    """The next start of the REPL shows a reminder that came due in the user's absence as missed, and only once."""
    screens = []
    async with stage(tmp_path / "talk.db", Script().models(ROLES)) as assistant:
        at = Moment(datetime.now(ZoneInfo("UTC")) - timedelta(hours=2))
        await assistant.services.get(Reminders).add("me", "me", "call", text="tea", lang="en", moment=at)
        letter = InboxEntry("me", "1", "me", "remind me of tea", "message")
        await assistant.memory.transcript.accept(letter)
        await assistant.memory.transcript.close(letter, "done", 1, [], "")
    for _ in "12":
        screen = StringIO()
        async with stage(tmp_path / "talk.db", Script({"supervisor": ["Hello."]}).models(ROLES)) as assistant:
            with create_pipe_input() as keys:
                console = Console(file=screen, width=100)
                terminal = (keys, DummyOutput())
                repl, _ = repl_for(assistant, "me", console, InMemoryHistory(), terminal)
                reminders = assistant.services.get(Reminders)
                async with assistant.ringing(repl.ring, user="me"):
                    running = asyncio.ensure_future(repl.run())
                    await until(partial(all_rang, reminders))
                    keys.send_text("\x04")
                    assert await running == 0
        screens.append(screen.getvalue())
    assert screens[0].count("⏰ tea (missed: it was due ") == 1
    assert "⏰" not in screens[1]


def ring(text: str) -> Ring:
    """Return a ring with this text."""
    return Ring("reminder-1-1", "me", "me", text)


async def tell(thread: str, text: str, id: str, user: str | None = None) -> Event:
    """Stand in for `Assistant.tell`."""
    return says(text)[-1]
