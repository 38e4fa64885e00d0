"""The nodes of observers: in one an observer votes, in the other the verdict is carried out."""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from agents.conversation import handover
from agents.conversation.changes import Change, Update
from agents.conversation.handover import LONGEST_BRIEF
from agents.conversation.prompt import Prompting
from agents.conversation.scene import Check, Scene, scene_of
from agents.events import Observed
from agents.foreign import contained
from agents.language.identifiers import masked
from agents.language.text.clean import whole
from agents.memory.undo_log import ToolWrite
from agents.models import ToolSchema
from agents.models.reply import Listener, reply
from agents.state import SUPERVISOR, State, holder_of
from agents.state.message_notes import notes
from agents.state.person import Wish
from agents.state.verdict import STAY, Verdict, because, read_votes, settle
from agents.toolkit.context import Context, emitter
from agents.toolkit.services import Takeover
from agents.toolkit.speaker import Speaker, Speakers
from agents.toolkit.undo import FACTS, REMEMBER, fact_of
from prompts import observer_prompt, phrase

LOG = logging.getLogger(__name__)
WORD = re.compile(r"[\w-]+(\s*\+\s*[\w-]+)?")


class ObserverNode:
    """Ask one observer, and write down its vote."""

    def __init__(self, name: str, check: Check, prompting: Prompting) -> None:
        self.name, self.check, self.prompting = name, check, prompting

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the vote; an observer that fails, or takes too long, votes "stay"."""
        context, speakers = runtime.context, self.prompting.speakers
        dialog = speakers[holder_of(state)]
        scene = scene_of(dialog, state, speakers, is_whole=True)
        misses: list[str] = []
        ask, enter = partial(self._ask, scene, state, runtime, misses), partial(self._enter, state, runtime)
        scene = replace(scene, user=context.user, store=runtime.store, ask=ask, enter=enter)
        try:
            async with asyncio.timeout(context.models.chain("observer")[0].aside_seconds):
                with contained():
                    verdict = await self.check(scene)
                if misses and verdict == STAY:
                    verdict = Verdict(reason=because("no_word"))
                if verdict.kind == "person" and (takeover := context.services.find(Takeover)):
                    # Before the vote counts, so that no kill loses the call.
                    await takeover.observe(context.thread, context.user, scene.lang, verdict.reason)
            verdict = _counted(verdict, dialog, speakers)
            verdict = replace(verdict, reason=whole(verdict.reason))
            observed = self._observed(verdict)
        except Exception as failure:
            cause = type(failure).__name__
            LOG.warning("thread %s: observer %s failed: %s", context.thread, self.name, cause)
            verdict = Verdict(reason=because("observer_failed", cause=cause))
            observed = self._observed(verdict)
        emitter(runtime)(observed)
        context.ballot.cast(self.name, verdict)
        return {"votes": [{"observer": self.name, **verdict.plain()}]}

    def _observed(self, verdict: Verdict) -> Observed:
        kind, target, reason = verdict.kind, verdict.target or verdict.also or None, verdict.reason
        return Observed(observer=self.name, verdict=kind, target=target, reason=reason, by="observer")

    async def _enter(
        self, state: State, runtime: Runtime[Context], kind: str, key: str, value: dict[str, object]
    ) -> None:
        """Enter the fact that the observer is about to remember in the undo log."""
        context, name = runtime.context, f"{kind}/{key}"
        if context.undo is None:
            return
        message, speaker = state["heard"]["id"], holder_of(state)
        write = ToolWrite(
            thread=context.thread, user=context.user, message=message, speaker=speaker, tool=REMEMBER, call=self.name
        )
        before, after = await fact_of(runtime.store, context.user, name), {"name": key, "fact": value}
        if before != after:
            await context.undo.enter(write, FACTS.name, {name: (before, after)})

    async def _ask(
        self,
        scene: Scene,
        state: State,
        runtime: Runtime[Context],
        misses: list[str],
        words: Sequence[str] = (),
        **variables: object,
    ) -> str:
        """Return the one of `words` that begins the model's answer, or note a miss; without `words` the answer."""
        chain, thread = runtime.context.models.chain("observer"), runtime.context.thread
        dialog, place = self.prompting.speakers[scene.dialog], runtime.context.models.chain(scene.dialog)[0].place
        has_one_slot = dialog.agent is None and chain[0].habits.get("slots") == 1 and chain[0].place == place
        if has_one_slot:
            # The dialog's own prompt has both, and a system message must not have them.
            variables |= dict.fromkeys(variables.keys() & {"reply", "known"}, phrase("see_above", scene.lang))
        role, facts_of_talk = observer_prompt(self.name, scene.lang, **variables)
        facts_of_talk = masked(facts_of_talk, state.get("aliases"))
        listener = Listener(f"{self.name} observer", emitter(runtime), role="observer", thread=thread, words=words)
        tools: Sequence[ToolSchema] = []
        facts = self.prompting.observer_facts(self.name, scene)
        messages: list[AnyMessage] = [
            SystemMessage(role, additional_kwargs=notes(lang=scene.lang, facts=facts)),
            HumanMessage(scene.text, additional_kwargs=notes(context=[facts_of_talk])),
        ]
        if has_one_slot:
            messages, tools = await self.prompting.question(dialog, state, runtime.context, f"{role}\n{facts_of_talk}")
        text = (await reply(chain, messages, tools, listener)).text.strip()
        if not words:
            return text
        first, spellings = WORD.search(text.casefold()), {word.casefold(): word for word in words}
        parts = [part.strip() for part in first[0].split("+")] if first else [""]
        word = spellings.get(" + ".join(parts)) or spellings.get(parts[0], "")
        misses += [] if word else [text]
        return word


