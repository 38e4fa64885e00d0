"""Reminders in a conversation: what the planner's tools answer, and what is known of one that rang."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from agents.events import Event
from agents.memory import open_memory
from agents.memory.letters import Letter
from agents.models.script import Call, Script
from agents.moments import Moment
from app.assistant import Assistant, Turn
from app.clock import Ring
from app.repl import Repl
from app.visit import Visit
from tests.conftest import Chat, compose
from tests.staging import ROLES, stage
from tests.stand_in import StandIn, line, says

NOW = datetime(2026, 11, 20, 9, tzinfo=ZoneInfo("UTC"))


class FridayChat(Chat):
    """A conversation whose reminders' clock stands at nine in Greenwich on a Friday."""

    @asynccontextmanager
    async def assistant(self) -> AsyncIterator[Assistant]:
        """Open the database anew."""
        async with open_memory(f"sqlite:///{self.path}", NOW.timestamp) as memory:
            yield compose(memory, self.script, self.speakers, self.observers, gate=self.gate)


@pytest.fixture
def friday(tmp_path: Path) -> Iterator[Chat]:
    """A new conversation on a Friday; lines of the script that nobody spoke fail the test."""
    talk = FridayChat(tmp_path / "dialogs.db")
    yield talk
    assert talk.script.left() == {}


async def plans(chat: Chat, *calls: Call, lang: str = "en") -> list[str]:
    """Let the planner call these tools, one after the other; return what they answer."""
    chat.expects(supervisor=[Call("plan_things", {"brief": "reminders"})], planner=[*calls, "Done."])
    async with chat.assistant() as assistant:
        events = [event async for event in assistant.play(Turn(thread="ann", text="Please", lang=lang))]
    return [event.plain()["object"] for event in events if event.type == "tool.end"]


async def test_the_time_is_told_in_the_users_zone(friday: Chat) -> None:
    """Once the user has told a time zone, prompts and the supervisor's tool go by it."""
    await plans(friday, Call("set_time_zone", {"zone": "Pacific/Kiritimati"}))
    friday.expects(supervisor=[Call("current_time", {}), "There you are."])
    async with friday.assistant() as assistant:
        turn = Turn(thread="another", user="ann", text="How late has it become?", lang="en")
        events = [event async for event in assistant.play(turn)]
    told = [event.plain()["object"] for event in events if event.type == "tool.end"]
    assert told[0].endswith("(+14).")
    assert "+14" in friday.script.asked[-1].messages[-1].text


async def test_reminders_are_set_changed_and_deleted(friday: Chat) -> None:
    """The tools answer with numbers and with times in the user's zone; numbers do not change."""
    assert await plans(
        friday,
        Call("set_time_zone", {"zone": "europe/berlin"}),
        Call("add_reminder", {"when": "in 20 minutes", "text": "oven"}),
        Call("add_reminder", {"when": "tomorrow at 9", "text": "call mom"}),
        Call("add_reminder", {"when": "every Monday at 9"}),
        Call("change_reminder", {"number": 2, "when": "ten minutes later"}),
        Call("change_reminder", {"number": 2, "when": "on Sunday", "text": "visit mom"}),
        Call("change_reminder", {"number": 3, "when": "at 10"}),
        Call("delete_reminders", {"numbers": [1]}),
        Call("list_reminders"),
    ) == [
        "The time zone is Europe/Berlin now: it is Fri, 2026-11-20, 10:00 there.",
        "Set: 1. oven: Fri, 2026-11-20, 10:20.",
        "Set: 2. call mom: Sat, 2026-11-21, 09:00.",
        "Set: 3. Time is up: Mon, 2026-11-23, 09:00 (every week on Mon).",
        "Set: 2. call mom: Sat, 2026-11-21, 09:10.",
        "Set: 2. visit mom: Sun, 2026-11-22, 09:10.",
        "Set: 3. Time is up: Mon, 2026-11-23, 10:00 (every week on Mon).",
        "2. visit mom: Sun, 2026-11-22, 09:10\n3. Time is up: Mon, 2026-11-23, 10:00 (every week on Mon)",
        "2. visit mom: Sun, 2026-11-22, 09:10\n3. Time is up: Mon, 2026-11-23, 10:00 (every week on Mon)",
    ]


async def test_reminders_move_with_the_user(friday: Chat) -> None:
    """In another zone what repeats by the day keeps its time on the clock, all else its moment; the user sees both."""
    answers = await plans(
        friday,
        Call("set_time_zone", {"zone": "Europe/Berlin"}),
        Call("add_reminder", {"when": "every day at 9", "text": "pills"}),
        Call("add_reminder", {"when": "tomorrow at 9", "text": "call mom"}),
        Call("add_reminder", {"when": "every 3 hours", "text": "stretch"}),
        Call("set_time_zone", {"zone": "America/New_York"}),
        Call("set_time_zone", {"zone": "America/New_York"}),
    )
    assert answers[-1] == answers[-2]
    assert answers[-1].splitlines() == [
        "The time zone is America/New_York now: it is Fri, 2026-11-20, 04:00 there. What repeats by the day keeps "
        "its time on the clock; what comes once or by the hour keeps its moment:",
        "1. pills: Sat, 2026-11-21, 09:00 (every day)",
        "2. call mom: Sat, 2026-11-21, 03:00",
        "3. stretch: Fri, 2026-11-20, 07:00 (every 3 h)",
    ]
    async with friday.assistant() as assistant:
        due = await assistant.memory.reminders.due(2**53, None, "*")
    assert [(one.text, one.moment.at.isoformat()) for one in due] == [
        ("stretch", "2026-11-20T07:00:00-05:00"),
        ("call mom", "2026-11-21T03:00:00-05:00"),
        ("pills", "2026-11-21T09:00:00-05:00"),
    ]


