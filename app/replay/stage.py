"""The stage: the assistant on a database of its own, and turns that are played on it to their end."""

import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agents.events import Event, Message, ModelEnd, TurnEnd, TurnStart, trace
from agents.models import Models
from agents.state import SUPERVISOR
from agents.toolkit.speaker import Speakers
from app.assistant import Assistant, Turn
from app.composition import open_assistant
from app.mocks import Mocked
from app.prices import Price, Tokens
from app.process.logs import silence
from app.settings import Settings

THREAD = "lab"
DEVICE = "lab"
"""The door, as tools and permissions know it."""


@asynccontextmanager
async def staged(
    settings: Settings, speakers: Speakers, models: Models | None = None, folder: Path | None = None
) -> AsyncIterator[Assistant]:
    """Open the assistant on a database of its own, which is gone afterwards unless a folder keeps it.

    Nothing of it reaches the users of the installation. Remote tools are not there.

    Raises:
        ConfigError: a setting is wrong.
    """
    with tempfile.TemporaryDirectory() as scratch:
        url = f"sqlite:///{(folder or Path(scratch)) / 'lab.db'}"
        # What a folder keeps is read by whoever looks into the lab, and outlives a change of the key.
        key = None if folder else settings.database_key
        own = settings.model_copy(update={"database_url": url, "database_key": key, "turns_per_hour": 0})
        async with open_assistant(own, models=models, remote=False, speakers=speakers) as assistant:
            yield assistant


@dataclass(frozen=True)
class PlayedTurn:
    """One turn as it went."""

    text: str | None
    events: Sequence[Event] = field(repr=False)
    seconds: float

    @property
    def trace(self) -> str:
        """The trace without the user's line."""
        return trace(event for event in self.events if not isinstance(event, TurnStart))

    @property
    def comparable(self) -> str:
        """The trace as it would be if the mocks were tools."""
        return trace(event for event in self.events if not isinstance(event, Mocked | TurnStart))

    @property
    def answer(self) -> str:
        """What was said to the user."""
        return "\n\n".join(event.text for event in self.events if isinstance(event, Message))

    @property
    def _end(self) -> TurnEnd | None:
        return next((event for event in reversed(self.events) if isinstance(event, TurnEnd)), None)

    @property
    def holder(self) -> str:
        """Who holds the conversation afterwards."""
        return (self._end.dialog if self._end else None) or SUPERVISOR

    @property
    def waits(self) -> bool:
        """Whether a tool waits for the user."""
        return bool(self._end and self._end.waiting)

    @property
    def used(self) -> Mapping[str, Tokens]:
        """What calls of models took, by model."""
        used: defaultdict[str, Tokens] = defaultdict(Tokens)
        for end in (event for event in self.events if isinstance(event, ModelEnd)):
            used[end.model].add(Tokens(1, end.input_tokens, end.cached_tokens, end.output_tokens))
        return used

    @property
    def calls(self) -> int:
        """The calls of models."""
        return sum(tokens.calls for tokens in self.used.values())

    @property
    def tokens(self) -> int:
        """The tokens that models have read and written."""
        return sum(tokens.input + tokens.output for tokens in self.used.values())

    def price(self, prices: Mapping[str, Price]) -> float:
        """Return what the turn has cost; a model without a price costs nothing."""
        return sum(prices[model].of(tokens) for model, tokens in self.used.items() if model in prices)


async def play(
    assistant: Assistant,
    text: str | None,
    *,
    lang: str | None = None,
    thread: str = THREAD,
    source: str = "message",
    user: str | None = None,
    device: str = DEVICE,
) -> PlayedTurn:
    """Play one message to its end, and tell how it went; each thread has a user of its own, unless one is named."""
    begun = time.perf_counter()
    turn = Turn(thread=thread, text=text, user=user, lang=lang, source=source, device=device)
    with silence():
        events = [event async for event in assistant.play(turn)]
    return PlayedTurn(text, events, time.perf_counter() - begun)
