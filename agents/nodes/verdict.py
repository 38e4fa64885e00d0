"""The node that acts on the observers' verdict."""

from dataclasses import dataclass
from functools import partial

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.conversation import handover
from agents.conversation.changes import Move, emit, sequence
from agents.conversation.handover import MAX_HOPS
from agents.state import State, holder_of
from agents.state.verdict import Verdict, read_verdict, read_votes, settle
from agents.toolkit.context import Context
from agents.toolkit.speaker import Speaker, Speakers


@dataclass(frozen=True)
class Judging:
    """Act on the verdict: the dialog goes on, or another speaker handles the same message.

    With `direct` a dialog that the verdict names takes over at once; every other change goes to the supervisor.
    """

    speakers: Speakers
    direct: bool = True

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Return who hears the message now."""
        dialog = self.speakers[holder_of(state)]
        stored = state.get("verdict")
        verdict = read_verdict(stored) if stored else settle(read_votes(state["votes"]))
        cleared: dict[str, object] = {"asked": [], "votes": Overwrite([]), "verdict": None}
        if verdict.stays:
            return {**cleared, "listener": dialog.name}
        leave = handover.finish if verdict.kind == "finished" else handover.pause
        moves: list[Move] = [partial(leave, dialog, reason=verdict.target or verdict.reason)]
        moves += handover.straight(self._named(verdict, state), state, loser=dialog.name)
        update, events = sequence(state, *moves)
        emit(runtime, events)
        return {**cleared, **update}

    def _named(self, verdict: Verdict, state: State) -> Speaker | None:
        """Return the dialog that takes over without the supervisor's model; None when that model decides."""
        if not self.direct or verdict.kind != "switch" or state.get("hops", 0) >= MAX_HOPS:
            return None
        return self.speakers.dialogs.get(verdict.target or "")
