"""Talks that nobody has thought of: what is kept as said or shown was seen, and what was done is told in its turn."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool

from agents.events import Error, Event, Interrupt, Message, ModelStart, ToolEnd
from agents.events.views import CardList, Document, Entry, Link, View
from agents.state.message_notes import notes_of
from agents.toolkit.context import Runtime
from agents.toolkit.result import Answer, Option, choice, result
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import Done, traits
from agents.toolkit.undo import UNDO_LAST
from app.assistant import Assistant, Turn
from app.testing.kept_replies import KeptReplies
from app.testing.script import Call, Line, Script
from prompts import phrase
from tests.support.made_inputs import tried
from tests.support.scripted_assistant import ROLES, THREAD, open_calls, stage, values

pytestmark = pytest.mark.needs("planner", "profile")
NUMBERS = count()
WRITTEN = Counter[str]()
"""The number of writes of each thing, less the undone ones."""


def mark() -> str:
    """Return a word that stands nowhere else."""
    return f"mark{next(NUMBERS)}"


@traits(view="cards")
@tool(response_format="content_and_artifact")
async def find(runtime: Runtime) -> Answer:
    """Find things."""
    name = mark()
    return result(message=name, view=CardList(title=name, entries=[Entry("red"), Entry("blue")]))


async def undone(done: Done, _: Runtime) -> str:
    """Take back what a tool has written."""
    WRITTEN[done.args["thing"]] -= 1
    return f"{mark()} is undone."


@traits(effect="write", view="link", undo=undone)
@tool(response_format="content_and_artifact")
async def book(thing: str, runtime: Runtime) -> Answer:
    """Book a thing."""
    WRITTEN[thing] += 1
    name = mark()
    return result(message=name, view=Link(title=name, url="https://shop.example/1"))


@traits(effect="write", undo=undone)
@tool
async def jot(thing: str) -> str:
    """Jot a thing down."""
    WRITTEN[thing] += 1
    return mark()


@traits(effect="write", confirm="always", undo=undone)
@tool
async def move(thing: str) -> str:
    """Move a thing."""
    WRITTEN[thing] += 1
    return mark()


@traits(view="document", answers=True)
@tool(response_format="content_and_artifact")
async def hand_out(runtime: Runtime) -> Answer:
    """Give the user a list."""
    name = mark()
    return result(message=name, view=Document(title=f"{name}.txt", content=name))


@traits(kind="selector")
@tool(response_format="content_and_artifact")
async def pick(runtime: Runtime) -> Answer:
    """Let the user choose."""
    return choice(f"Which, {mark()}?", [Option("red"), Option("blue")])


@tool
async def weigh(thing: str) -> str:
    """Weigh a thing."""
    return mark()


@tool
async def burn() -> str:
    """Fail."""
    raise OSError("it burns")


TOOLS = (find, book, jot, move, hand_out, pick, weigh, burn)
SHOWING, WRITING = ("find", "book", "hand_out"), ("book", "jot", "move")
ENTRIES = ("plan_things", "get_acquainted")
CALLS = (*(each.name for each in TOOLS), UNDO_LAST, "hand_back", "no_such_tool", *ENTRIES)
TEXTS = (
    *("well, about that thing", "what do you know of hats?", "yes", "no", "no, go on", "undo", "2", "stop", "hm"),
    *("yes, and leave the rest", "red", "let's get acquainted", "thanks, that's all", "not the red one"),
)
VOTES = ("stay", "stay", "profile", "planner", "stay + get_acquainted", "stay + plan_things", "other", "yes", "no")
SEEN = tuple(phrase(f"seen_{seen}", "en") for seen in ("shown", "with_words", "as_answer"))


class Reply(NamedTuple):
    """A model's reply: words and calls, or a failure."""

    has_words: bool = True
    calls: Sequence[str] = ()
    fails: bool = False


class UserTurn(NamedTuple):
    """A user's message, and the models' replies to it."""

    text: str
    replies: Sequence[Reply]
    votes: Sequence[str]
    stop_at: int | None
    """The number of the event at which the user stops the answer."""
    gives_way: bool
    is_sent_again: bool


REPLIES = st.builds(
    Reply,
    has_words=st.booleans(),
    calls=st.lists(st.sampled_from(CALLS), max_size=3),
    fails=st.sampled_from([False] * 12 + [True]),
)
TURNS = st.builds(
    UserTurn,
    text=st.sampled_from(TEXTS),
    replies=st.lists(REPLIES, max_size=5),
    votes=st.lists(st.sampled_from(VOTES), max_size=3),
    stop_at=st.none() | st.none() | st.integers(1, 30),
    gives_way=st.booleans(),
    is_sent_again=st.booleans(),
)


