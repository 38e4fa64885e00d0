"""What happens to one message: answered, told again, or taken up where a crash or a failure left it."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from langgraph.types import StateSnapshot

from agents.context import make_context
from agents.events import Event, Message, TurnEnd, TurnStart
from agents.help.chain import HelpChain
from agents.memory import Memory
from agents.memory.inbox import Letter
from agents.models import Models
from agents.state import State
from agents.verdict import Ballot, Verdict, read_votes
from app.assistant.closing import Outcome
from app.assistant.language import Languages
from app.assistant.repeat import retold
from app.assistant.run import Run, config_of
from app.assistant.turn_input import REMEMBERED, given_by
from app.graph import Graph
from app.permissions import Permissions


@dataclass(eq=False)
class Playing:
    """Carry messages through the graph."""

    graph: Graph
    memory: Memory
    models: Models
    languages: Languages
    help: HelpChain
    permissions: Permissions

    def __post_init__(self) -> None:
        self.outcome = Outcome(self.graph, self.memory, self.languages.default)
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
        context = await make_context(
            self.memory,
            letter.thread,
            letter.user,
            self.models,
            permissions=self.permissions.of(letter.user),
            help=self.help,
            device=device,
            ballot=Ballot(_votes(snapshot)),
        )
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
        """Return what a new message puts into the state."""
        chosen = await self.languages.choose(letter, lang, snapshot.values.get("lang"))
        lines = await self.memory.transcript.lines(letter.thread, limit=REMEMBERED)
        return given_by(letter, chosen, snapshot, lines)


def _votes(snapshot: StateSnapshot) -> dict[str, Verdict]:
    """Return the votes that observers cast before a crash in the same step."""
    written = [task.result.get("votes") for task in snapshot.tasks if task.result]
    return read_votes(vote for votes in written if isinstance(votes, list) for vote in votes if vote)
