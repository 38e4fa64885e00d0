"""The first node of a turn: who holds the conversation next, in tiers from free to costly.

1. Free: an undo, the answer to an offer, a helper's name, an answer that fits what was asked.
2. Gate: a local guess.
3. Observers, beside the dialog's own draft or before it (`agents.nodes.observer`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.conversation import forgetting, handover, switch
from agents.conversation.changes import Change, Update, decision, emit, give_to, put, sequence
from agents.conversation.gate import HIGH, LOW, Gate, Guess
from agents.conversation.heard import is_foreign
from agents.conversation.migration import keep_up
from agents.conversation.persons import turn_to
from agents.conversation.scene import Scene, scene_of
from agents.conversation.switch import fits, named
from agents.events import Guessed
from agents.language.text.vocabulary import says
from agents.nodes import ask
from agents.sources.attachments import has_words
from agents.state import SUPERVISOR, State, holder_of
from agents.state.person import FORWARDED
from agents.state.talk import merge_talks, shortened
from agents.toolkit.context import Context
from agents.toolkit.questions import ANSWERS, is_meant
from agents.toolkit.speaker import Speaker, Speakers

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

    def __init__(self, watchers: Watchers, gate: Gate, recognise: Recognise, speakers: Speakers) -> None:
        self.speakers, self.watchers, self.gate, self.recognise = speakers, watchers, gate, recognise

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Begin the turn."""
        text = state["heard"]["text"]
        is_own = state["heard"]["source"] != FORWARDED
        shortcut = await self.recognise(text) if text and is_own else None
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
        meant = is_meant(state["pending"][0], state["heard"]) and has_words(state["heard"], state["lang"])
        meant = meant and state["heard"]["source"] != FORWARDED
        meant = meant and (chosen or not self._leaves_question(state))
        if meant and (change := ask.answered(state, state["heard"], self.speakers)):
            decided = decision("answer", "stay", None, "answers what a tool asked", "free")
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
        scene = replace(scene_of(self.speakers[pending["speaker"]], state, self.speakers), reply=pending["prompt"])
        return self.gate(scene).leaves >= LOW

    def _choose(self, state: State) -> Change:
        text = state["heard"]["text"]
        if text is None:
            return _heard_by(holder_of(state))
        # A message that somebody else wrote is no word of the user's.
        spoken: Update = {"foreign": is_foreign(state["heard"]), "declined": []}
        if state["heard"]["source"] == FORWARDED:
            # It is no order, no undo and no answer: a model reads it, and nothing else does.
            return sequence(state, put(spoken), self._by_model)
        return sequence(state, put(spoken), self._by_words)

    def _by_model(self, state: State) -> Change:
        """Leave a message to the model of whoever holds the conversation."""
        holder = state.get("dialog")
        return self._watch(self.speakers[holder], state) if holder else _heard_by(SUPERVISOR)

    def _by_words(self, state: State) -> Change:
        """Find who hears a message that answers no tool's question."""
        text = state["heard"]["text"] or ""
        if forgets := forgetting.heard(state, self.speakers):
            return forgets
        switched, offered = state.get("switched"), state.get("offer")
        if switched and switch.is_taken_back(switched, state, self.speakers):
            return sequence(state, *switch.taken_back(switched, state, self.speakers))
        if switch.takes_back(state):
            decided = decision("undo", "stay", None, "takes back what was written", "free")
            return sequence(state, decided, put({"undoing": "", "listener": None}))
        if offered and offered in self.speakers.dialogs and (answer := switch.answer_to_offer(text, state["lang"])):
            return sequence(state, *switch.offer_answered(self.speakers[offered], answer, state, self.speakers))
        if switch.offers_wish(offered, state):
            # The wish was told once; a user who speaks of something else has declined it.
            return sequence(state, put({"wishes": state["wishes"][1:]}), self._beyond_offer)
        return self._beyond_offer(state)

    def _beyond_offer(self, state: State) -> Change:
        """Find who hears a message that neither takes a switch back nor answers an offer."""
        text = state["heard"]["text"] or ""
        holder = state.get("dialog")
        if (name := named(text, self.speakers, state["lang"])) and name != holder:
            return sequence(state, *switch.called_by_name(self.speakers[name], state, self.speakers))
        if says("home", text, state["lang"]):
            return sequence(state, *switch.home(holder, self.speakers))
        entry = self.speakers.by_tool(state.get("shortcut") or "")
        if entry and not holder:
            return sequence(state, *switch.entered(entry, state, self.speakers))
        if entry is None and (tool := state.get("shortcut")):
            decided = decision("shortcut", "stay", None, f"asks for {tool}", "free")
            return sequence(state, decided, put({"shortcut": tool, "listener": None}))
        return self._by_model(state)

    def _watch(self, dialog: Speaker, state: State) -> Change:
        """Leave the message to the dialog when it surely stays; otherwise call the observers."""
        scene = scene_of(dialog, state, self.speakers)
        if reason := fits(scene, dialog.form):
            return sequence(state, decision("expected", "stay", None, reason, "free"), give_to(dialog.name))
        guess = self.gate(scene)
        guessed = [Guessed(score=guess.score.value, model=guess.score.model)] if guess.score else []
        observers = called(dialog.observers, self.watchers, guess, scene)
        if not observers:
            stays = decision("gate", "stay", None, guess.reason, "gate")
            return sequence(state, lambda _: ({}, [*guessed]), stays, give_to(dialog.name))
        entry = self.speakers.by_tool(state.get("shortcut") or "")
        if entry and entry.name != dialog.name:
            return sequence(state, lambda _: ({}, [*guessed]), *switch.entered(entry, state, self.speakers))
        return {"asked": observers, "drafting": guess.leaves < HIGH, "listener": dialog.name}, [*guessed]


def called(names: Sequence[str], watchers: Watchers, guess: Guess, scene: Scene) -> list[str]:
    """Return the observers to ask: those whose own test fires, and if the message may leave, those without one."""
    asked = []
    for name in names:
        if name in watchers:
            when = watchers[name]
            if guess.leaves >= LOW if when is None else when(scene):
                asked.append(name)
    return asked


def _guarded(state: State) -> Update:
    """Return what keeps a call from running unasked, as it is."""
    return {"foreign": state.get("foreign", False), "declined": state.get("declined", [])}


def _cut(state: State) -> Change:
    """Cut long histories; not later, since every prompt of a turn has to begin with the one before it."""
    return {"talks": shortened(state.get("talks", {}))}, []


def _heard_by(speaker: str | None) -> Change:
    return {"listener": speaker}, []
