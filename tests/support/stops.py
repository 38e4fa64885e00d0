"""Stop an answer at an event, and read its text before that."""

from collections.abc import Callable
from typing import Any

from agents.events import Event, Message, Token, TurnEnd
from app.assistant import Assistant, Turn
from app.testing.script import Call
from tests.support.scripted_assistant import THREAD

PLAN = Call("plan_things", {"brief": "to-dos"})


async def play_until(
    assistant: Assistant, text: str, when: Callable[[Event], bool], message_id: str | None = None
) -> list[Event]:
    """Play a message and stop it at the first event for which `when` is true; return all events."""
    events: list[Event] = []
    named: dict[str, Any] = {"id": message_id} if message_id else {}
    async for event in assistant.play(Turn(thread=THREAD, text=text, **named)):
        if not any(map(when, events)) and when(event):
            assert await assistant.stop(THREAD)
        events.append(event)
    assert any(map(when, events))
    assert isinstance(events[-1], TurnEnd)
    return events


def messages(events: list[Event]) -> list[tuple[str, str, bool]]:
    """Return each message to the user: speaker, text, and whether it was interrupted."""
    return [(event.speaker, event.text, event.interrupted) for event in events if isinstance(event, Message)]


def word(text: str) -> Callable[[Event], bool]:
    """Recognise a piece of an answer."""
    return lambda event: isinstance(event, Token) and event.text.strip() == text
