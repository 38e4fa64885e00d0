"""The node in which one observer votes on a dialog's hold on the conversation."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agents.context import Context
from agents.conversation.changes import Update
from agents.conversation.prompt import Prompting
from agents.conversation.scene import scene
from agents.events.handover import Observed
from agents.models.reply import Listener, reply
from agents.scene import Scene
from agents.speaker import Speaker
from agents.state import SUPERVISOR, State
from agents.verdict import Verdict
from prompts import prompt

LOG = logging.getLogger(__name__)
PATIENCE = 10
"""Seconds an observer may take; later it counts as "stay"."""
Check = Callable[[Scene], Awaitable[Verdict]]


@dataclass(frozen=True)
class Watching:
    """Let one observer see the moment, and take its vote."""

    name: str
    check: Check
    prompting: Prompting

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the vote; an observer that fails or dawdles votes "stay"."""
        speakers = self.prompting.speakers
        dialog = speakers[state["dialog"] or SUPERVISOR]
        moment = replace(
            scene(speakers, dialog, state),
            user=runtime.context.user,
            store=runtime.store,
            ask=partial(self._ask, state, runtime),
        )
        try:
            async with asyncio.timeout(PATIENCE):
                verdict = self._plausible(await self.check(moment), dialog)
        except Exception as failure:
            cause = type(failure).__name__
            LOG.warning("thread %s: observer %s failed: %s", runtime.context.thread, self.name, cause)
            verdict = Verdict(reason=f"the observer failed ({cause})")
        runtime.stream_writer(
            Observed(
                observer=self.name, verdict=verdict.kind, target=verdict.target, reason=verdict.reason, by="observer"
            )
        )
        runtime.context.ballot.cast(self.name, verdict)
        return {"votes": [{"observer": self.name, **verdict.plain()}]}

    def _plausible(self, verdict: Verdict, dialog: Speaker) -> Verdict:
        """Correct a vote that names the dialog itself, or one that does not exist."""
        if verdict.kind != "switch" or verdict.target in self.prompting.speakers.dialogs:
            return Verdict(reason=verdict.reason) if verdict.target == dialog.name else verdict
        return replace(verdict, kind="supervisor")

    async def _ask(self, state: State, runtime: Runtime[Context], **variables: object) -> str:
        text = prompt(f"observers/{self.name}", state["lang"], **variables)
        messages: list[AnyMessage] = [
            SystemMessage(text, additional_kwargs={"scene": self.prompting.sight(self.name, state)}),
            HumanMessage(state["heard"]["text"] or ""),
        ]
        listener = Listener(f"{self.name} observer", runtime.stream_writer, role="observer")
        return (await reply(runtime.context.models.chain("observer"), messages, [], listener)).text.strip()
