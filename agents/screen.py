"""What the user saw last, numbered as they saw it, so that "the second one" means something."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from agents.events import Event, Message
from agents.state import Shown, State
from agents.views import View, read_view

LOG = logging.getLogger(__name__)
VIEWS = 2
"""Views that are remembered."""
LINES = 20
LONGEST = 120
"""Characters of a line that are remembered."""


def on_screen(state: State, title: str, lines: Sequence[str]) -> list[Shown]:
    """Return what is on the screen once a view with these lines was shown; one without any changes nothing."""
    before = state.get("screen", [])
    if not lines:
        return before
    shown: Shown = {"title": title[:LONGEST], "lines": [line[:LONGEST] for line in lines[:LINES]]}
    return [*before, shown][-VIEWS:]


def show(view: View, speaker: str, state: State, original: str = "") -> tuple[dict[str, Any], list[Event]]:
    """Show a view in place of what a speaker says, once."""
    text = view.text()
    message = Message(speaker=speaker, text=text, shown=True, original=original)
    screen = on_screen(state, view.title, view.numbered())
    return {"said": [{"speaker": speaker, "text": text}], "screen": screen, "view": None}, [view, message]


def stored_view(body: Mapping[str, Any]) -> View | None:
    """Return a view that was stored; None for one of a kind or form that is no longer known."""
    try:
        return read_view(body)
    except ValueError as unknown:
        LOG.warning("a stored view cannot be shown: %s", str(unknown).partition(":")[0])
        return None


def worded(screen: Sequence[Shown]) -> str:
    """Return the screen in words, the latest view last."""
    return "\n".join(_view(shown) for shown in screen)


def _view(shown: Shown) -> str:
    return "\n".join([*([f"{shown['title']}:"] if shown["title"] else []), *shown["lines"]])
