"""An assistant for the doors that plays the events of a test: turn in, events out."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from agents.events import Event, Interrupt, Message, Token, TurnEnd, TurnStart
from agents.memory.inbox import TranscriptLine
from agents.memory.preferences import Preferences
from agents.memory.thread_list import ThreadInfo, ThreadList
from agents.toolkit.services import Services
from app.assistant import Assistant, Turn

T = TypeVar("T")
AT_MS = 1_760_000_000_000


def says(text: str, speaker: str = "supervisor") -> list[Event]:
    """Return the events of an answer: its words, then the message."""
    words = [Token(speaker=speaker, text=f"{word} ") for word in text.split()]
    return [*words, Message(speaker=speaker, text=text)]


class StandInForgetting:
    """Forgets nothing, in a thread of one person."""

    def __init__(self, lines: Sequence[TranscriptLine]) -> None:
        self._lines = lines

    async def thread(self, thread: str) -> bool:
        """Tell whether there was something to forget."""
        return bool(self._lines)

    async def is_shared(self, thread: str, user: str) -> bool:
        """Tell that nobody else is here."""
        return False

    async def writers(self, thread: str) -> set[str]:
        """Return the one person."""
        return {thread}


class StandInThreads(ThreadList):
    """The list of one thread, which exists after its first message."""

    def __init__(self, said: list[TranscriptLine]) -> None:
        self._said = said

    async def infos(self, *_: object, **__: object) -> list[ThreadInfo]:
        """Return the thread."""
        return [ThreadInfo("me", "ann", 2, AT_MS, self._said[0].text)] if self._said else []


class StandInTranscript:
    """A transcript of one thread."""

    def __init__(self, said: list[TranscriptLine]) -> None:
        self._said = said

    async def lines(self, thread: str, **_: object) -> list[TranscriptLine]:
        """Return the lines of the transcript."""
        return self._said


class StandIn:
    """An assistant that plays one list of events for each turn; `pace` is the wait before each event, in seconds."""

    reads = sees = True
    shortest_silence = 0

    def __init__(self, *turns: Sequence[Event], lines: Sequence[TranscriptLine] = (), pace: float = 0.0) -> None:
        self.heard: list[Turn] = []
        self.lines = list(lines)
        transcript, saver = StandInTranscript(self.lines), InMemorySaver()
        drawing = SimpleNamespace(draw_mermaid=lambda: "graph TD;")
        self.graph = SimpleNamespace(get_graph=lambda: drawing)
        threads = StandInThreads(self.lines)
        self.memory: Any = SimpleNamespace(store=InMemoryStore(), transcript=transcript, threads=threads, saver=saver)
        self.dialog: str | None = None
        self.dialogs: Mapping[str, str] = {}
        """The dialogs to which the user can go, with their descriptions."""
        self.forgetting = StandInForgetting(self.lines)
        self.services = Services()
        self.greets_with = ""
        """The greeting of a user."""
        self.languages: dict[str, str] = {}
        """The language that each user has chosen."""
        self._turns = list(turns)
        self._pace = pace
        self._stopped = asyncio.Event()

    @property
    def assistant(self) -> Assistant:
        """Return the stand-in as an `Assistant`, the type of the doors."""
        return cast(Assistant, self)

    async def greeting(self, user: str, lang: str) -> str:
        """Return the day of the test."""
        return self.greets_with

    def refuses(self, turn: Turn) -> bool:
        """Take every message."""
        return False

    async def play(self, turn: Turn) -> AsyncIterator[Event]:
        """Yield the next turn's events, numbered; after a stop only a message is left."""
        self.heard.append(turn)
        self._stopped.clear()
        events = [TurnStart(text=turn.text, source=turn.source), *self._turns.pop(0)]
        place: dict[str, Any] = {"thread": turn.thread, "turn": len(self.heard)}
        shown = ""
        for seq, event in enumerate(events, 1):
            await asyncio.sleep(self._pace)
            if self._stopped.is_set():
                yield Message(speaker="supervisor", text=shown, interrupted=True)
                break
            shown += event.text if isinstance(event, Token) else ""
            yield event.model_copy(update={"seq": seq, **place})
        waiting = any(isinstance(event, Interrupt) for event in events)
        about: dict[str, Any] = {"is_active": self.dialog is None, "dialog": self.dialog, "waiting": waiting}
        yield TurnEnd(seq=len(events) + 1, **about, **place)

    def ringing(self, *_: object, **__: object) -> AbstractAsyncContextManager[None]:
        """Ring nothing."""
        return nullcontext()

    async def stop(self, thread: str, user: str | None = None, *, after_tools: bool = False) -> bool:
        """Stop the turn that is played."""
        self._stopped.set()
        return True

    async def state(self, thread: str, user: str | None = None) -> dict[str, Any] | None:
        """Return a state after the first message."""
        if not self.lines:
            return None
        return {"thread": thread, "is_active": True, "dialog": None, "paused": ["profile"], "turn": 2}

    async def preferences(self, user: str) -> Preferences:
        """Return empty preferences."""
        return Preferences()

    async def last_message(self, thread: str, user: str) -> None:
        """Return nothing: no message is stored."""

    async def history(self, thread: str, user: str | None = None) -> list[TranscriptLine]:
        """Return the transcript of the test."""
        return self.lines

    async def threads(self, user: str | None = None, **more: Any) -> list[ThreadInfo]:
        """Return one thread after the first message."""
        threads: list[ThreadInfo] = await self.memory.threads.infos()
        return threads

    async def speak(self, user: str, lang: str) -> None:
        """Note a user's choice of language."""
        self.languages[user] = lang

    def prompt(self, dialog: str | None, lang: str) -> str:
        """Return a system prompt."""
        return f"You are {dialog or 'supervisor'}."

    def open(self, *_: object, **__: object) -> AbstractAsyncContextManager[Assistant]:
        """Stand in for `open_assistant`."""
        return _opened(self.assistant)

    def open_backend(self, *_: object, **__: object) -> AbstractAsyncContextManager[Any]:
        """Stand in for `Backend.open`."""
        return _opened(self.memory)


def _opened(thing: T) -> AbstractAsyncContextManager[T]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[T]:
        yield thing

    return opened()


def line(role: str, text: str, speaker: str = "", **metadata: Any) -> TranscriptLine:
    """Return a line of a transcript."""
    return TranscriptLine(cast(Any, role), speaker, text, 1, "id", AT_MS, metadata)