def _counted(verdict: Verdict, dialog: Speaker, speakers: Speakers) -> Verdict:
    """Return a verdict as it counts for the dialog that leads; if it is another one, its reason says so."""
    if verdict.target == dialog.name:
        return Verdict(reason=because("names_leading", why=verdict.reason).strip())
    if verdict.kind == "switch" and verdict.target not in speakers.dialogs:
        verdict = replace(verdict, kind="supervisor", reason=because("names_none", why=verdict.reason).strip())
    if dialog.is_supervisor and verdict.kind in ("supervisor", "finished"):
        return replace(verdict, kind="stay", reason=because("supervisor_leads", why=verdict.reason).strip())
    return verdict


class VerdictNode:
    """Act on the verdict: the dialog goes on, alone or with another behind it, or another one gets the same message.

    With `direct`, or by a binding verdict, a dialog that it names takes over at once; else the supervisor decides.
    """

    def __init__(self, speakers: Speakers, *, direct: bool = True) -> None:
        self.speakers, self.direct = speakers, direct

    async def __call__(self, state: State, runtime: Runtime[Context]) -> dict[str, object]:
        """Return the speaker that hears the message now."""
        dialog, stored = self.speakers[holder_of(state)], state.get("verdict")
        verdict = Verdict(**stored) if stored else settle(read_votes(state["votes"]))
        change = Change(state)
        change.put(listener=dialog.name)
        if verdict.also and not dialog.is_supervisor:
            text = (state["heard"]["text"] or "")[:LONGEST_BRIEF]
            # A name without a dialog is a tool of the supervisor.
            part: Wish = {"dialog": SUPERVISOR, "brief": verdict.also}
            if verdict.also in self.speakers.dialogs:
                part = {"dialog": verdict.also, "brief": text}
            change.put(wishes=[part, *state.get("wishes", [])])
        if not verdict.stays:
            target = self._target(change, verdict)
            leave = handover.finish if verdict.kind == "finished" else handover.pause
            if not dialog.is_supervisor:
                leave(change, dialog, verdict.target or verdict.reason)
            handover.hand_off_directly(change, target, loser=dialog.name)
        return {"asked": [], "votes": Overwrite([]), "verdict": None, **change.emit(runtime)}

    def _target(self, change: Change, verdict: Verdict) -> Speaker | None:
        """Return the dialog that takes over at once; None if the supervisor hears the message."""
        target = self.speakers.dialogs.get(verdict.target or "") if verdict.kind == "switch" else None
        if target is None or not handover.may_hop(change, target.name):
            return None
        if self.direct or verdict.binding:
            return target
        change.decide("verdict", "supervisor", because("model_decides"), target.name)
        return None
