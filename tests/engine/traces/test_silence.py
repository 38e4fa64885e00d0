"""The question to a user who says nothing: once in a silence, by day, and known to the model."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agents.events import Message
from agents.memory.inbox import SILENCE, InboxEntry
from agents.memory.preferences import Preferences
from agents.toolkit.speaker import Silence
from app.assistant import Assistant, Turn
from app.assistant.clocks import Ring, SilenceClock
from app.assistant.short_term_memory import contents
from app.composition import open_assistant
from app.settings import Settings
from app.testing import Chat
from app.testing.script import Call
from tests.support.changed_speakers import changed

PLAN = Call("plan_things", {"brief": "to-dos"})


@dataclass
class Watch:
    """A clock of silence of a thread, whose time goes on when a test says so."""

    assistant: Assistant
    asked: list[Ring] = field(default_factory=list)
    later: float = 0
    shows: bool = True
    """Whether this is the moment to ask."""

    def __post_init__(self) -> None:
        self.clock = SilenceClock(self.assistant, self.ask, lambda thread: thread == "ann")
        self.assistant.memory.now = self.now

    def now(self) -> float:
        """Return the time."""
        return time.time() + self.later

    async def ask(self, nudge: Ring) -> bool:
        """Store the question, as a door does."""
        if self.shows:
            await self.assistant.tell(nudge.thread, nudge.text, nudge.id, nudge.user, source=SILENCE)
            self.asked.append(nudge)
        return self.shows

    async def after(self, seconds: float) -> list[str]:
        """Let time pass; return what was asked since the last look."""
        self.later += seconds
        before = len(self.asked)
        await self.clock.look()
        return [nudge.text for nudge in self.asked[before:]]


@pytest.fixture
def quiet(chat: Chat) -> Chat:
    """A conversation whose user is asked after a minute, twice."""
    chat.speakers = chat.speakers.with_defaults(silence=Silence(60, 2))
    return chat


@asynccontextmanager
async def watching(chat: Chat, hour: int = 12) -> AsyncIterator[Watch]:
    """Open the conversation where it is this hour at the user's place, with a clock."""
    async with chat.assistant() as assistant:
        away = (hour - datetime.now(UTC).hour + 12) % 24 - 12
        await Preferences(zone=ZoneInfo(f"Etc/GMT{-away:+d}")).save(assistant.memory.store, "ann")
        yield Watch(assistant)


@pytest.mark.parametrize(("lang", "words"), [("en", "Are you still there?"), ("ru", "Вы ещё здесь?")])
async def test_a_silent_user_is_asked(quiet: Chat, lang: str, words: str) -> None:
    """After a minute, and once more after another one; the model knows of it when the user is back."""
    quiet.expects(supervisor=["What shall it be?", "Good."])
    await quiet.says("Hi there my friend", lang=lang)
    async with watching(quiet) as watch:
        assert await watch.after(30) == []
        assert await watch.after(31) == [words]
        # What was asked has the time of this machine, which no test can set.
        assert await watch.after(61) == [words]
        assert await watch.after(61) == []
        memory = contents(await watch.assistant.history("ann"))
    assert [(it["content"], it["turn_id"], it["metadata"]["source"]) for it in memory[2:]] == [
        (words, 0, "silence")
    ] * 2
    await quiet.says("Here I am again", lang=lang)
    assert quiet.script.asked[-1].messages[-2].text == f"What shall it be?\n\n{words}\n\n{words}"


async def test_a_restart_asks_nothing_again(quiet: Chat) -> None:
    """The next process knows the earlier questions; those due long ago are left out."""
    quiet.expects(supervisor=["What shall it be?"])
    await quiet.says("Hi there my friend")
    async with watching(quiet) as watch:
        assert len(await watch.after(61)) == 1
    async with watching(quiet) as watch:
        assert await watch.after(0) == []
        assert len(await watch.after(121)) == 1
    async with watching(quiet) as watch:
        assert await watch.after(300) == []


async def test_a_silence_of_long_ago_is_over(quiet: Chat) -> None:
    """A process that begins an hour later asks nobody."""
    quiet.expects(supervisor=["What shall it be?"])
    await quiet.says("Hi there my friend")
    async with watching(quiet) as watch:
        assert await watch.after(3600) == []


