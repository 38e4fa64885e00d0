"""The last node of a turn: end a finished dialog, begin the next wish, go back to an interrupted dialog."""

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.conversation import handover
from agents.conversation.changes import Change
from agents.conversation.gate.features import asks
from agents.nodes import ask
from agents.state import SUPERVISOR, State, talk_of
from agents.state.person import Wish
from agents.state.verdict import because
from agents.toolkit.context import Context
from agents.toolkit.speaker import Speaker, Speakers
from prompts import phrase, title_of


class FinishTurn:
    """Decide whether the turn is over after an answer."""

    def __init__(self, speakers: Speakers) -> None:
        self.speakers = speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Return the speaker that goes on in this turn, if any."""
        change = Change(state)
        change.put(listener=None)
        reason, holder = _goal(state), state.get("dialog")
        if holder and reason is not None:
            handover.finish(change, self.speakers[holder], reason)
        if wish := _next_wish(change.state):
            self._turn_to_wish(change, wish)
        if change.state["listener"] is None and (dialog := self._interrupted(change.state)):
            # The resume policy of the dialog that was interrupted last decides.
            if dialog.resume == "ask":
                handover.offer(change, dialog)
            else:
                handover.resume(change, dialog, silently=dialog.resume == "silent")
                ask.announce(change)
        return {**change.emit(runtime), "votes": Overwrite([])}

    def due(self, state: State) -> bool:
        """Tell whether anything is left to settle after an answer."""
        return _goal(state) is not None or _next_wish(state) is not None or self._interrupted(state) is not None

    def _turn_to_wish(self, change: Change, wish: Wish) -> None:
        """Begin a queued wish, or ask about one that was left."""
        dialog, holder = self.speakers.dialogs.get(wish["dialog"]), change.state.get("dialog")
        if dialog and wish.get("left") and holder != dialog.name:
            lang = change.state["lang"]
            text = phrase("offer_wish", lang, title=title_of(dialog.name, lang), brief=wish["brief"] or "-")
            change.say(SUPERVISOR, text)
            change.add(SUPERVISOR, AIMessage(text))
            change.put(offer=dialog.name)
            return
        change.put(wishes=change.state["wishes"][1:])
        if wish["dialog"] == SUPERVISOR and holder:
            handover.pause(change, self.speakers[holder], "", wish["brief"])
            change.put(listener=SUPERVISOR)
        if dialog is None or wish.get("left"):
            if wish["dialog"] != SUPERVISOR:
                why = because("leads_already" if dialog else "no_dialog")
                change.decide("handoff", "stay", because("dropped", dialog=wish["dialog"], why=why))
            return
        if holder != dialog.name:
            handover.interrupt(change, self.speakers, wish["brief"])
        handover.take_over(change, dialog, wish["brief"])
        change.put(listener=dialog.name)
        if wish.get("foreign"):
            change.put(foreign=True)

    def _interrupted(self, state: State) -> Speaker | None:
        """Return the dialog to go back to, or to offer; None if another one leads or it was offered before."""
        dialog = handover.last_paused(state, self.speakers)
        if dialog is None or state.get("dialog") or state.get("wishes"):
            return None
        return None if dialog.resume == "ask" and talk_of(state, dialog.name).get("offered") else dialog


def _goal(state: State) -> str | None:
    reasons = [vote["reason"] for vote in state.get("votes", []) if vote["kind"] == "finished"]
    return reasons[0] if reasons and state.get("dialog") else None


def _next_wish(state: State) -> Wish | None:
    """Return the next wish; None without one, or while the dialog that speaks waits for an answer."""
    replies, wishes = state.get("said", []), state.get("wishes", [])
    is_waiting = bool(state.get("dialog") and replies and asks(replies[-1]["text"]))
    return wishes[0] if wishes and not is_waiting else None
