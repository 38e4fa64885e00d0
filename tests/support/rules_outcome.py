"""A room in which something was said already, and what the rule-based model did in its room."""

import copy
import json
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from tests.support.rules_room import Room

Lang = Literal["en", "ru"]
PROFILE = {
    "en": ["let's get acquainted", "nurse", "Python and Ruby"],
    "ru": ["давай познакомимся", "медсестра", "Python и Ruby"],
}


def room_after(lang: Lang, lines: Sequence[str], todos: Sequence[tuple[str, bool]] = ()) -> Room:
    """Return a room in which somebody has said these lines; they are played once, and the room is copied."""
    return copy.deepcopy(_room_after(lang, (*lines,), (*todos,)))


@cache
def _room_after(lang: Lang, lines: tuple[str, ...], todos: tuple[tuple[str, bool], ...]) -> Room:
    room = Room(lang, todos=[[*todo] for todo in todos])
    for line in lines:
        room.says(line)
    return room


def acted(room: Room) -> list[str]:
    """Return the tool calls of the last turn, hand-overs left out."""
    entries = ("get_acquainted", "plan_things", "hand_back")
    return [line for line in room.trace if not any(f".{name}(" in line for name in entries)]


def call(name: str, **args: Any) -> str:
    """Return a tool call as the room traces it."""
    return f"{name}({json.dumps(args, ensure_ascii=False)})"