async def test_nobody_is_asked_at_night(quiet: Chat) -> None:
    """A user who is silent at three o'clock sleeps, and is not asked in the morning either."""
    quiet.expects(supervisor=["What shall it be?"])
    await quiet.says("Hi there my friend")
    async with watching(quiet, hour=3) as watch:
        assert await watch.after(61) == []
        assert await watch.after(6 * 3600) == []


async def test_a_message_ends_the_silence(quiet: Chat) -> None:
    """After a message, or any other act, the user is not asked for the time before."""
    quiet.expects(supervisor=["What shall it be?", "Good."])
    await quiet.says("Hi there my friend")
    async with watching(quiet) as watch:
        assert await watch.after(30) == []
        await watch.assistant.memory.transcript.accept(InboxEntry("ann", "waits", "ann", "well then", "message"))
        assert await watch.after(31) == []
        async for _ in watch.assistant.play(Turn(thread="ann", text="well then", id="waits")):
            pass
        assert len(await watch.after(30)) == 1

    async with watching(quiet) as watch:
        await watch.after(0)
        watch.clock.heard("ann")
        assert await watch.after(61) == []


async def test_it_may_not_be_the_moment(quiet: Chat) -> None:
    """A door that cannot ask now, because something is being typed, is offered it again."""
    quiet.expects(supervisor=["What shall it be?"])
    await quiet.says("Hi there my friend")
    async with watching(quiet) as watch:
        watch.shows = False
        assert await watch.after(61) == []
        watch.shows = True
        assert len(await watch.after(5)) == 1


async def test_nobody_is_asked_after_a_failure_or_in_company(quiet: Chat) -> None:
    """Whom the model has failed need not answer, and among several people nobody is asked."""
    quiet.expects(supervisor=[ConnectionError("gone"), "Hello.", "Hello Bob."])
    await quiet.says("Hi there my friend")
    async with watching(quiet) as watch:
        assert await watch.after(61) == []
    await quiet.says("And once more hello")
    await quiet.says("Hello from me too", user="bob")
    async with watching(quiet) as watch:
        assert await watch.after(61) == []


@pytest.mark.needs("planner")
async def test_a_dialog_says_it_for_itself(chat: Chat) -> None:
    """Nobody is asked unless it is set; one dialog may set it alone."""
    chat.expects(supervisor=["Hello.", PLAN], planner=["What?"])
    await chat.says("Hi there my friend")
    async with watching(chat) as watch:
        assert await watch.after(3600) == []
        # Nothing is looked at.
        await watch.clock.run()
    chat.speakers = changed(chat.speakers, "planner", silence=Silence(60))
    async with watching(chat) as watch:
        assert await watch.after(61) == []
    await chat.says("Plan my week, would you")
    async with watching(chat) as watch:
        assert len(await watch.after(61)) == 1


@pytest.mark.parametrize(
    ("source", "lang", "begin", "answer", "noted"),
    [
        ("silence", "en", "let's get acquainted", "I work as a nurse", "Noted: experience – nurse."),
        pytest.param(
            *("unasked", "ru", "давай познакомимся", "работаю медсестрой", "Записано: опыт — медсестрой."),
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.sqlite
@pytest.mark.needs("profile", "standin")
async def test_what_was_asked_before_stays_open(
    tmp_path: Path, source: str, lang: str, begin: str, answer: str, noted: str
) -> None:
    """Neither this question nor a reminder takes the place of what a dialog has asked, without a key either."""
    settings = Settings(_env_file=None, database_url=f"sqlite:///{tmp_path}/talk.db", app_lang=lang)
    async with open_assistant(settings) as assistant:
        _ = [event async for event in assistant.play(Turn(thread="ann", text=begin))]
        await assistant.tell("ann", "…?", "told", "ann", source=source)
        events = [event async for event in assistant.play(Turn(thread="ann", text=answer))]
    assert any(isinstance(event, Message) and event.text.startswith(noted) for event in events)


@pytest.mark.needs("planner", "profile")
async def test_observers_judge_by_what_was_asked(quiet: Chat) -> None:
    """To an observer the dialog's last words are its own, not the question to a silent user."""
    quiet.expects(supervisor=[PLAN], planner=["What shall I put down?", "Noted."], observer=["stay"])
    await quiet.says("Plan my week, would you")
    async with watching(quiet) as watch:
        assert len(await watch.after(61)) == 1
    await quiet.says("My work and my profile come first")
    [observer] = [asked for asked in quiet.script.asked if asked.role == "observer"]
    assert "What shall I put down?" in observer.prefix
    assert "still there" not in observer.prefix
