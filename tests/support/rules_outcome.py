"""What the rule-based model did in its room."""

import json
from typing import Any, Literal

from tests.support.rules_room import Room

Lang = Literal["en", "ru"]
PROFILE = {
    "en": ["let's get acquainted", "nurse", "Python and Ruby"],
    "ru": ["давай познакомимся", "медсестра", "Python и Ruby"],
}


def acted(room: Room) -> list[str]:
    """Return the tool calls of the last turn, hand-overs left out."""
    entries = ("get_acquainted", "plan_things", "hand_back")
    return [line for line in room.trace if not any(f".{name}(" in line for name in entries)]


def call(name: str, **args: Any) -> str:
    """Return a tool call as the room traces it."""
    return f"{name}({json.dumps(args, ensure_ascii=False)})"
