"""Changes of a conversation: a node's update of the state, and the events for it."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import Unpack

from agents.events import Event, Message, Observed
from agents.events.views import View, stored_view
from agents.state import Plain, Said, State
from agents.state.speaker_state import SpeakerUpdate, merge_talks
from agents.state.verdict import By, Kind, Vote
from agents.toolkit.context import Context, emitter
from agents.toolkit.questions.options import CONFIRM

MOST_LINES = 20
"""The most lines of a view to remember."""
LONGEST_LINE = 120
"""The most characters of such a line."""
MOST_SEEN = 2000
"""The most characters of views that a history holds in place of words."""


def lists_options(state: State) -> bool:
    """Tell whether the open question has numbered options: no later message points at yes and no."""
    pending = state.get("pending", [])
    return bool(pending and pending[0]["options"] and pending[0]["kind"] != CONFIRM)


def waiting_views(state: State) -> list[View]:
    """Return the waiting views of known kinds, in their order; of all lists only the last has numbers."""
    views, is_above_list = list[View](), lists_options(state)
    for waiting in reversed(state.get("views", [])):
        if view := stored_view(waiting["body"]):
            numbered = {"unnumbered": True} if is_above_list and view.numbered() else {}
            is_above_list = is_above_list or bool(view.numbered())
            views.insert(0, view.model_copy(update={"call": waiting["call"], **numbered}))
    return views


class Update(Plain, total=False):
    """A node's update of the state: the keys that it changes."""

    talks: dict[str, SpeakerUpdate]
    votes: list[Vote]
    said: list[Said]


class Change:
    """A change in the making: each step sees the state after the steps before it."""

    def __init__(self, state: State) -> None:
        self.state: State = {**state}
        self.update: Update = {}
        self.events: list[Event] = []

    def put(self, **values: Unpack[Plain]) -> None:
        """Set keys of the state."""
        self.state = {**self.state, **values}
        self.update = {**self.update, **values}

    def talk(self, speaker: str, **values: Unpack[SpeakerUpdate]) -> None:
        """Change a speaker's state."""
        if values.get("status") == "finished":
            values["settled"] = self.state["heard"]["id"]
        talks = self.update.setdefault("talks", {})
        before = talks.get(speaker, {})
        # A new history has the messages that were appended to the old one.
        appended = [] if "messages" in values else before.get("add", [])
        talks[speaker] = {**before, **values, "add": [*appended, *values.get("add", [])]}
        self.state = {**self.state, "talks": merge_talks(self.state.get("talks", {}), {speaker: values})}

    def add(self, speaker: str, *messages: AnyMessage) -> None:
        """Append messages to a speaker's history."""
        self.talk(speaker, add=[*messages])

    def tell(self, *events: Event) -> None:
        """Collect events for the player of the turn."""
        self.events += events

    def decide(self, observer: str, kind: Kind, reason: str, target: str | None = None, by: By = "free") -> None:
        """Tell the decision on the message, and its maker."""
        self.tell(Observed(observer=observer, verdict=kind, target=target, reason=reason, by=by))

    def say(self, speaker: str, text: str) -> None:
        """Say something to the user."""
        self.deliver(Message(speaker=speaker, text=text))

    def deliver(self, message: Message, *, is_told: bool = False) -> None:
        """Say a message to the user, with its citations; `is_told`: its event was sent before."""
        self.tell(*([] if is_told else [message]))
        line: Said = {"speaker": message.speaker, "text": message.text}
        if message.citations:
            line["citations"] = [*message.citations]
        self.update["said"] = [*self.update.get("said", []), line]
        self.state = {**self.state, "said": [*self.state.get("said", []), line]}

    def show_views(self, speaker: str, original: str = "", *, is_told: bool = False) -> str:
        """Show the waiting views, in their order; return their words.

        `original` are the words of the model that the last one replaces; `is_told` is as in `deliver`.
        """
        views = waiting_views(self.state)
        for number, view in enumerate(views, 1):
            self.tell(*([] if is_told else [view]))
            words = original if number == len(views) else ""
            self.deliver(Message(speaker=speaker, text=view.text(), shown=True, original=words), is_told=is_told)
            self.screen(view.title, view.numbered())
        if self.state.get("views"):
            self.put(views=[])
        return "\n".join(view.text() for view in views)

    def screen(self, title: str, lines: Sequence[str]) -> None:
        """Remember the list on the screen; a view without lines leaves it as it is."""
        if lines:
            cut = [line[:LONGEST_LINE] for line in lines[:MOST_LINES]]
            # The user calls entries by the numbers of the last list, so that no other one is remembered.
            self.put(screen=[{"title": title[:LONGEST_LINE], "lines": cut}])

    def emit(self, runtime: Runtime[Context]) -> Update:
        """Send the events; return the node's update."""
        send = emitter(runtime)
        for event in self.events:
            send(event)
        return self.update
