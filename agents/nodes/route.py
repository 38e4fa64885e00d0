"""The first node of a turn: who holds the conversation next, in tiers from free to costly.

1. Free: an undo, the answer to an offer, a helper's name, an answer that fits what was asked.
2. Gate: a local guess.
3. Observers, beside the dialog's own draft or before it (`agents.nodes.observer`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.context import Context
from agents.conversation import forgetting, handover
from agents.conversation.changes import Change, Move, Update, emit, put, say, sequence
from agents.conversation.free import fits, named
from agents.conversation.heard import is_foreign
from agents.conversation.migration import keep_up
from agents.conversation.persons import turn_to
from agents.conversation.scene import Scenes
from agents.events.handover import Guessed, Observed
from agents.gate import HIGH, LOW, Gate, Guess
from agents.nodes import ask
from agents.person import Heard, Switch, Wish
from agents.questions import ANSWERS, is_meant
from agents.scene import Scene
from agents.speaker import Speaker
from agents.state import SUPERVISOR, State, holder_of
from agents.talk import merge_talks, shortened
from agents.text.phrases import is_said, says
from agents.verdict import By, Kind
from prompts import phrase

Recognise = Callable[[str], Awaitable[str | None]]
"""Returns the tool that a text clearly asks for, if there is one: a shortcut, or a dialog's entry."""
Watchers = Mapping[str, Callable[[Scene], bool] | None]
"""The observers that look at a message before the answer, by name, each with its own test if it has one."""
FRESH: Update = {
    "asked": [],
    "drafting": False,
    "undone": False,
    "verdict": None,
    "hops": 0,
    "view": None,
    "shortcut": None,
    "agreed": None,
    "undoing": None,
}
"""What each turn begins with."""
PASSING: Update = {"offer": None, "switched": None, "forgetting": None}
"""What the next message of the user may answer, and no later one."""


