"""The first node of a turn: it chooses the next holder of the conversation, in tiers from free to costly.

1. Free: an undo, the answer to an offer, a helper's name, an answer that fits the question.
2. Gate: a local guess.
3. Observers, beside the dialog's own draft or before it (`agents.nodes.observer`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.conversation import deletion, handover, switch
from agents.conversation.changes import Change, Update, waiting_views
from agents.conversation.context_window import surplus
from agents.conversation.gate import HIGH, LOW, Gate, Guess
from agents.conversation.gate.features import asks, own_words
from agents.conversation.migration import keep_up
from agents.conversation.persons import turn_to
from agents.conversation.scene import Scene, scene_of
from agents.conversation.switch import fits, is_leave, named
from agents.events import Guessed
from agents.language.text.vocabulary import POLITE, listening, mentions, says, takes_leave, vocabulary
from agents.nodes import ask
from agents.nodes.shortcut import ShortcutNode
from agents.nodes.speaker import with_form
from agents.nodes.undo import RECALL, REDO
from agents.sources.attachments import has_words
from agents.state import SUPERVISOR, State, holder_of, talk_of
from agents.state.history import MOST_MESSAGES
from agents.state.lifetime import beginnings
from agents.state.person import ASIDE, RESULT, is_foreign, is_own
from agents.state.verdict import because
from agents.toolkit.client_tools import waiting_for_client
from agents.toolkit.context import Context
from agents.toolkit.questions import ANSWERS, AnswerReading, is_meant
from agents.toolkit.speaker import Speaker, Speakers

Watchers = Mapping[str, Callable[[Scene], bool] | None]
"""The observers that look at a message before the answer, by name, each with its own test if it has one."""
FRESH = cast(Update, beginnings(State, "turn"))
"""The keys of the state at the beginning of each turn."""
PASSING = cast(Update, beginnings(State, "reply"))
"""The keys of the state that only the next message of the user reads."""


class Router:
    """Choose the speaker that hears the user's message, and the observers that watch it."""

    def __init__(
        self,
        speakers: Speakers,
        serving: ShortcutNode,
        gate: Gate,
        watchers: Watchers,
        unspared: Collection[str],
        *,
        drafts: bool,
    ) -> None:
        """`unspared` are the watchers that see every message.

        With `drafts` a dialog that is likely to go on is asked beside its observers, else always after them.
        """
        self.speakers, self.serving, self.gate = speakers, serving, gate
        self.watchers, self.unspared, self.drafts = watchers, unspared, drafts

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Begin the turn."""
        text = state["heard"]["text"]
        shortcut = await self.serving.recognise(text) if text and is_own(state["heard"]) else None
        turn = state.get("turn", 0) + 1
        own = turn_to(state, runtime.context.user)
        begun = cast(State, {**state, **own, **FRESH, "votes": [], "said": [], "turn": turn, "shortcut": shortcut})
        change = Change(begun)
        for view in waiting_views(state):
            # They were shown above the apology that ended the turn before.
            change.screen(view.title, view.numbered())
        for name, talk in begun.get("talks", {}).items():
            # Answers without a model make a history longer, and only a speaker cuts its own.
            if len(messages := talk.get("messages", [])) > MOST_MESSAGES:
                window = runtime.context.models.chain(name)[0].window
                change.talk(name, messages=messages[surplus(messages, window) :], summary=talk.get("summary", ""))
        keep_up(change, self.speakers)
        if dialog := deletion.dialog_of(change.state, self.speakers):
            # What its form does not have cannot be deleted.
            talk = talk_of(await with_form(dialog, change.state, runtime), dialog.name)
            if "form" in talk:
                change.talk(dialog.name, form=talk["form"])
        self._decide(change, runtime.context)
        self._watch(change)
        update = change.emit(runtime)
        holder = handover.set_holder(begun.get("dialog"))
        anew: dict[str, object] = {"votes": Overwrite([]), "said": Overwrite(update.get("said", []))}
        if "talks" in own:
            anew["talks"] = Overwrite(change.state["talks"])
        return {**FRESH, **own, **holder, **PASSING, "turn": turn, **update, **anew}

    def _decide(self, change: Change, context: Context) -> None:
        """Take the message as the answer to a tool's question, if it is one; else choose the speaker that hears it."""
        state = change.state
        chosen = state["heard"]["source"] in ANSWERS
        if state["heard"]["source"] == RESULT:
            change.decide("answer", "stay", because("client_results"))
            ask.take_results(change)
        elif not state.get("pending"):
            (ask.gone if chosen else self._choose)(change)
            # A resumed dialog asks its choice again.
            ask.announce(change)
        elif state["heard"]["text"] is None:
            # The user said nothing, so the question stays; it is put on the screen again.
            ask.announce(change)
        elif state["heard"]["source"] == ASIDE:
            self._leave_question(change)
        elif reading := self._answer(state, context):
            change.decide("answer", "stay", because("answers_tool"))
            # "Done" is an answer, and so are the words of a button.
            lists = takes_leave(state["heard"]["text"], state["lang"])
            change.put(leaving=not chosen and bool(lists - {"done", *POLITE}))
            ask.take(change, reading, state["heard"], self.speakers)
        elif chosen:
            ask.gone(change)
        elif state.get("shortcut") and not waiting_for_client(state["pending"]) and self._serves(state):
            # A shortcut leaves the question open: it is served, and the question is put again.
            self._choose(change)
            # The keys that keep a call from running unasked stay as they are, and so do the numbers of sources.
            change.put(foreign=state.get("foreign", False), spoke=state.get("spoke", 0))
            change.put(declined=state.get("declined", []), allowed=state.get("allowed", []))
        else:
            self._leave_question(change)

    def _leave_question(self, change: Change) -> None:
        ask.left(change)
        self._choose(change)

    def _watch(self, change: Change) -> None:
        """Let the unspared observers watch the message, no matter which speaker hears it."""
        state, observers, listener = change.state, change.state.get("asked", []), change.state.get("listener")
        is_heard = not state.get("agreed") and state["heard"]["text"] is not None
        names = self._unspared(state, listener, self.watchers) if listener and is_heard else []
        if more := [name for name in names if name not in observers]:
            change.put(asked=[*observers, *more], drafting=state["drafting"] if observers else self.drafts)

    def _unspared(self, state: State, speaker: str, watchers: Watchers) -> list[str]:
        """Return the unspared observers that want to see the message."""
        names = [name for name in self.speakers[speaker].observers if name in self.unspared and name in watchers]
        return names and called(names, watchers, Guess(1.0, ""), scene_of(self.speakers[speaker], state, self.speakers))

    def _answer(self, state: State, context: Context) -> AnswerReading | None:
        """Return the answer of the message to the open question; None if it is about something else."""
        heard = state["heard"]
        if not is_own(heard) or not is_meant(state["pending"][0], heard) or self._insists(state):
            return None
        if not has_words(heard, state["lang"]) or (heard["source"] not in ANSWERS and self._leaves_question(state)):
            return None
        if reading := ask.read(state, heard, self.speakers, context):
            return reading
        # A user who backs out of a question means the question, and nothing older.
        return AnswerReading("declined", state["pending"][0]) if switch.backs_out(heard["text"] or "") else None

    def _insists(self, state: State) -> bool:
        """Tell whether the user says goodbye to a dialog again, after the message before."""
        text = state["heard"]["text"] or ""
        return bool(state.get("dialog") and state.get("leaving") and takes_leave(text, state["lang"]))

    def _is_left(self, change: Change, dialog: Speaker, scene: Scene) -> bool:
        """End the dialog if the user says goodbye to it; tell whether they do."""
        # A question, on the screen or in words, is left by the same words; a form is left as a whole.
        is_asked = "pending" in change.update or (dialog.form is None and switch.declines_question(scene))
        # A film may go on while another dialog leads.
        is_beside = dialog.form is None and any(self.speakers[name].halts for name in scene.paused)
        halts = dialog.halts or is_asked or is_beside or switch.means_last_deed(scene.text, change.state)
        if is_left := self._insists(change.state) or is_leave(scene, halts=halts):
            switch.leave(change, dialog)
        else:
            change.put(leaving=bool(takes_leave(scene.text, scene.lang)))
        return is_left

    def _serves(self, state: State) -> bool:
        """Tell whether a tool alone would serve the message."""
        trial = Change(state)
        self._choose(trial)
        return bool(trial.update.get("shortcut"))

    def _leaves_question(self, state: State) -> bool:
        """Tell whether a message plainly asks for another dialog, and so does not answer the open question.

        The gate has to agree, as within a dialog: "plan my week" may well be filled in. A message that an unspared
        observer has to see does not answer it either: only a tool would hear the answer.
        """
        entry, pending = self.speakers.by_tool(state.get("shortcut") or ""), state["pending"][0]
        if self._unspared(state, pending["speaker"], {name: test for name, test in self.watchers.items() if test}):
            return True
        if entry is None or entry.name == pending["speaker"]:
            return False
        scene = replace(scene_of(self.speakers[pending["speaker"]], state, self.speakers), reply=pending["prompt"])
        return self.gate(scene).leaves >= LOW

    def _choose(self, change: Change) -> None:
        heard = change.state["heard"]
        if heard["text"] is None:
            change.put(listener=holder_of(change.state))
            return
        # A message that somebody else wrote is not the user's word.
        change.put(foreign=is_foreign(heard), declined=[], allowed=[], spoke=change.state["turn"])
        if not is_own(heard):
            # It does not order, undo or answer anything: only a model reads it.
            change.decide("foreign", "stay", because("foreign"))
            self._leave_to_model(change)
        elif not deletion.handle_deletion(change, self.speakers) and not self._take_back(change):
            self._find(change, heard["text"])

    def _take_back(self, change: Change) -> bool:
        """Take back a switch, an open question, or a write; tell whether the message asks for it."""
        state = change.state
        if (switched := state.get("switched")) and switch.is_taken_back(switched, state, self.speakers):
            switch.taken_back(change, switched, self.speakers)
            return True
        if (recalls := switch.recalls(state)) or switch.does_again(state):
            change.decide("undo", "stay", because("recalls" if recalls else "does_again"))
            change.put(undoing=RECALL if recalls else REDO, listener=None)
            return True
        if switch.takes_back(state) and switch.drops_question(state, self.speakers):
            switch.question_dropped(change)
            return True
        if switch.takes_back(state) or switch.confirms_undo(state):
            change.decide("undo", "stay", because("takes_back"))
            # A second "undo" is a yes as well.
            change.put(undoing="", undo_asked=state.get("undo_asked", False), listener=None)
            return True
        return False

    def _find(self, change: Change, text: str) -> None:
        """Find the speaker for a message: by the first of these rules that takes it, else by a model."""
        state, holder = change.state, change.state.get("dialog")
        if self._answers_offer(change, text):
            return
        scene = scene_of(self.speakers[holder], state, self.speakers) if holder else None
        rules = (
            self._calls,
            self._goes_home,
            self._leaves,
            self._goes_on,
            self._corrects,
            self._takes_up,
            self._asks_for,
        )
        if not any(rule(change, text, scene) for rule in rules):
            self._leave_to_model(change, scene)

    def _answers_offer(self, change: Change, text: str) -> bool:
        """A yes or a no answers the offer."""
        state, offered = change.state, change.state.get("offer")
        if offered and offered in self.speakers.dialogs and (answer := switch.answer_to_offer(text, state["lang"])):
            switch.offer_answered(change, self.speakers[offered], answer, self.speakers)
            return True
        if switch.offers_wish(offered, state):
            # The wish was offered once; a user who speaks of something else has declined it.
            why = because("subject_changed")
            change.decide("handoff", "stay", because("dropped", dialog=offered, why=why))
            change.put(wishes=state["wishes"][1:])
        return False

    def _calls(self, change: Change, text: str, scene: Scene | None) -> bool:
        """The name of a dialog calls it; for a dialog that does not fit its model, the user reads so."""
        name = named(text, self.speakers, change.state["lang"])
        missed = self.speakers.absent_by(name, change.state.get("shortcut"))
        if missed and (name or not scene):
            switch.missed(change, missed)
        elif name and name != change.state.get("dialog"):
            switch.called_by_name(change, self.speakers[name], self.speakers)
        else:
            return False
        return True

    def _goes_home(self, change: Change, text: str, scene: Scene | None) -> bool:
        """ "Home" interrupts the dialog that leads, if one does."""
        if is_home := says("home", text, change.state["lang"]):
            switch.home(change, self.speakers)
        return is_home

    def _leaves(self, change: Change, text: str, scene: Scene | None) -> bool:
        """A user who says goodbye to a dialog ends it."""
        return scene is not None and self._is_left(change, self.speakers[scene.dialog], scene)

    def _goes_on(self, change: Change, text: str, scene: Scene | None) -> bool:
        """ "Go on" resumes the dialog that leads, or the one that was paused last."""
        goes_on = says("go_on", text, change.state["lang"])
        if is_meant := goes_on and bool(scene or handover.last_paused(change.state, self.speakers)):
            switch.go_on(change, self.speakers)
        return is_meant

    def _corrects(self, change: Change, text: str, scene: Scene | None) -> bool:
        """A correction is for the dialog that has just noted or done something."""
        last, holder = change.state.get("last_done"), change.state.get("dialog")
        # A state of an earlier version does not name the speaker.
        doer = self.speakers.dialogs.get((last["speaker"] if last else holder) or "")
        if is_correction := doer is not None and switch.corrects(text, change.state):
            switch.corrected(change, doer, self.speakers)
        return is_correction

    def _takes_up(self, change: Change, text: str, scene: Scene | None) -> bool:
        """A plain answer to the question of a paused dialog is for that dialog, unless there is a newer question."""
        state, dialog = change.state, handover.last_paused(change.state, self.speakers)
        if dialog is None or not switch.may_take_up(dialog, state, self.speakers):
            return False
        choice = ask.choice_again(dialog.name, text, state)
        if choice is None and not (scene is None and switch.takes_up(dialog, state, self.speakers)):
            return False
        change.decide("answer", "switch", because("answers_paused"), dialog.name)
        handover.interrupt(change, self.speakers, dialog.name)
        handover.resume(change, dialog, silently=True)
        change.put(listener=dialog.name)
        if choice:
            ask.take_again(change, choice, self.speakers)
        return True

    def _asks_for(self, change: Change, text: str, scene: Scene | None) -> bool:
        """A plain request for a dialog goes there while the supervisor leads; one for a tool goes to the tool."""
        tool = change.state.get("shortcut") or ""
        entry = self.speakers.by_tool(tool)
        if entry and not scene:
            switch.entered(change, entry, self.speakers)
        elif tool and not (entry or self.speakers.absent_by(None, tool)):
            change.decide("shortcut", "stay", because("asks_for", name=tool))
            change.put(shortcut=tool, listener=None)
        else:
            return False
        return True

    def _wished(self, state: State, scene: Scene, *, is_asked: bool) -> str | None:
        """Return the tool by which the supervisor would hand over to the dialog that a message plainly asks for."""
        tool = state.get("shortcut")
        # A message that points at something said here is for the speaker that has heard that.
        is_unclear = is_asked or mentions("pointing", scene.text, scene.lang) is not None or not is_own(state["heard"])
        # The dialog may know the answer to a question, no matter what fills the slot of an example.
        is_unclear = is_unclear or vocabulary(listening(scene.text, scene.lang)).asks(scene.text)
        return tool if tool or is_unclear else self.serving.shortcuts.leading(scene.text, own_words(scene))

    def _leave_to_model(self, change: Change, scene: Scene | None = None) -> None:
        """Leave the message to the holder of the conversation; if it may leave the dialog, call the observers."""
        holder = holder_of(change.state)
        change.put(listener=holder)
        if holder == SUPERVISOR:
            return
        dialog = self.speakers[holder]
        scene = scene or scene_of(dialog, change.state, self.speakers)
        # While a form asks, a request for another dialog may be the answer.
        is_asked = bool(scene.missing and scene.reply and asks(scene.reply))
        entry = self.speakers.by_tool(self._wished(change.state, scene, is_asked=is_asked) or "")
        elsewhere = entry if entry and entry.name != dialog.name else None
        if not elsewhere and (reason := fits(scene, dialog.form)):
            change.decide("expected", "stay", reason)
            return
        guess = self.gate(scene)
        observers = called(dialog.observers, self.watchers, guess, scene)
        if guess.score is not None:
            change.tell(Guessed(score=guess.score, model=guess.model))
            score, model, is_watched = guess.score, guess.model, bool(observers)
            change.put(guess={"value": score, "model": model, "watched": is_watched, "dialog": dialog.name})
        if elsewhere and (observers or not is_asked):
            switch.entered(change, elsewhere, self.speakers)
        elif not observers:
            change.decide("gate", "stay", guess.reason, by="gate")
        else:
            # The deeds of an agent graph in a draft could not be taken back.
            change.put(asked=observers, drafting=self.drafts and guess.leaves < HIGH and dialog.agent is None)


def called(names: Sequence[str], watchers: Watchers, guess: Guess, scene: Scene) -> list[str]:
    """Return the observers to ask: those whose test is true, and, if the message may leave, those without a test."""
    tests = {name: watchers[name] for name in names if name in watchers}
    return [name for name, when in tests.items() if (guess.leaves >= LOW if when is None else when(scene))]
