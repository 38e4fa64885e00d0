"""A person in the assistant's place, for tests of the doors; the plug-in is loaded where it is used alone."""

from importlib import import_module
from typing import Any

from app.assistant import Assistant

ANNA = ("Anna", "desk Anna")


def seats(assistant: Assistant) -> Any:
    """Return the seats of an assistant."""
    return assistant.services.get(import_module("app.plugins.seat.seats").Seats)


def operator(name: str, id: str) -> Any:
    """Return an operator."""
    return import_module("app.plugins.seat.place").Operator(name, id)


async def take(assistant: Assistant, thread: str, who: tuple[str, str] = ANNA) -> None:
    """Let a person hold a thread."""
    await import_module("app.plugins.seat.seats").take_seat(assistant, thread, operator(*who))


async def say(assistant: Assistant, thread: str, text: str, who: tuple[str, str] = ANNA) -> None:
    """Let a person say something."""
    await seats(assistant).say(thread, operator(*who), text, "1")


async def hand_back(assistant: Assistant, thread: str) -> None:
    """Let Anna hand a thread back."""
    await seats(assistant).hand_back(thread, operator(*ANNA))
