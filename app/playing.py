"""What happens to one message: answered, told again, or taken up where a crash or a failure left it."""

import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from itertools import takewhile
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.types import StateSnapshot

from agents.events import Event, Message, TurnEnd, TurnStart
from agents.help.chain import HelpChain
from agents.keeping import from_transcript
from agents.memory import Memory
from agents.memory.letters import Letter, Line
from agents.models import Models
from agents.prompting import heard_message
from agents.state import SUPERVISOR, Context, State
from agents.verdict import Ballot, Verdict
from agents.zone import zone_of_user
from app.graph import Graph
from app.language import Languages
from app.outcome import Outcome
from app.permissions import Permissions
from app.retelling import retold
from app.running import Run, config_of

LOG = logging.getLogger(__name__)
UNASKED = "unasked"
"""The source of a line that answers no message, such as a reminder."""
REMEMBERED = 20
"""Lines of a transcript from which a lost state is rebuilt."""


class Playing:
    """Carry messages through the graph."""

    def __init__(
        self,
        graph: Graph,
        memory: Memory,
        models: Models,
        languages: Languages,
        help: HelpChain,
        *,
        permissions: Permissions,
    ) -> None:
        self.graph, self.memory, self.models = graph, memory, models
        self.languages, self.help, self.permissions = languages, help, permissions
        self.outcome = Outcome(graph, memory, languages.default)
        self._runs: dict[str, Run] = {}

    def stop(self, thread: str) -> bool:
        """Stop the running answer of a thread; False if there is none."""
        run = self._runs.get(thread)
        if run is not None:
            run.stop()
        return run is not None

    async def repeat(self, letter: Letter) -> AsyncGenerator[Event, None]:
        """Tell the outcome of a message that was answered before."""
        thread, turn = letter.thread, letter.turn
        yield TurnStart(text=letter.text, source=letter.source, thread=thread, turn=turn)
        lines = await self.memory.transcript.lines(thread, message_id=letter.message_id)
        said = [
            Message(speaker=line.speaker, text=line.text, interrupted=bool(line.metadata.get("interrupted")))
            for line in lines
            if line.role == "assistant"
        ]
        state = cast(State, (await self.graph.aget_state(config_of(thread))).values)
        for event in retold(said, state):
            yield replace(event, thread=thread, turn=turn)
        holder = state.get("dialog")
        waiting = bool(state.get("pending"))
        yield TurnEnd(is_active=holder is None, dialog=holder, waiting=waiting, thread=thread, turn=turn)

    async def answer(self, letter: Letter, lang: str | None, device: str) -> AsyncGenerator[Event, None]:
        """Run the graph for a message, from its beginning or from where a crash or a failure left it."""
        begun = time.perf_counter()
        snapshot = await self.graph.aget_state(config_of(letter.thread))
        state = cast(State, snapshot.values)
        known = state.get("heard", {}).get("id") == letter.message_id
        # `values` already has what a task of the step has written, so a route that has done so lies behind us.
        ahead = {task.name for task in snapshot.tasks if task.name != "route" or task.result is None}
        routed = known and not {"route", "__start__"} & ahead
        memory = self.memory
        zone = await zone_of_user(memory.store, letter.user)
        tables: dict[str, Any] = {"reminders": memory.reminders, "locks": memory.locks, "ledger": memory.ledger}
        trusted: dict[str, Any] = {"zone": zone, "device": device, "permissions": self.permissions.of(letter.user)}
        ballot = Ballot(_votes(snapshot))
        context = Context(letter.thread, letter.user, self.models, ballot, **tables, **trusted, help=self.help)
        run = Run(self.graph, context, state, state.get("turn", 0) + (0 if routed else 1))
        self._runs[letter.thread] = run
        try:
            given = None if known else await self._given(letter, snapshot, lang)
            run.recording.begin((given or state)["lang"], resumed=routed)
            if routed:
                run.said += [Message(speaker=said["speaker"], text=said["text"]) for said in state.get("said", [])]
            idle = known and not snapshot.tasks
            async with aclosing(self._events(run, letter, given, idle=idle)) as events:
                async for event in events:
                    yield replace(event, thread=letter.thread, turn=run.turn)
        finally:
            del self._runs[letter.thread]
        ms = round((time.perf_counter() - begun) * 1000)
        holder = run.state.get("dialog")
        about: dict[str, Any] = {"waiting": bool(run.state.get("pending")), "model_calls": run.model_calls, "ms": ms}
        end = TurnEnd(is_active=holder is None, dialog=holder, **about)
        yield replace(end, thread=letter.thread, turn=run.turn)

    async def _events(
        self, run: Run, letter: Letter, given: dict[str, Any] | None, *, idle: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield what happens, and write down what came of it."""
        yield TurnStart(text=letter.text, source=letter.source)
        for said in retold(run.said, run.state):
            yield said
        try:
            if not idle:
                async with aclosing(run.events(given)) as events:
                    async for event in events:
                        yield event
        except Exception as failure:
            yield await self.outcome.failed(run, letter, failure)
            return
        if run.stopped and not run.ended:
            yield await self.outcome.stopped(run, letter, given)
        else:
            await self.outcome.done(run, letter)

    async def _given(self, letter: Letter, snapshot: StateSnapshot, lang: str | None) -> dict[str, Any]:
        """Return what a new message puts into the state; also the message before it, if that failed unheard."""
        state = cast(State, snapshot.values)
        chosen = await self.languages.choose(letter, lang, state.get("lang"))
        given: dict[str, Any] = {
            "heard": {"id": letter.message_id, "text": letter.text, "source": letter.source},
            "lang": chosen,
        }
        lines = await self.memory.transcript.lines(letter.thread, limit=REMEMBERED)
        told = [*takewhile(lambda line: line.metadata.get("source") == UNASKED, reversed(lines))][::-1]
        said = lines[: len(lines) - len(told)]
        if snapshot.tasks and not snapshot.interrupts and "heard" in state:
            holder = state.get("dialog") or SUPERVISOR
            unheard = heard_message(state["heard"], state.get("talks", {}).get(holder, {}))
            return {**given, "talks": _caught_up(state, told, unheard)}
        if said and said[-1].message_id != state.get("heard", {}).get("id"):
            LOG.warning("thread %s: its state is older than its transcript; rebuilt", letter.thread)
            return {**given, **from_transcript(lines)}
        return {**given, "talks": _caught_up(state, told)}


def _caught_up(state: State, told: list[Line], unheard: AnyMessage | None = None) -> dict[str, Any]:
    """Return what the supervisor and the holder of the conversation have missed: what was said unasked."""
    talks, holder = state.get("talks", {}), state.get("dialog") or SUPERVISOR
    missed: dict[str, Any] = {}
    for name in dict.fromkeys((SUPERVISOR, holder)):
        known = {message.id for message in talks.get(name, {}).get("messages", [])}
        added: list[AnyMessage] = [unheard] if unheard and name == holder else []
        added += [AIMessage(line.text, id=line.message_id) for line in told if line.message_id not in known]
        if added:
            missed[name] = {"add": added}
    return missed


def _votes(snapshot: StateSnapshot) -> dict[str, Verdict]:
    """Return the votes that observers cast before a crash in the same step."""
    votes = [vote for task in snapshot.tasks if task.result for vote in task.result.get("votes") or []]
    return {vote["observer"]: Verdict(vote["kind"], vote["target"], vote["reason"]) for vote in votes}
