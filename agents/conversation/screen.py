"""What the user saw last, numbered as they saw it, so that a model understands "the second one"."""

from collections.abc import Sequence
from functools import partial

from agents.conversation.changes import Change, Move, say
from agents.events.views import View, stored_view
from agents.state import State
from agents.state.person import Shown
from agents.state.talk import Json

MOST_VIEWS = 2
"""Views that are remembered."""
MOST_LINES = 20
"""Lines of a view that are remembered."""
LONGEST_LINE = 120
"""Characters of a line that are remembered."""


def on_screen(state: State, title: str, lines: Sequence[str]) -> list[Shown]:
    """Return what stands on the screen after a view with these lines; a view without lines leaves it as it is."""
    before = state.get("screen", [])
    if not lines:
        return before
    shown: Shown = {"title": title[:LONGEST_LINE], "lines": [line[:LONGEST_LINE] for line in lines[:MOST_LINES]]}
    return [*before, shown][-MOST_VIEWS:]


def show(view: View, speaker: str, state: State, original: str = "") -> Change:
    """Show a view in place of what a speaker says, once."""
    spoken, messages = say(speaker, view.text(), shown=True, original=original)
    screen = on_screen(state, view.title, view.numbered())
    return {**spoken, "screen": screen, "view": None}, [view, *messages]


def show_stored(body: Json | None, speaker: str) -> list[Move]:
    """Return what shows a stored view; nothing without a view, or for a view of an unknown kind."""
    view = stored_view(body) if body else None
    return [partial(show, view, speaker)] if view else []


def worded(screen: Sequence[Shown]) -> str:
    """Return the screen in words, the latest view last."""
    return "\n".join(_view(shown) for shown in screen)


def _view(shown: Shown) -> str:
    return "\n".join([*([f"{shown['title']}:"] if shown["title"] else []), *shown["lines"]])
