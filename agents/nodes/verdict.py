"""The node that acts on the observers' verdict."""

from dataclasses import dataclass

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.context import Context
from agents.conversation import handover
from agents.conversation.changes import emit
from agents.speaker import Speakers
from agents.state import SUPERVISOR, State, Switch, holder_of
from agents.verdict import read_verdict, read_votes, settle


@dataclass(frozen=True)
class Judging:
    """Act on the verdict: the dialog goes on, or the supervisor handles the same message."""

    speakers: Speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Return who hears the message now."""
        dialog = self.speakers[holder_of(state)]
        stored = state.get("verdict")
        verdict = read_verdict(stored) if stored else settle(read_votes(state["votes"]))
        cleared: dict[str, object] = {"asked": [], "votes": Overwrite([]), "verdict": None}
        if verdict.stays:
            return {**cleared, "listener": dialog.name}
        leave = handover.finish if verdict.kind == "finished" else handover.pause
        update, events = leave(dialog, state, verdict.target or verdict.reason)
        emit(runtime, events)
        switched: Switch = {"dialog": dialog.name, "heard": state["heard"]}
        return {**cleared, **update, "listener": SUPERVISOR, "switched": switched, "wishes": []}
