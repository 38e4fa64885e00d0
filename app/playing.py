"""What happens to one message: answered, repeated, taken up after a crash, stopped, or apologised for."""

import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError
from langgraph.types import StateSnapshot

from agents.errors import ModelUnavailable
from agents.events import Error, Event, Message, TurnEnd, TurnStart
from agents.handover import Update
from agents.history import mend
from agents.keeping import from_transcript
from agents.memory import Memory
from agents.memory.transcript import Letter, Line
from agents.models import Models
from agents.prompting import heard_message
from agents.state import SUPERVISOR, Context, State
from agents.verdict import Ballot, Verdict
from app.graph import Graph
from app.language import Languages
from app.running import Run
from prompts import phrase

LOG = logging.getLogger(__name__)
REMEMBERED = 20
"""Lines of a transcript from which a lost state is rebuilt."""


class Playing:
    """Carry messages through the graph and write down what came of them."""

    def __init__(self, graph: Graph, memory: Memory, models: Models, languages: Languages) -> None:
        self.graph, self.memory, self.models, self.languages = graph, memory, models, languages
        self._runs: dict[str, Run] = {}

    def stop(self, thread: str) -> bool:
        """Stop the running answer of a thread; False if there is none."""
        run = self._runs.get(thread)
        if run is not None:
            run.stop()
        return run is not None

    async def repeat(self, letter: Letter) -> AsyncIterator[Event]:
        """Tell the outcome of a message that was answered before."""
        thread, turn = letter.thread, letter.turn
        yield TurnStart(text=letter.text, source=letter.source, thread=thread, turn=turn)
        for line in await self.memory.transcript.lines(thread, message_id=letter.message_id):
            if line.role == "assistant":
                stopped = bool(line.metadata.get("interrupted"))
                yield Message(speaker=line.speaker, text=line.text, interrupted=stopped, thread=thread, turn=turn)
        state = cast(State, (await self.graph.aget_state(config_of(thread))).values)
        holder = state.get("dialog")
        yield TurnEnd(is_active=holder is None, dialog=holder, thread=thread, turn=turn)

    async def answer(self, letter: Letter, lang: str | None) -> AsyncIterator[Event]:
        """Run the graph for a message, from its beginning or from where a crash or a failure left it."""
        begun = time.perf_counter()
        snapshot = await self.graph.aget_state(config_of(letter.thread))
        state = cast(State, snapshot.values)
        known = state.get("heard", {}).get("id") == letter.message_id
        routed = known and not any(task.name in ("route", "__start__") for task in snapshot.tasks)
        number = state.get("turn", 0) + (0 if routed else 1)
        given = None if known else await self._given(letter, snapshot, lang)
        context = Context(letter.thread, letter.user, self.models, Ballot(_votes(snapshot)))
        run = self._runs[letter.thread] = Run(self.graph, config_of(letter.thread), context, state)
        try:
            async for event in self._events(run, letter, given, resumed=routed, open_=bool(snapshot.tasks)):
                yield replace(event, thread=letter.thread, turn=number)
        finally:
            del self._runs[letter.thread]
        ms = round((time.perf_counter() - begun) * 1000)
        holder = run.state.get("dialog")
        end = TurnEnd(is_active=holder is None, dialog=holder, model_calls=run.model_calls, ms=ms)
        yield replace(end, thread=letter.thread, turn=number)

    async def _events(
        self, run: Run, letter: Letter, given: dict[str, Any] | None, *, resumed: bool, open_: bool
    ) -> AsyncIterator[Event]:
        yield TurnStart(text=letter.text, source=letter.source)
        if resumed:
            for said in run.state.get("said", []):
                run.said.append(Message(speaker=said["speaker"], text=said["text"]))
                yield run.said[-1]
        try:
            if given is not None or open_:
                async for event in run.events(given):
                    yield event
        except Exception as failure:
            yield await self._failed(run, letter, failure)
            return
        if run.stopped:
            yield await self._stopped(run, letter)
        else:
            await self._close(run, letter, "done")
            await self.memory.saver.aprune([letter.thread])

    async def _given(self, letter: Letter, snapshot: StateSnapshot, lang: str | None) -> dict[str, Any]:
        """Return what a new message puts into the state; also the message before it, if that failed unheard."""
        state = cast(State, snapshot.values)
        chosen = await self.languages.choose(letter, lang, state.get("lang"))
        given: dict[str, Any] = {
            "heard": {"id": letter.message_id, "text": letter.text, "source": letter.source},
            "lang": chosen,
        }
        if snapshot.tasks and (holder := state.get("dialog") or SUPERVISOR):
            unheard = heard_message(state["heard"], state.get("talks", {}).get(holder, {}))
            return {**given, "talks": {holder: {"add": [unheard]}}} if unheard else given
        lines = await self.memory.transcript.lines(letter.thread, limit=REMEMBERED)
        if lines and lines[-1].message_id != state.get("heard", {}).get("id"):
            LOG.warning("thread %s: its state is older than its transcript; rebuilt", letter.thread)
            return {**given, **from_transcript(lines)}
        return given

    async def _stopped(self, run: Run, letter: Letter) -> Message:
        """Leave the thread as if the answer had ended where the user stopped it; what was shown is kept."""
        config = config_of(letter.thread)
        state = cast(State, (await self.graph.aget_state(config)).values)
        speaker = run.speaker or state.get("dialog") or SUPERVISOR
        talk = state.get("talks", {}).get(speaker, {})
        heard = heard_message(state["heard"], talk)
        messages: list[AnyMessage] = mend(talk.get("messages", []), phrase("call_stopped", state["lang"]))
        messages += [heard] if heard else []
        messages += [AIMessage(run.shown)] if run.shown else []
        update: Update = {"talks": {speaker: {"messages": messages}}, "listener": None, "asked": [], "votes": None}
        await self.graph.aupdate_state(config, update, as_node="settle")
        run.said.append(Message(speaker=speaker, text=run.shown, interrupted=True))
        await self._close(run, letter, "interrupted")
        return run.said[-1]

    async def _failed(self, run: Run, letter: Letter, failure: Exception) -> Error:
        """Apologise; the thread stays usable, and the same message id tries again from where it failed."""
        if isinstance(failure, ModelUnavailable):
            code: str = failure.trouble
            LOG.warning("thread %s: %s", letter.thread, failure)
        else:
            code = "loop" if isinstance(failure, GraphRecursionError) else "internal"
            LOG.error("thread %s: turn failed", letter.thread, exc_info=failure)
        error = Error(code=code, text=phrase(f"sorry_{code}", run.state.get("lang") or self.languages.default))
        await self._close(run, letter, "failed", error)
        return error

    async def _close(
        self, run: Run, letter: Letter, status: Literal["done", "failed", "interrupted"], error: Error | None = None
    ) -> None:
        now, turn = time.time_ns() // 1_000_000, run.state.get("turn", 0)
        lines = []
        for said in run.said:
            stopped = {"interrupted": True, "interrupt_timestamp": now} if said.interrupted else {}
            metadata = {"source": "llm" if letter.text is not None else "greeting", **stopped}
            lines.append(Line("assistant", said.speaker, said.text, turn, letter.message_id, now, metadata))
        if error is not None:
            failure = {"source": "llm failure", "code": error.code}
            lines.append(Line("assistant", SUPERVISOR, error.text, turn, letter.message_id, now, failure))
        await self.memory.transcript.close(letter, status, turn, lines)


def config_of(thread: str) -> RunnableConfig:
    """Return the graph's configuration for a thread."""
    return {"configurable": {"thread_id": thread}}


def _votes(snapshot: StateSnapshot) -> dict[str, Verdict]:
    """Return the votes that observers cast before a crash in the same step."""
    votes = [vote for task in snapshot.tasks if task.result for vote in task.result.get("votes") or []]
    return {vote["observer"]: Verdict(vote["kind"], vote["target"], vote["reason"]) for vote in votes}
