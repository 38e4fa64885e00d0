"""The last node of a turn: finish what is finished, begin the next wish, go back to what was interrupted."""

from functools import partial

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.context import Context
from agents.conversation import handover
from agents.conversation.changes import NOTHING, Change, Move, emit, put, sequence
from agents.conversation.gate import asks
from agents.speaker import Speaker, Speakers
from agents.state import State, Wish, talk_of


class Settling:
    """Decide whether the turn is over once an answer was given."""

    def __init__(self, speakers: Speakers) -> None:
        self.speakers = speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Return who goes on in this turn, if anybody."""
        update, events = sequence(state, self._finish, self._begin_wish, self._go_back)
        emit(runtime, events)
        return {"listener": None, **update, "votes": Overwrite([])}

    def due(self, state: State) -> bool:
        """Tell whether anything is left to settle after an answer."""
        return _goal(state) is not None or bool(_next_wish(state) or self._interrupted(state))

    def _finish(self, state: State) -> Change:
        """End the dialog if an observer saw that it reached its goal."""
        holder, reason = state.get("dialog"), _goal(state)
        return handover.finish(self.speakers[holder], state, reason) if holder and reason is not None else NOTHING

    def _begin_wish(self, state: State) -> Change:
        """Begin the next queued wish."""
        wish, holder = _next_wish(state), state.get("dialog")
        if wish is None:
            return NOTHING
        dialog = self.speakers.dialogs.get(wish["dialog"])
        moves: list[Move] = [put({"wishes": state["wishes"][1:]})]
        if holder and dialog and holder != dialog.name:
            moves.append(partial(handover.pause, self.speakers[holder], reason=wish["brief"]))
        if dialog:
            moves.append(partial(handover.take_over, dialog, brief=wish["brief"]))
            moves.append(put({"listener": dialog.name}))
        return sequence(state, *moves)

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
    """Return the observer's reason why the dialog is over; None when it is not, or no dialog leads."""
    reasons = [vote["reason"] for vote in state.get("votes", []) if vote["kind"] == "finished"]
    return reasons[0] if reasons and state.get("dialog") else None


def _next_wish(state: State) -> Wish | None:
    """Return the wish that comes next; None without one, or when the dialog that speaks waits for an answer."""
    said, wishes = state.get("said", []), state.get("wishes", [])
    is_waiting = bool(state.get("dialog") and said and asks(said[-1]["text"]))
    return wishes[0] if wishes and not is_waiting else None
