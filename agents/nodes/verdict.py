"""The node that acts on the observers' verdict."""

from dataclasses import dataclass
from functools import partial

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.context import Context
from agents.conversation import handover
from agents.conversation.changes import Change, Move, emit, put, sequence
from agents.conversation.handover import LONGEST_BRIEF, MAX_HOPS
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR, State, Switch, Wish, holder_of
from agents.verdict import Verdict, read_verdict, read_votes, settle
from prompts import phrase


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
        listener = SUPERVISOR
        if target := self._named(verdict, state):
            listener = target.name
            brief = (state["heard"]["text"] or "")[:LONGEST_BRIEF]
            moves += [partial(_tell_supervisor, target, brief), partial(handover.take_over, target, brief=brief)]
        switched: Switch = {"dialog": dialog.name, "heard": state["heard"]}
        left: list[Wish] = [{**wish, "left": True} for wish in state.get("wishes", [])]
        moves.append(put({"listener": listener, "drafting": False, "switched": switched, "wishes": left}))
        update, events = sequence(state, *moves)
        emit(runtime, events)
        return {**cleared, **update}

    def _named(self, verdict: Verdict, state: State) -> Speaker | None:
        """Return the dialog that takes over without the supervisor's model; None when that model decides."""
        if not self.direct or verdict.kind != "switch" or state.get("hops", 0) >= MAX_HOPS:
            return None
        return self.speakers.dialogs.get(verdict.target or "")


def _tell_supervisor(target: Speaker, brief: str, state: State) -> Change:
    """Write the switch into the supervisor's history, as if its model had called the dialog's tool."""
    heard = state["heard"]
    call = ToolCall(name=target.tool, args={"brief": brief}, id=f"switch-{heard['id']}", type="tool_call")
    result = ToolMessage(phrase("call_direct", state["lang"]), tool_call_id=call["id"], name=call["name"])
    exchange: list[AnyMessage] = [
        HumanMessage(heard["text"] or "", id=heard["id"]),
        AIMessage("", tool_calls=[call]),
        result,
    ]
    return {"talks": {SUPERVISOR: {"add": exchange}}}, []