class StrongModels(Script):
    """Models that say and call what a turn lists, whoever is asked; behind that they say a few words."""

    replies: Iterator[Reply] = iter(())
    votes: Iterator[str] = iter(())
    message = ""

    def begin(self, message: str, turn: UserTurn) -> None:
        """Take up the replies of a turn."""
        self.message, self.replies, self.votes = message, iter(turn.replies), iter(turn.votes)

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the next reply of the turn; one without words and calls only where the user sees the last result."""
        if role == "observer":
            return next(self.votes, "stay")
        reply = next(self.replies, Reply())
        if reply.fails:
            return ConnectionRefusedError("down")
        may_be_silent = reply.calls or messages[-1].text.endswith(SEEN)
        words = [f"{mark()} it is."] if reply.has_words or not may_be_silent else []
        return [*words, *map(self._call, reply.calls)] or ""

    def _call(self, name: str) -> Call:
        # The same call in a later reply of a turn, or in another try, means the same write.
        return Call(name, {"thing": f"{name} {self.message}"} if name in (*WRITING, "weigh") else {})


def with_tools(speakers: Speakers) -> Speakers:
    """Give everybody the tools of the test."""
    supervisor = replace(speakers.supervisor, tools=(*speakers.supervisor.tools, *TOOLS))
    changed = {name: replace(speakers.dialogs[name], tools=TOOLS) for name in ("planner", "profile")}
    return replace(speakers, supervisor=supervisor, dialogs={**speakers.dialogs, **changed})


@dataclass
class Talk:
    """A talk in the making, and what is wrong with it."""

    assistant: Assistant
    models: StrongModels
    faults: list[str] = field(default_factory=list)

    async def play(self, message: str, turn: UserTurn) -> None:
        """Play a turn, perhaps twice, and look at what it has left."""
        self.models.begin(message, turn)
        events = await self._played(message, turn, turn.stop_at)
        if turn.is_sent_again:
            events += await self._played(message, turn, None)
        await self._check_thread()
        assert not self.faults, "\n".join([*self.faults, *map(str, events)])

    async def _played(self, message: str, turn: UserTurn, stop_at: int | None) -> list[Event]:
        events: list[Event] = []
        async for event in self.assistant.play(Turn(thread=THREAD, text=turn.text, id=message)):
            events.append(event)
            if len(events) == stop_at:
                await self.assistant.stop(THREAD, after_tools=turn.gives_way)
        if turn.stop_at is None and not any(map(_is_seen, events)):
            self.faults.append("the turn was silent")
        if _ends_untold(events):
            self.faults.append("a write was not told")
        return events

    async def _check_thread(self) -> None:
        """Hold histories against the transcript: nothing is lost, open, or done twice."""
        kept, state = KeptReplies(), await values(self.assistant)
        await kept.take(self.assistant, THREAD)
        seen = "\n".join(line.text for line in await self.assistant.history(THREAD) if line.role == "assistant")
        histories = [talk.get("messages", []) for talk in state.get("talks", {}).values()]
        views = [result for messages in histories for result in _shown(messages)]
        self.faults += [f"kept and never seen: {text}" for text in kept.unseen]
        self.faults += [f"shown to nobody: {view.text}" for view in views if view.text.partition("\n")[0] not in seen]
        self.faults += [f"written {times} times: {thing}" for thing, times in WRITTEN.items() if times > 1]
        if not state.get("pending"):
            self.faults += [f"open: {call}" for call in await open_calls(self.assistant)]


def _shown(messages: Iterable[BaseMessage]) -> Iterator[ToolMessage]:
    """Yield the results of which a model was told that the user sees them: at once, or with its next words."""
    with_words: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            seen = notes_of(message).get("seen") if message.name in SHOWING else ""
            if seen in ("shown", "as_answer"):
                yield message
            with_words += [message] if seen == "with_words" else []
        else:
            if isinstance(message, AIMessage) and message.text.strip():
                yield from with_words
            with_words = []


def _ends_untold(events: Iterable[Event]) -> bool:
    """Tell whether something was written, and neither said in its own reply nor behind it."""
    has_words = is_untold = False
    for event in events:
        if _is_seen(event):
            has_words, is_untold = True, False
        elif isinstance(event, ModelStart) and event.speaker in ROLES:
            has_words = False
        elif isinstance(event, ToolEnd) and event.tool == UNDO_LAST:
            is_untold = False
        elif isinstance(event, ToolEnd) and event.ok and event.tool in WRITING:
            # A reply that ends a dialog has its last words beside the call. What a no has closed is no write.
            is_untold = is_untold or not has_words
    return is_untold


def _is_seen(event: Event) -> bool:
    if isinstance(event, Message):
        return bool(event.text.strip())
    return isinstance(event, View | Interrupt | Error)


async def _talk(turns: Sequence[UserTurn], path: Path) -> None:
    WRITTEN.clear()
    models = StrongModels()
    async with stage(path, models.models(ROLES), change=with_tools) as assistant:
        talk = Talk(assistant, models)
        for number, turn in enumerate(turns):
            await talk.play(f"m{number}", turn)


@pytest.mark.slow
@tried(int(os.environ.get("RANDOM_TALKS", "50")))
@given(st.lists(TURNS, min_size=14, max_size=14))
def test_nothing_is_lost_unsaid(tmp_path: Path, turns: Sequence[UserTurn]) -> None:
    """Words, cards, questions, handoffs, failures, stops: what is kept was seen, and what was written is told."""
    asyncio.run(_talk(turns, tmp_path / f"{mark()}.db"))
