"""Turns that are played on a stage to their end, with their events."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.events import Event, Message, ModelEnd, TurnEnd, TurnStart, trace
from agents.state import SUPERVISOR
from app.assistant import Assistant, Turn
from app.plugins.lab.mocks import Mocked
from app.prices import Price, Tokens
from app.process.logs import silence

THREAD = "lab"
DEVICE = "lab"
"""The name of the door, for tools and permissions."""


@dataclass(frozen=True)
class PlayedTurn:
    """One turn with its events."""

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
        """The text of the messages to the user."""
        return "\n\n".join(event.text for event in self.events if isinstance(event, Message))

    @property
    def _end(self) -> TurnEnd | None:
        return next((event for event in reversed(self.events) if isinstance(event, TurnEnd)), None)

    @property
    def holder(self) -> str:
        """The active agent after the turn."""
        return (self._end.dialog if self._end else None) or SUPERVISOR

    @property
    def waits(self) -> bool:
        """Whether a tool waits for the user."""
        return bool(self._end and self._end.waiting)

    @property
    def used(self) -> Mapping[str, Tokens]:
        """The usage of the model calls, by model."""
        used: defaultdict[str, Tokens] = defaultdict(Tokens)
        for end in (event for event in self.events if isinstance(event, ModelEnd)):
            used[end.model].add(Tokens.of(end))
        return used

    @property
    def calls(self) -> int:
        """The number of model calls."""
        return sum(tokens.calls for tokens in self.used.values())

    @property
    def tokens(self) -> int:
        """The number of tokens that models have read and written."""
        return sum(tokens.input + tokens.output for tokens in self.used.values())

    def price(self, prices: Mapping[str, Price]) -> float:
        """Return the cost of the turn; a model without a price costs nothing."""
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
    """Play one message to its end, and return the turn; each thread has a user of its own, unless one is named."""
    begun = time.perf_counter()
    turn = Turn(thread=thread, text=text, user=user, lang=lang, source=source, device=device)
    with silence():
        events = [event async for event in assistant.play(turn)]
    return PlayedTurn(text, events, time.perf_counter() - begun)
