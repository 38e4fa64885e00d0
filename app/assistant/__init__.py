"""The engine behind every door: `Assistant.play` takes a user message (`Turn`) through the graph, once."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.assistant.assistant import Assistant
    from app.assistant.turn import Turn

__all__ = ["Assistant", "Turn"]
OF = {"Assistant": "app.assistant.assistant", "Turn": "app.assistant.turn"}
"""The modules of the two names, imported on their first use: a command that only reads rows imports no engine."""


def __getattr__(name: str) -> object:
    if name not in OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(OF[name]), name)
