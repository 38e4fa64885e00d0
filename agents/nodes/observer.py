"""The nodes of observers: in one of them an observer votes, in the other the verdict is carried out."""

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.conversation import handover
from agents.conversation.changes import Move, Update, emit, sequence
from agents.conversation.handover import MAX_HOPS
from agents.conversation.prompt import Prompting
from agents.conversation.scene import Check, Scene, scene_of
from agents.events import Observed
from agents.memory.undo_log import ToolWrite
from agents.models.reply import Listener, reply
from agents.state import State, holder_of
from agents.state.message_notes import notes
from agents.state.verdict import Verdict, read_verdict, read_votes, settle
from agents.toolkit.context import Context, emitter
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.undo import FACTS, REMEMBER, fact_of
from prompts import observer_prompt

LOG = logging.getLogger(__name__)
PATIENCE = 10
"""Seconds an observer may take; later it counts as "stay"."""


@dataclass(frozen=True)
class Watching:
    """Ask one observer, and write down its vote."""

    name: str
    check: Check
    prompting: Prompting

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the vote; an observer that fails, or takes too long, votes "stay"."""
        dialog = self.prompting.speakers[holder_of(state)]
        scene = scene_of(dialog, state, self.prompting.speakers)
        ask = partial(self._ask, scene, runtime)
        enter = partial(self._enter, state, runtime)
        scene = replace(scene, user=runtime.context.user, store=runtime.store, ask=ask, enter=enter)
        try:
            async with asyncio.timeout(PATIENCE):
                verdict = self._plausible(await self.check(scene), dialog)
        except Exception as failure:
            cause = type(failure).__name__
            LOG.warning("thread %s: observer %s failed: %s", runtime.context.thread, self.name, cause)
            verdict = Verdict(reason=f"the observer failed ({cause})")
        vote = verdict.plain()
        emitter(runtime)(
            Observed(
                observer=self.name, verdict=vote["kind"], target=vote["target"], reason=vote["reason"], by="observer"
            )
        )
        runtime.context.ballot.cast(self.name, verdict)
        return {"votes": [{"observer": self.name, **vote}]}

    def _plausible(self, verdict: Verdict, dialog: Speaker) -> Verdict:
        """Correct a vote that names the dialog itself, or one that does not exist."""
        if verdict.kind != "switch" or verdict.target in self.prompting.speakers.dialogs:
            return Verdict(reason=verdict.reason) if verdict.target == dialog.name else verdict
        return replace(verdict, kind="supervisor")

    async def _enter(
        self, state: State, runtime: Runtime[Context], kind: str, key: str, value: dict[str, object]
    ) -> None:
        """Enter in the undo log what the observer is about to remember."""
        context, name = runtime.context, f"{kind}/{key}"
        if context.undo is None:
            return
        write = ToolWrite(
            thread=context.thread,
            user=context.user,
            message=state["heard"]["id"],
            speaker=holder_of(state),
            tool=REMEMBER,
            call=self.name,
        )
        before, after = await fact_of(runtime.store, context.user, name), {"name": key, "fact": value}
        if before != after:
            await context.undo.enter(write, FACTS.name, {name: (before, after)})

    async def _ask(self, scene: Scene, runtime: Runtime[Context], **variables: object) -> str:
        models = runtime.context.models
        role, context = observer_prompt(self.name, scene.lang, **variables)
        facts = self.prompting.facts.for_observer(self.name, scene)
        messages: list[AnyMessage] = [
            SystemMessage(role, additional_kwargs=notes(lang=scene.lang, facts=facts)),
            HumanMessage(scene.text, additional_kwargs=notes(context=[context])),
        ]
        listener = Listener(f"{self.name} observer", emitter(runtime), role="observer", thread=runtime.context.thread)
        return (await reply(models.chain("observer"), messages, [], listener)).text.strip()


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
