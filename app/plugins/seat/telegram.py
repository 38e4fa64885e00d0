"""The chat of the operators in Telegram, whose library takes half a second to load."""

from importlib import import_module
from typing import Any, Literal

from app.doors.operators import OperatorChats


class SeatChat(OperatorChats):
    """Posts calls for a person to a chat; `people` may take over there."""

    def __init__(self, chat: int, people: frozenset[int] | Literal["*"]) -> None:
        self._chat, self._people = chat, people

    def open(self, door: Any, lang: str) -> Any:
        """See `OperatorChats`."""
        operators = import_module("app.plugins.seat.operator_chat")
        return operators.OperatorChat(door, self._chat, self._people, lang)
