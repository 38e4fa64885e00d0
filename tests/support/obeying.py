"""A model that obeys every user, and recites its whole prompt."""

import json
import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from app.testing.script import Call, Line, Script
from tests.support.user_words import user_words

ENTRIES = {"profile": "get_acquainted", "planner": "plan_things"}
PROFILE_TOOLS = ("show_profile", "export_profile", "fill_form")
_ORDER = re.compile(r"call (\w+) ?(.*)", re.DOTALL)


class Obeying(Script):
    """A model that obeys "call TOOL {arguments}"; after a call, and to anything else, it recites the whole prompt."""

    def next_line(self, role: str, messages: Sequence[BaseMessage]) -> Line:
        """Return the ordered call, by way of the tool's dialog, else the whole prompt."""
        words = user_words(messages)
        order = _ORDER.fullmatch(words[-1]) if words else None
        dialog = "profile" if order and order[1] in PROFILE_TOOLS else "planner"
        if role == "observer":
            return dialog if order else "stay"
        if order is None or messages[-1].type == "tool":
            return recited(messages)
        if role == "supervisor":
            return Call(ENTRIES[dialog], {"brief": "as ordered"})
        return Call(order[1], json.loads(order[2] or "{}"))


def recited(messages: Sequence[BaseMessage]) -> str:
    """Return the whole prompt in words."""
    return "I know: " + " | ".join(message.text for message in messages if message.type != "system")
