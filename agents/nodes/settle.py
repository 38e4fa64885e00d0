"""The last node of a turn: finish what is finished, begin the next wish, go back to what was interrupted."""

from functools import partial

from langgraph.runtime import Runtime

from agents.context import Context
from agents.conversation import handover
from agents.conversation.changes import Change, Move, Update, sequence
from agents.conversation.gate import asks
from agents.speaker import Speakers
from agents.state import State


class Settling:
    """Decide whether the turn is over once an answer was given."""

    def __init__(self, speakers: Speakers) -> None:
        self.speakers = speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return who goes on in this turn, if anybody."""
        update, events = sequence(state, self._finish, self._next_wish, self._go_back)
        for event in events:
            runtime.stream_writer(event)
        return {"listener": None, "votes": None, **update}

    def due(self, state: State) -> bool:
        """Tell whether anything is left to settle after an answer."""
        return any(move(state)[0] for move in (self._finish, self._next_wish, self._go_back))

    def _finish(self, state: State) -> Change:
        """End the dialog if an observer saw that it reached its goal."""
        holder = state.get("dialog")
        reasons = [vote["reason"] for vote in state.get("votes", []) if vote["kind"] == "finished"]
        return handover.finish(self.speakers[holder], state, reasons[0]) if holder and reasons else ({}, [])

    def _next_wish(self, state: State) -> Change:
        """Begin the next queued wish, unless the dialog that speaks is waiting for an answer."""
        holder, wishes = state.get("dialog"), state.get("wishes", [])
        if not wishes or (holder and asks(_last_said(state))):
            return {}, []
        dialog = self.speakers.dialogs.get(wishes[0]["dialog"])
        moves: list[Move] = [lambda _: ({"wishes": wishes[1:]}, [])]
        if holder and dialog and holder != dialog.name:
            moves.append(partial(handover.pause, self.speakers[holder], reason=wishes[0]["brief"]))
        if dialog:
            moves.append(partial(handover.take_over, dialog, brief=wishes[0]["brief"]))
            moves.append(lambda _: ({"listener": dialog.name}, []))
        return sequence(state, *moves)

    def _go_back(self, state: State) -> Change:
        """Go back to the dialog interrupted last, as its resume policy says."""
        paused = [name for name in state.get("paused", []) if name in self.speakers.dialogs]
        if state.get("dialog") or not paused or state.get("wishes"):
            return {}, []
        dialog = self.speakers[paused[-1]]
        if dialog.resume != "ask":
            return handover.resume(dialog, state, silently=dialog.resume == "silent")
        offered = state.get("talks", {}).get(dialog.name, {}).get("offered")
        return ({}, []) if offered else handover.offer(dialog, state)


def _last_said(state: State) -> str:
    said = state.get("said", [])
    return said[-1]["text"] if said else ""
