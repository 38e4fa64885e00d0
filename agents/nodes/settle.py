"""The last node of a turn: finish what is finished, begin the next wish, go back to what was interrupted."""

from functools import partial

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.conversation import handover
from agents.conversation.changes import NOTHING, Change, Move, Update, emit, put, say, sequence
from agents.conversation.gate import asks
from agents.state import SUPERVISOR, State, talk_of
from agents.state.person import Wish
from agents.toolkit.context import Context
from agents.toolkit.speaker import Speaker, Speakers
from prompts import phrase, title_of


class Settling:
    """Decide whether the turn is over once an answer was given."""

    def __init__(self, speakers: Speakers) -> None:
        self.speakers = speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Return who goes on in this turn, if anybody."""
        update, events = sequence(state, self._finish, self._turn_to_wish, self._go_back)
        emit(runtime, events)
        return {"listener": None, **update, "votes": Overwrite([])}

    def due(self, state: State) -> bool:
        """Tell whether anything is left to settle after an answer."""
        return _goal(state) is not None or _next_wish(state) is not None or self._interrupted(state) is not None

    def _finish(self, state: State) -> Change:
        holder, reason = state.get("dialog"), _goal(state)
        return handover.finish(self.speakers[holder], state, reason) if holder and reason is not None else NOTHING

    def _turn_to_wish(self, state: State) -> Change:
        """Begin the next queued wish, or ask about one that was left."""
        wish = _next_wish(state)
        if wish is None:
            return NOTHING
        dialog = self.speakers.dialogs.get(wish["dialog"])
        done = put({"wishes": state["wishes"][1:]})
        if dialog is None or (wish.get("left") and state.get("dialog") == dialog.name):
            return sequence(state, done)
        if wish.get("left"):
            return self._offer(dialog, wish, state)
        return sequence(state, done, *self._begin(dialog, wish, state))

    def _begin(self, dialog: Speaker, wish: Wish, state: State) -> list[Move]:
        holder = state.get("dialog")
        leave = [] if holder == dialog.name else handover.interrupt(holder, self.speakers, wish["brief"])
        foreign: Update = {"foreign": True} if wish.get("foreign") else {}
        begin = partial(handover.take_over, dialog, brief=wish["brief"])
        return [*leave, begin, put({"listener": dialog.name, **foreign})]

    def _offer(self, dialog: Speaker, wish: Wish, state: State) -> Change:
        title = title_of(dialog.name, state["lang"])
        text = phrase("offer_wish", state["lang"], title=title, brief=wish["brief"] or "-")
        spoken, events = say(SUPERVISOR, text)
        return {**spoken, "talks": {SUPERVISOR: {"add": [AIMessage(text)]}}, "offer": dialog.name}, events

    def _go_back(self, state: State) -> Change:
        """Go back to the dialog interrupted last, as its resume policy says."""
        dialog = self._interrupted(state)
        if dialog is None:
            return NOTHING
        if dialog.resume == "ask":
            return handover.offer(dialog, state)
        return handover.resume(dialog, state, silently=dialog.resume == "silent")

    def _interrupted(self, state: State) -> Speaker | None:
        """Return the dialog to go back to, or to offer; None when another one leads or it was offered before."""
        paused = [name for name in state.get("paused", []) if name in self.speakers.dialogs]
        if state.get("dialog") or not paused or state.get("wishes"):
            return None
        dialog = self.speakers[paused[-1]]
        return None if dialog.resume == "ask" and talk_of(state, dialog.name).get("offered") else dialog


def _goal(state: State) -> str | None:
    reasons = [vote["reason"] for vote in state.get("votes", []) if vote["kind"] == "finished"]
    return reasons[0] if reasons and state.get("dialog") else None


def _next_wish(state: State) -> Wish | None:
    """Return the wish that comes next; None without one, or when the dialog that speaks waits for an answer."""
    replies, wishes = state.get("said", []), state.get("wishes", [])
    is_waiting = bool(state.get("dialog") and replies and asks(replies[-1]["text"]))
    return wishes[0] if wishes and not is_waiting else None
