"""The node that acts on the observers' verdict."""

from dataclasses import dataclass

from langgraph.runtime import Runtime

from agents.context import Context
from agents.conversation import handover
from agents.conversation.changes import Update
from agents.speaker import Speakers
from agents.state import SUPERVISOR, State
from agents.verdict import Verdict, settle


@dataclass(frozen=True)
class Judging:
    """Act on the verdict: the dialog goes on, or the supervisor handles the same message."""

    speakers: Speakers

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return who hears the message now."""
        dialog = self.speakers[state["dialog"] or SUPERVISOR]
        votes = {vote["observer"]: Verdict(vote["kind"], vote["target"], vote["reason"]) for vote in state["votes"]}
        seen = state.get("verdict")
        verdict = Verdict(**seen) if seen else settle(votes)
        cleared: Update = {"asked": [], "votes": None, "verdict": None}
        if verdict.stays:
            return {**cleared, "listener": dialog.name}
        leave = handover.finish if verdict.kind == "finished" else handover.pause
        update, events = leave(dialog, state, verdict.target or verdict.reason)
        for event in events:
            runtime.stream_writer(event)
        switched = {"dialog": dialog.name, "heard": state["heard"]}
        return {**cleared, **update, "listener": SUPERVISOR, "switched": switched, "wishes": []}