class Routing:
    """Decide who hears the user's message, and which observers watch it."""

    def __init__(
        self,
        watchers: Watchers,
        gate: Gate,
        recognise: Recognise,
        scenes: Scenes,
    ) -> None:
        self.speakers, self.watchers, self.gate, self.recognise = scenes.speakers, watchers, gate, recognise
        self.scenes = scenes

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Begin the turn."""
        text = state["heard"]["text"]
        shortcut = await self.recognise(text) if text else None
        turn = state.get("turn", 0) + 1
        own = turn_to(state, runtime.context.user)
        begun = cast(State, {**state, **own, **FRESH, "votes": [], "said": [], "turn": turn, "shortcut": shortcut})
        update, events = sequence(begun, _cut, *keep_up(begun, self.speakers), self._decide)
        emit(runtime, events)
        holder = handover.hold(begun.get("dialog"))
        anew: dict[str, object] = {"votes": Overwrite([]), "said": Overwrite(update.get("said", []))}
        if "talks" in own:
            anew["talks"] = Overwrite(merge_talks(begun["talks"], update.get("talks", {})))
        return {**FRESH, **own, **holder, **PASSING, "turn": turn, **update, **anew}

    def _decide(self, state: State) -> Change:
        """Take the message as the answer to a tool's question, if it is one; else decide which speaker hears it."""
        chosen = state["heard"]["source"] in ANSWERS
        if not state.get("pending"):
            return ask.gone(state) if chosen else self._choose(state)
        if state["heard"]["text"] is None:
            # The user said nothing, so the question stays; it is put on the screen again.
            return ask.announce(state)
        meant = is_meant(state["pending"][0], state["heard"]) and (chosen or not self._leaves_question(state))
        if meant and (change := ask.answered(state, state["heard"], self.speakers)):
            decided = _decided("answer", "stay", None, "answers what a tool asked", "free")
            return sequence(state, decided, lambda _: change)
        if chosen:
            return ask.gone(state)
        if state.get("shortcut") and (beside := self._choose(state))[0].get("shortcut"):
            # A shortcut leaves the question open: it is served, and the question is put again.
            return {**beside[0], **_guarded(state)}, beside[1]
        return sequence(state, ask.left, self._choose)

    def _leaves_question(self, state: State) -> bool:
        """Tell whether a message that plainly asks for a dialog is no answer to the open question, whoever asked it.

        The gate has to agree, as within a dialog: "plan my week" may well be filled in.
        """
        entry, pending = self.speakers.by_tool(state.get("shortcut") or ""), state["pending"][0]
        if entry is None or entry.name == pending["speaker"]:
            return False
        scene = replace(self.scenes.of(self.speakers[pending["speaker"]], state), reply=pending["prompt"])
        return self.gate(scene).leaves >= LOW

    def _choose(self, state: State) -> Change:
        text = state["heard"]["text"]
        if text is None:
            return _heard_by(holder_of(state))
        # A message that somebody else wrote is no word of the user's.
        spoken: Update = {"foreign": is_foreign(state["heard"]), "declined": []}
        return sequence(state, put(spoken), self._by_words)

    def _by_words(self, state: State) -> Change:
        """Find who hears a message that answers no tool's question."""
        text = state["heard"]["text"] or ""
        if forgets := forgetting.heard(state):
            return forgets
        switched, offered = state.get("switched"), state.get("offer")
        if switched and self._is_undo(switched, state):
            return sequence(state, *self._undo(switched, state))
        if takes_back(state):
            decided = _decided("undo", "stay", None, "takes back what was written", "free")
            return sequence(state, decided, put({"undoing": "", "listener": None}))
        if offered and offered in self.speakers.dialogs and (answer := _answer(text, state["lang"])):
            return sequence(state, *self._answered(self.speakers[offered], answer, state))
        if _is_wish(offered, state):
            # The wish was told once; a user who speaks of something else has declined it.
            return sequence(state, put({"wishes": state["wishes"][1:]}), self._beyond_offer)
        return self._beyond_offer(state)

    def _beyond_offer(self, state: State) -> Change:
        """Find who hears a message that neither takes a switch back nor answers an offer."""
        text = state["heard"]["text"] or ""
        holder = state.get("dialog")
        if (name := named(text, self.speakers, state["lang"])) and name != holder:
            return sequence(state, *self._called(self.speakers[name], state))
        if says("home", text, state["lang"]):
            return sequence(state, *self._home(holder))
        entry = self.speakers.by_tool(state.get("shortcut") or "")
        if entry and not holder:
            return sequence(state, *self._entered(entry, state))
        if entry is None and (tool := state.get("shortcut")):
            decided = _decided("shortcut", "stay", None, f"asks for {tool}", "free")
            return sequence(state, decided, put({"shortcut": tool, "listener": None}))
        return self._watch(self.speakers[holder], state) if holder else _heard_by(SUPERVISOR)

    def _watch(self, dialog: Speaker, state: State) -> Change:
        """Leave the message to the dialog when it surely stays; otherwise call the observers."""
        scene = self.scenes.of(dialog, state)
        if reason := fits(scene, dialog.form):
            return sequence(state, _decided("expected", "stay", None, reason, "free"), _heard(dialog.name))
        guess = self.gate(scene)
        guessed = [Guessed(score=guess.score.value, model=guess.score.model)] if guess.score else []
        asked = called(dialog.observers, self.watchers, guess, scene)
        if not asked:
            stays = _decided("gate", "stay", None, guess.reason, "gate")
            return sequence(state, lambda _: ({}, [*guessed]), stays, _heard(dialog.name))
        entry = self.speakers.by_tool(state.get("shortcut") or "")
        if entry and entry.name != dialog.name:
            return sequence(state, lambda _: ({}, [*guessed]), *self._entered(entry, state))
        return {"asked": asked, "drafting": guess.leaves < HIGH, "listener": dialog.name}, [*guessed]

    def _entered(self, dialog: Speaker, state: State) -> list[Move]:
        """Give the message to the dialog that it plainly asks for; no model is asked whose it is."""
        holder = state.get("dialog")
        return [
            _decided("shortcut", "switch", dialog.name, f"asks for {dialog.name}", "free"),
            *([partial(handover.pause, self.speakers[holder], reason=dialog.name)] if holder else []),
            *handover.straight(dialog, state, loser=holder or SUPERVISOR),
        ]

    def _is_undo(self, switched: Switch, state: State) -> bool:
        """Tell whether the user takes a switch back; "go on" alone is no complaint where no dialog was left."""
        text, lang = state["heard"]["text"] or "", state["lang"]
        if switched["dialog"] == SUPERVISOR:
            # "Undo" means what was written there, if anything was.
            return says("mistaken", text, lang) and not (takes_back(state) and _has_just_written(state))
        return switched["dialog"] in self.speakers.dialogs and says("undo", text, lang)

    def _undo(self, switched: Switch, state: State) -> list[Move]:
        """Give the message that caused a switch to the speaker it was taken from."""
        if switched["dialog"] == SUPERVISOR:
            return self._undo_entry(switched, state)
        dialog, holder = self.speakers[switched["dialog"]], state.get("dialog")
        heard: Heard = {**state["heard"], "text": switched["heard"]["text"]}
        # What the wrong dialog has written goes with the switch.
        undoing = switched["heard"]["id"]
        wishes: list[Wish] = [{**wish, "left": False} for wish in state.get("wishes", [])]
        back: list[Move] = [
            _decided("undo", "switch", dialog.name, "the user took the switch back", "free"),
            *([partial(handover.finish, self.speakers[holder], reason="taken back")] if holder else []),
        ]
        if heard["text"] is None:
            # The dialog was left by a name alone, so there is no message for it: it says where it stood.
            return [*back, put({"undoing": undoing}), partial(handover.resume, dialog), _heard(None)]
        return [
            *back,
            partial(handover.resume, dialog, silently=True),
            put({"heard": heard, "listener": dialog.name, "undone": True, "wishes": wishes, "undoing": undoing}),
        ]

    def _undo_entry(self, switched: Switch, state: State) -> list[Move]:
        """Let the supervisor's model decide on the message that went straight to a dialog."""
        holder = state.get("dialog")
        heard: Heard = {**state["heard"], "text": switched["heard"]["text"]}
        return [
            _decided("undo", "supervisor", None, "the user took the switch back", "free"),
            *([partial(handover.finish, self.speakers[holder], reason="taken back")] if holder else []),
            put({"heard": heard, "listener": SUPERVISOR, "undoing": switched["heard"]["id"]}),
        ]

    def _answered(self, dialog: Speaker, answer: str, state: State) -> list[Move]:
        """Go on with the dialog on offer, or let it go; the same for the wish on offer."""
        if _is_wish(dialog.name, state):
            return self._wish_answered(dialog, answer, state)
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

    def _wish_answered(self, dialog: Speaker, answer: str, state: State) -> list[Move]:
        """Begin the wish on offer, or decline it."""
        wish, holder = state["wishes"][0], state.get("dialog")
        rest = put({"wishes": state["wishes"][1:], "foreign": wish.get("foreign", False)})
        if answer == "no":
            decided = _decided("offer", "supervisor", None, "the user declined a wish", "free")
            return [decided, rest, _heard(holder or SUPERVISOR)]
        return [
            _decided("offer", "switch", dialog.name, "the user accepted a wish", "free"),
            rest,
            *([partial(handover.pause, self.speakers[holder], reason=dialog.name)] if holder else []),
            partial(handover.take_over, dialog, brief=wish["brief"]),
            _heard(dialog.name),
        ]

    def _home(self, holder: str | None) -> list[Move]:
        """Interrupt the dialog, if one leads; the answer only confirms it."""
        leave = [partial(handover.pause, self.speakers[holder], reason="home")] if holder else []
        return [_decided("home", "supervisor", None, "called home", "free"), *leave, _at_home]

    def _called(self, dialog: Speaker, state: State) -> list[Move]:
        """Begin the dialog that the user called by its name; the name itself needs no answer, and can be taken back."""
        holder = state.get("dialog")
        heard: Heard = {**state["heard"], "text": None}
        switched: Switch | None = {"dialog": holder, "heard": heard} if holder else None
        return [
            _decided("name", "switch", dialog.name, "called by its name", "free"),
            *([partial(handover.pause, self.speakers[holder], reason=dialog.name)] if holder else []),
            partial(handover.take_over, dialog, brief=""),
            put({"heard": heard, "listener": dialog.name, "switched": switched}),
        ]


