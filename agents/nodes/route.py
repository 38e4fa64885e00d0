"""The first node of a turn: who holds the conversation next, in tiers from free to costly.

1. Free: an undo, the answer to an offer, a helper's name, an answer that fits what was asked.
2. Gate: a local guess.
3. Observers, beside the dialog's own draft or before it (`agents.nodes.observer`).
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import cast

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from agents.context import Context
from agents.conversation import handover
from agents.conversation.changes import Change, Move, Update, sequence
from agents.conversation.free import fits, named
from agents.conversation.gate import HIGH, LOW, Gate
from agents.conversation.migration import keep_up
from agents.conversation.scene import scene
from agents.events import Message
from agents.events.handover import Observed
from agents.nodes import ask
from agents.questions import CHOICE, is_meant
from agents.scene import Scene
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR, State, Switch
from agents.text.phrases import says
from agents.verdict import By, Kind
from prompts import phrase

Recognise = Callable[[str], Awaitable[str | None]]
"""Returns the tool that a text is surely for."""
FRESH: Update = {
    "asked": [],
    "drafting": False,
    "undone": False,
    "votes": None,
    "verdict": None,
    "said": None,
    "hops": 0,
    "view": None,
    "shortcut": None,
}


class Routing:
    """Decide who hears the user's message, and which observers watch it."""

    def __init__(
        self,
        speakers: Speakers,
        watchers: Mapping[str, Callable[[Scene], bool]],
        gate: Gate,
        recognise: Recognise,
    ) -> None:
        self.speakers, self.watchers, self.gate, self.recognise = speakers, watchers, gate, recognise

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Begin the turn."""
        fresh = {**FRESH, "votes": [], "said": [], "turn": state.get("turn", 0) + 1}
        shortcut = await self.recognise(text) if (text := state["heard"]["text"]) else None
        begun = cast(State, {**state, **fresh, "shortcut": shortcut})
        holder = handover.hold(state.get("dialog"))
        moves = [*keep_up(begun, self.speakers), self._decide]
        update, events = sequence(begun, *moves)
        for event in events:
            runtime.stream_writer(event)
        said = update.pop("said", [])
        over = {**FRESH, **holder, "offer": None, "switched": None, "turn": begun["turn"]}
        return {**over, **update, "said": [None, *said]}

    def _decide(self, state: State) -> Change:
        """Take the message for the answer to what a tool asked, if it is one; else find out whom it is for."""
        chosen = state["heard"]["source"] == CHOICE
        if not state.get("pending"):
            return ask.gone(state) if chosen else self._choose(state)
        if state["heard"]["text"] is None:
            # Nothing was said that could leave the question; it is put on the screen again.
            return ask.announce(state)
        meant = is_meant(state["pending"][0], state["heard"])
        if meant and (change := ask.answered(state, state["heard"], self.speakers)):
            told = _decided("answer", "stay", None, "answers what a tool asked", "free")
            return sequence(state, told, lambda _: change)
        if chosen:
            return ask.gone(state)
        if state.get("shortcut") and (beside := self._choose(state))[0].get("shortcut"):
            # What takes no model leaves no question: it is served, and the question is put again.
            return beside
        return sequence(state, ask.left, self._choose)

    def _choose(self, state: State) -> Change:
        text = state["heard"]["text"]
        if text is None:
            return _heard_by(state.get("dialog") or SUPERVISOR)
        switched, offered = state.get("switched"), state.get("offer")
        if switched and switched["dialog"] in self.speakers.dialogs and says("undo", text, state["lang"]):
            return sequence(state, *self._undo(switched, state))
        if offered and offered in self.speakers.dialogs and (answer := _answer(text, state["lang"])):
            return sequence(state, *self._answered(self.speakers[offered], answer))
        holder = state.get("dialog")
        if (name := named(text, self.speakers, state["lang"])) and name != holder:
            return sequence(state, *self._called(self.speakers[name], state))
        if says("home", text, state["lang"]):
            return sequence(state, *self._home(holder))
        if tool := state.get("shortcut"):
            told = _decided("shortcut", "stay", None, f"asks for {tool}", "free")
            return sequence(state, told, lambda _: ({"shortcut": tool, "listener": None}, []))
        return self._watch(self.speakers[holder], state) if holder else _heard_by(SUPERVISOR)

    def _watch(self, dialog: Speaker, state: State) -> Change:
        """Leave the message to the dialog when it surely stays; otherwise call the observers."""
        moment = scene(self.speakers, dialog, state)
        if reason := fits(moment, dialog.form):
            return sequence(state, _decided("expected", "stay", None, reason, "free"), _heard(dialog.name))
        guess = self.gate(moment)
        asked = [name for name in dialog.observers if name in self.watchers and self.watchers[name](moment)]
        if guess.leaves < LOW or not asked:
            return sequence(state, _decided("gate", "stay", None, guess.reason, "gate"), _heard(dialog.name))
        return {"asked": asked, "drafting": guess.leaves < HIGH, "listener": dialog.name}, []

    def _undo(self, switched: Switch, state: State) -> list[Move]:
        """Give the message that caused a switch to the dialog it was taken from."""
        dialog, holder = self.speakers[switched["dialog"]], state.get("dialog")
        heard = {**state["heard"], "text": switched["heard"]["text"]}
        return [
            _decided("undo", "switch", dialog.name, "the user took the switch back", "free"),
            *([partial(handover.finish, self.speakers[holder], reason="taken back")] if holder else []),
            partial(handover.resume, dialog, silently=True),
            lambda _: ({"heard": heard, "listener": dialog.name, "undone": True}, []),
        ]

    def _answered(self, dialog: Speaker, answer: str) -> list[Move]:
        """Go on with the dialog on offer, or let it go."""
        if answer == "yes":
            return [
                _decided("offer", "switch", dialog.name, "the user accepted", "free"),
                partial(handover.resume, dialog),
                _heard(None),
            ]
        return [
            _decided("offer", "supervisor", None, "the user declined", "free"),
            partial(handover.drop, dialog),
            _heard(SUPERVISOR),
        ]

    def _home(self, holder: str | None) -> list[Move]:
        """Interrupt whoever holds the conversation; there is nothing to answer but that the user is heard."""
        leave = [partial(handover.pause, self.speakers[holder], reason="home")] if holder else []
        return [_decided("home", "supervisor", None, "called home", "free"), *leave, _at_home]

    def _called(self, dialog: Speaker, state: State) -> list[Move]:
        """Begin the dialog that the user called by its name; the name itself is nothing to answer."""
        holder, heard = state.get("dialog"), {**state["heard"], "text": None}
        return [
            _decided("name", "switch", dialog.name, "called by its name", "free"),
            *([partial(handover.pause, self.speakers[holder], reason=dialog.name)] if holder else []),
            partial(handover.take_over, dialog, brief=""),
            lambda _: ({"heard": heard, "listener": dialog.name}, []),
        ]


def _at_home(state: State) -> Change:
    message = Message(speaker=SUPERVISOR, text=phrase("home", state["lang"]))
    heard = HumanMessage(state["heard"]["text"] or "", id=state["heard"]["id"])
    said = {"speaker": SUPERVISOR, "text": message.text}
    update: Update = {"talks": {SUPERVISOR: {"add": [heard, AIMessage(message.text)]}}, "said": [said]}
    return {**update, "listener": None}, [message]


def _answer(text: str, lang: str) -> str | None:
    return next((idea for idea in ("yes", "no") if says(idea, text, lang)), None)


def _heard_by(speaker: str | None) -> Change:
    return {"listener": speaker}, []


def _heard(speaker: str | None) -> Move:
    return lambda _: _heard_by(speaker)


def _decided(observer: str, kind: Kind, target: str | None, reason: str, by: By) -> Move:
    event = Observed(observer=observer, verdict=kind, target=target, reason=reason, by=by)
    return lambda _: ({}, [event])
