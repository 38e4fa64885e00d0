"""Turns and events as JSON, on their way between doors and workers of this and of the next version."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

from agents.events import EVENTS, Event
from agents.sources.attachments import Contents
from agents.toolkit.client_tools import ClientTool
from app.assistant import Turn
from app.assistant.turn import Exchange

Part = TypeVar("Part", Turn, Contents, Exchange, ClientTool)


def turn_as_json(turn: Turn) -> str:
    """Return a turn as JSON, with the content of its files."""
    return json.dumps(asdict(turn))


def turn_of(written: str) -> Turn:
    """Return a turn that was written by `turn_as_json`."""
    raw = json.loads(written)
    before = tuple(_part(Exchange, each) for each in raw.get("before", ()))
    tools = tuple(_part(ClientTool, each) for each in raw.get("tools", ()))
    return _part(Turn, {**raw, "contents": _part(Contents, raw["contents"]), "before": before, "tools": tools})


def events_as_json(events: Sequence[Event]) -> str:
    """Return events as a list of pairs: the name of the class, and the fields."""
    return json.dumps([[type(event).__name__, event.model_dump(mode="json")] for event in events])


def events_of(written: str) -> list[Event]:
    """Return the events that `events_as_json` wrote; events of an unknown kind are left out."""
    # A newer version may write more.
    return [EVENTS[name].model_validate(raw, extra="ignore") for name, raw in json.loads(written) if name in EVENTS]


def _part(kind: type[Part], raw: Mapping[str, Any]) -> Part:
    # A newer version may write more.
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in raw.items() if name in names})
