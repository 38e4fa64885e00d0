"""The node that sums up the cut messages of the speakers' histories; the user reads the answer meanwhile."""

import asyncio
import logging

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.runtime import Runtime

from agents.conversation.changes import Update
from agents.errors import ModelUnavailable
from agents.models.reply import Listener, reply
from agents.state import State
from agents.state.message_notes import notes
from agents.state.speaker_state import SpeakerState, SpeakerUpdate
from agents.toolkit.context import Context, emitter
from prompts import phrase, prompt

LOG = logging.getLogger(__name__)
LONGEST_SUMMARY, LONGEST_LINE = 2000, 400
"""Characters of a summary, and of each message for it."""


async def sum_up(state: State, runtime: Runtime[Context]) -> Update:
    """Return the new summaries; if a model gives none, the former one stays, and the cut messages are lost."""
    talks: dict[str, SpeakerUpdate] = {}
    for name, talk in state.get("talks", {}).items():
        if talk.get("lost") and runtime.context.spent.leaves(runtime.context.limits):
            talks[name] = {"lost": [], "summary": await _summary(name, talk, state["lang"], runtime)}
    return {"talks": talks}


async def _summary(name: str, talk: SpeakerState, lang: str, runtime: Runtime[Context]) -> str:
    context, before = runtime.context, talk.get("summary", "")
    lines = [f"{it.type}: {' '.join(it.text.split())[:LONGEST_LINE]}" for it in talk["lost"] if it.text.strip()]
    transcript = "\n".join([phrase("summed_up", lang, summary=before or "-"), "", *lines])
    chain = context.models.chain(name)
    listener = Listener(f"{name} summary", emitter(runtime), role=name, thread=context.thread)
    question: list[AnyMessage] = [
        SystemMessage(prompt("summary", lang), additional_kwargs=notes(lang=lang)),
        SystemMessage(transcript),
    ]
    try:
        async with asyncio.timeout(chain[0].aside_seconds):
            summary = await reply(chain, question, [], listener)
    except (ModelUnavailable, TimeoutError) as failure:
        LOG.warning("thread %s: no summary: %s", context.thread, str(failure) or type(failure).__name__)
        return before
    return summary.text.strip()[:LONGEST_SUMMARY]


def summary_due(state: State) -> bool:
    """Tell whether a history was cut and no summary tells of it yet."""
    return any(talk.get("lost") for talk in state.get("talks", {}).values())
