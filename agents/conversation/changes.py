"""Changes of a conversation: what a node writes into the state, and the events that tell of it."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import Unpack

from agents.events import Event, Message, Observed
from agents.events.views import View, stored_view
from agents.state import Plain, Said, State
from agents.state.person import Shown
from agents.state.talk import TalkUpdate, merge_talks
from agents.state.verdict import By, Kind, Vote
from agents.toolkit.context import Context, emitter

MOST_VIEWS = 2
"""Views that are remembered."""
MOST_LINES = 20
"""Lines of a view that are remembered."""
LONGEST_LINE = 120
"""Characters of a line that are remembered."""


class Update(Plain, total=False):
    """What a node writes into the state: the keys that it changes."""

    talks: dict[str, TalkUpdate]
    votes: list[Vote]
    said: list[Said]


class Change:
    """A change in the making: each step sees the state that the steps before it leave."""

    def __init__(self, state: State) -> None:
        self.state: State = {**state}
        self.update: Update = {}
        self.events: list[Event] = []

    def put(self, **values: Unpack[Plain]) -> None:
        """Set keys of the state."""
        self.state = {**self.state, **values}
        self.update = {**self.update, **values}

    def talk(self, speaker: str, **values: Unpack[TalkUpdate]) -> None:
        """Change what a speaker remembers."""
        if values.get("status") == "finished":
            values["settled"] = self.state["heard"]["id"]
        talks = self.update.setdefault("talks", {})
        before = talks.get(speaker, {})
        # A new history has what was appended to the old one.
        kept = [] if "messages" in values else before.get("add", [])
        talks[speaker] = {**before, **values, "add": [*kept, *values.get("add", [])]}
        self.state = {**self.state, "talks": merge_talks(self.state.get("talks", {}), {speaker: values})}

    def add(self, speaker: str, *messages: AnyMessage) -> None:
        """Append messages to a speaker's history."""
        self.talk(speaker, add=[*messages])

    def tell(self, *events: Event) -> None:
        """Tell whoever plays the turn what happens."""
        self.events += events

    def decide(self, observer: str, kind: Kind, reason: str, target: str | None = None, by: By = "free") -> None:
        """Tell who has decided on the message, and how."""
        self.tell(Observed(observer=observer, verdict=kind, target=target, reason=reason, by=by))

    def say(self, speaker: str, text: str) -> None:
        """Say something to the user."""
        self.deliver(Message(speaker=speaker, text=text))

    def deliver(self, message: Message) -> None:
        """Say a message to the user, with its citations."""
        self.tell(message)
        line: Said = {"speaker": message.speaker, "text": message.text}
        if message.citations:
            line["citations"] = [*message.citations]
        self.update["said"] = [*self.update.get("said", []), line]
        self.state = {**self.state, "said": [*self.state.get("said", []), line]}

    def show(self, view: View, speaker: str, original: str = "") -> None:
        """Show a view in place of what a speaker says, once."""
        self.tell(view)
        self.deliver(Message(speaker=speaker, text=view.text(), shown=True, original=original))
        self.screen(view.title, view.numbered())
        self.put(view=None)

    def show_stored(self, speaker: str) -> None:
        """Show the view that the last tool left, if there is one and its kind is known."""
        body = self.state.get("view")
        if view := stored_view(body) if body else None:
            self.show(view, speaker)

    def screen(self, title: str, lines: Sequence[str]) -> None:
        """Remember what stands on the screen; a view without lines leaves it as it is."""
        if lines:
            cut = [line[:LONGEST_LINE] for line in lines[:MOST_LINES]]
            shown: Shown = {"title": title[:LONGEST_LINE], "lines": cut}
            self.put(screen=[*self.state.get("screen", []), shown][-MOST_VIEWS:])

    def emit(self, runtime: Runtime[Context]) -> Update:
        """Send the events; return what the node writes."""
        send = emitter(runtime)
        for event in self.events:
            send(event)
        return self.update
