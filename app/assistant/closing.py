"""What came of a message, written down: answered, stopped by the user, or failed."""

import logging
import time
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.errors import GraphRecursionError
from langgraph.types import Overwrite

from agents.conversation.heard import heard_message
from agents.errors import ModelUnavailable
from agents.events import Error, Message
from agents.history import mend
from agents.memory import Memory
from agents.memory.inbox import Letter, Line
from agents.state import SUPERVISOR, State, merge_talks
from app.assistant.run import Run
from app.graph import Graph
from prompts import phrase

FAILURE = "llm failure"
"""The source of an apology, in the transcript."""
LOG = logging.getLogger(__name__)


class Outcome:
    """Close messages: the transcript and the outcome in one transaction, the thread ready for the next."""

    def __init__(self, graph: Graph, memory: Memory, lang: str) -> None:
        self.graph, self.memory, self.lang = graph, memory, lang

    async def done(self, run: Run, letter: Letter) -> None:
        """Write down the answers."""
        await self._close(run, letter, "done")

    async def stopped(self, run: Run, letter: Letter, given: dict[str, Any] | None) -> Message:
        """Leave the thread as if the answer had ended where the user stopped it; what was shown is kept."""
        state = cast(State, (await self.graph.aget_state(run.config)).values)
        begun = state.get("heard", {}).get("id") == letter.message_id
        missed = (given or {}).get("talks", {})
        if not begun:
            talks = merge_talks(state.get("talks", {}), missed)
            state = cast(State, {**state, **(given or {}), "talks": talks})
        speaker = run.speaker or state.get("dialog") or SUPERVISOR
        talk = state.get("talks", {}).get(speaker, {})
        heard = heard_message(state["heard"], talk)
        messages: list[AnyMessage] = mend(talk.get("messages", []), phrase("call_stopped", state["lang"]))
        messages += [heard] if heard else []
        messages += [AIMessage(run.shown)] if run.shown else []
        over: dict[str, object] = {
            "listener": None,
            "asked": [],
            "votes": Overwrite([]),
            "pending": [],
            "turn": run.turn,
        }
        caught_up = {name: {"messages": state["talks"][name]["messages"]} for name in missed}
        update = {**(given or {}), **over, "talks": {**caught_up, speaker: {"messages": messages}}}
        await self.graph.aupdate_state(run.config, update, as_node="settle")
        run.said.append(Message(speaker=speaker, text=run.shown, interrupted=True))
        run.recording.note(run.said[-1])
        await self._close(run, letter, "interrupted")
        return run.said[-1]

    async def failed(self, run: Run, letter: Letter, failure: Exception) -> Error:
        """Apologise; the thread stays usable, and the same message id tries again from where it failed."""
        if isinstance(failure, ModelUnavailable):
            code: str = failure.trouble
            LOG.warning("thread %s: %s", letter.thread, failure)
        else:
            code = "loop" if isinstance(failure, GraphRecursionError) else "internal"
            LOG.error("thread %s: turn failed", letter.thread, exc_info=failure)
        error = Error(code=code, text=phrase(f"sorry_{code}", run.state.get("lang") or self.lang))
        run.recording.note(error)
        await self._close(run, letter, "failed", error)
        return error

    async def _close(
        self, run: Run, letter: Letter, status: Literal["done", "failed", "interrupted"], error: Error | None = None
    ) -> None:
        now = time.time_ns() // 1_000_000
        lines = []
        for said in run.said:
            stopped = {"interrupted": True, "interrupt_timestamp": now} if said.interrupted else {}
            kept = {"original": said.original} if said.original else {}
            metadata = {"source": "llm" if letter.text is not None else "greeting", **stopped, **kept}
            lines.append(Line("assistant", said.speaker, said.text, run.turn, letter.message_id, now, metadata))
        if error is not None:
            failure = {"source": FAILURE, "code": error.code}
            lines.append(Line("assistant", SUPERVISOR, error.text, run.turn, letter.message_id, now, failure))
        record = run.recording.text(status)
        await self.memory.transcript.close(letter, status, run.turn, lines, record)