async def test_reminders_are_set_in_russian(friday: Chat) -> None:
    """Times are understood and told in the language of the conversation."""
    assert await plans(
        friday,
        Call("set_time_zone", {"zone": "Europe/Moscow"}),
        Call("add_reminder", {"when": "завтра в половине девятого", "text": "зарядка"}),
        Call("change_reminder", {"number": 1, "when": "на десять минут позже"}),
        Call("change_reminder", {"number": 1, "when": "каждый будний день"}),
        lang="ru",
    ) == [
        "Теперь часовой пояс Europe/Moscow: там сейчас пт, 2026-11-20, 12:00.",
        "Установлено: 1. зарядка: сб, 2026-11-21, 08:30.",
        "Установлено: 1. зарядка: сб, 2026-11-21, 08:40.",
        "Установлено: 1. зарядка: пн, 2026-11-23, 08:40 (каждую неделю: пн, вт, ср, чт, пт).",
    ]


async def test_what_cannot_be_done_is_said(friday: Chat) -> None:
    """A time that is none, a number and a zone that do not exist are told to the model in words."""
    answers = await plans(
        friday,
        Call("add_reminder", {"when": "at the end of days", "text": "x"}),
        Call("change_reminder", {"number": 7, "when": "at 9"}),
        Call("delete_reminders", {"numbers": [8, 9]}),
        Call("set_time_zone", {"zone": "Atlantis"}),
        Call("list_reminders"),
    )
    assert [answer.splitlines()[0][:40] for answer in answers] == [
        "“at the end of days” is not a time to co",
        "There is no such reminder: 7.",
        "There is no such reminder: 8, 9.",
        "There is no time zone “Atlantis”. Use a ",
        "There are no reminders.",
    ]


async def test_whoever_speaks_next_knows_what_was_told(chat: Chat) -> None:
    """What was said unasked is in the transcript once and in the histories; the conversation stays as it was."""
    chat.expects(supervisor=[Call("get_acquainted", {"brief": "talk"})], profile=["What do you do?", "Later then."])
    await chat.says("Let us get acquainted")
    async with chat.assistant() as assistant:
        for _ in range(2):  # as after a crash
            async with assistant.memory.locks.hold("ann"):
                told = await assistant.tell("ann", "⏰ tea", "reminder-1-5")
            assert str(told) == "supervisor: ⏰ tea"
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
        visit = Visit(stand_in.assistant, "me")
        console = Console(file=screen, width=80)
        repl = Repl(visit, "en", console=console, history=InMemoryHistory(), terminal=(keys, DummyOutput()))
        await repl.ring(ring("before the prompt"))
        assert "before" not in screen.getvalue()
        running = asyncio.ensure_future(repl.run())
        await asyncio.sleep(0.1)
        assert "before the prompt" in screen.getvalue()
        await repl.ring(ring("at the prompt"))
        assert "at the prompt" in screen.getvalue()
        keys.send_text("\x04")
        assert await asyncio.wait_for(running, 5) == 0


async def test_a_missed_reminder_is_told_when_the_prompt_opens(tmp_path: Path) -> None:
    """What came due while nobody was there is shown at the next start of the REPL as missed, and only once."""
    screens = []
    async with stage(tmp_path / "talk.db", Script().models(ROLES)) as assistant:
        at = Moment(datetime.now(ZoneInfo("UTC")) - timedelta(hours=2))
        await assistant.memory.reminders.add("me", "me", "call", text="tea", lang="en", moment=at)
        letter = Letter("me", "1", "me", "remind me of tea", "message")
        await assistant.memory.transcript.accept(letter)
        await assistant.memory.transcript.close(letter, "done", 1, [], "")
    for _ in range(2):
        screen = StringIO()
        async with stage(tmp_path / "talk.db", Script({"supervisor": ["Hello."]}).models(ROLES)) as assistant:
            with create_pipe_input() as keys:
                console = Console(file=screen, width=100)
                terminal = (keys, DummyOutput())
                visit = Visit(assistant, "me")
                repl = Repl(visit, "en", console=console, history=InMemoryHistory(), terminal=terminal)
                async with assistant.reminding(repl.ring, user="me"):
                    running = asyncio.ensure_future(repl.run())
                    for _ in range(100):
                        await asyncio.sleep(0.02)
                        if "tea" in screen.getvalue():
                            break
                    keys.send_text("\x04")
                    assert await asyncio.wait_for(running, 5) == 0
        screens.append(screen.getvalue())
    assert screens[0].count("⏰ tea (missed: it was due on") == 1
    assert "tea" not in screens[1]


def ring(text: str) -> Ring:
    """Return a ring with this text."""
    return Ring("reminder-1-1", "me", "me", text, is_missed=False)


async def tell(thread: str, text: str, id: str) -> Event:
    """Stand in for `Assistant.tell`."""
    return says(text)[-1]