def called(names: Sequence[str], watchers: Watchers, guess: Guess, scene: Scene) -> list[str]:
    """Return the observers to ask: those whose own test fires, and if the message may leave, those without one."""
    asked = []
    for name in names:
        if name in watchers:
            when = watchers[name]
            if guess.leaves >= LOW if when is None else when(scene):
                asked.append(name)
    return asked


def takes_back(state: State) -> bool:
    """Tell whether a message takes back what was written: plainly, or by a word that means so right after a write."""
    text = state["heard"]["text"] or ""
    return is_said("take_back", text) or (_has_just_written(state) and is_said("take_back_now", text))


def _has_just_written(state: State) -> bool:
    return state.get("wrote") == state["turn"] - 1


def _guarded(state: State) -> Update:
    """Return what keeps a call from running unasked, as it is."""
    return {"foreign": state.get("foreign", False), "declined": state.get("declined", [])}


def _cut(state: State) -> Change:
    """Cut long histories; not later, since every prompt of a turn has to begin with the one before it."""
    return {"talks": shortened(state.get("talks", {}))}, []


def _at_home(state: State) -> Change:
    text = phrase("home", state["lang"])
    spoken, events = say(SUPERVISOR, text)
    heard = HumanMessage(state["heard"]["text"] or "", id=state["heard"]["id"])
    return {**spoken, "talks": {SUPERVISOR: {"add": [heard, AIMessage(text)]}}, "listener": None}, events


def _answer(text: str, lang: str) -> str | None:
    return next((idea for idea in ("yes", "no") if says(idea, text, lang)), None)


def _is_wish(offered: str | None, state: State) -> bool:
    """Tell whether the dialog on offer is that of a wish that was left, not a paused one."""
    wishes = state.get("wishes", [])
    return bool(offered and wishes and wishes[0].get("left") and wishes[0]["dialog"] == offered)


def _heard_by(speaker: str | None) -> Change:
    return {"listener": speaker}, []


def _heard(speaker: str | None) -> Move:
    return put({"listener": speaker})


def _decided(observer: str, kind: Kind, target: str | None, reason: str, by: By) -> Move:
    event = Observed(observer=observer, verdict=kind, target=target, reason=reason, by=by)
    return lambda _: ({}, [event])
