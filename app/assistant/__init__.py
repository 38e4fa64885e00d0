"""The engine behind every door: `Assistant.play` takes a user message (`Turn`) through the graph, once."""

from app.assistant.assistant import Assistant
from app.assistant.turn import Turn

__all__ = ["Assistant", "Turn"]
