"""Changes of a conversation: what they are, how one follows another, how their events are sent."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import cast

from langgraph.runtime import Runtime

from agents.events import Event, Message, Observed
from agents.events.views import View, stored_view
from agents.state import Plain, Said, State
from agents.state.citations import CitedReply
from agents.state.person import Shown
from agents.state.talk import Json, TalkUpdate, merge_talks
from agents.state.verdict import By, Kind, Vote
from agents.toolkit.context import Context, emitter


class Update(Plain, total=False):
    """What a node writes into the state: the keys that it changes."""

    talks: dict[str, TalkUpdate]
    votes: list[Vote]
    said: list[Said]


Change = tuple[Update, list[Event]]
"""What happens to the state, and the events that tell of it."""
Move = Callable[[State], Change]
"""One step of a change: it sees the state that the step before leaves."""
NOTHING: Change = ({}, [])
"""A change of nothing. Never altered: `sequence` copies what it merges."""


def sequence(state: State, *moves: Move) -> Change:
    """Make several changes one after another, each on the state that the one before leaves."""
    total: Update = {}
    events: list[Event] = []
    for move in moves:
        update, happened = move(state)
        talks = merge_talks(state.get("talks", {}), update.get("talks", {}))
        state = cast(State, {**state, **update, "talks": talks})
        total = _merged(total, update)
        events += happened
    return total, events


def _merged(first: Update, second: Update) -> Update:
    talks = dict(first.get("talks", {}))
    for name, talk in second.get("talks", {}).items():
        added = [*talks.get(name, {}).get("add", []), *talk.get("add", [])]
        talks[name] = {**talks.get(name, {}), **talk}
        if added:
            talks[name]["add"] = added
    return {**first, **second, "talks": talks, "said": [*first.get("said", []), *second.get("said", [])]}


def put(update: Update) -> Move:
    """Return the step that makes this update, whatever the state."""
    return lambda _: (update, [])


def say(speaker: str, text: str, *, shown: bool = False, original: str = "") -> Change:
    """Say something to the user; `shown` and `original` are those of the event `Message`."""
    return say_cited(speaker, CitedReply(text), shown=shown, original=original)


def say_cited(speaker: str, reply: CitedReply, *, shown: bool = False, original: str = "") -> Change:
    """Say something to the user that may cite sources."""
    message = Message(
        speaker=speaker,
        text=reply.text,
        shown=shown,
        original=original,
        citations=reply.citations,
        unknown_sources=reply.unknown,
    )
    line: Said = {"speaker": speaker, "text": reply.text}
    return {"said": [{**line, "citations": [*reply.citations]} if reply.citations else line]}, [message]


def emit(runtime: Runtime[Context], events: Iterable[Event]) -> None:
    """Send events to whoever plays the turn."""
    send = emitter(runtime)
    for event in events:
        send(event)


def give_to(speaker: str | None) -> Move:
    """Let a speaker hear the message; None if it has been answered."""
    return put({"listener": speaker})


def decision(observer: str, kind: Kind, target: str | None, reason: str, by: By) -> Move:
    """Tell who has decided on the message, and how."""
    event = Observed(observer=observer, verdict=kind, target=target, reason=reason, by=by)
    return lambda _: ({}, [event])


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


def screen_in_words(screen: Sequence[Shown]) -> str:
    """Return the screen in words, the latest view last."""
    return "\n".join(_view(shown) for shown in screen)


def _view(shown: Shown) -> str:
    return "\n".join([*([f"{shown['title']}:"] if shown["title"] else []), *shown["lines"]])
