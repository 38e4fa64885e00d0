"""The node that sums up the older part of a speaker's history."""

import logging

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.runtime import Runtime

from agents.conversation.changes import Update
from agents.errors import ModelUnavailable
from agents.models.reply import Listener, reply
from agents.state import State, messages_of
from agents.state.history import GROW, cut
from agents.state.message_notes import notes
from agents.toolkit.context import Context, emitter
from agents.toolkit.speaker import Speaker
from prompts import phrase, prompt

LOG = logging.getLogger(__name__)
LONGEST_SUMMARY = 2000
"""Characters a summary may have."""


class Summing:
    """Replace the older part of a speaker's history by a summary of it."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the shorter history and the summary; without a model the history waits for the next turn."""
        name, lang, context = self.speaker.name, state["lang"], runtime.context
        talk = state["talks"][name]
        remaining = cut(talk["messages"])
        lost = talk["messages"][: len(talk["messages"]) - len(remaining)]
        transcript = "\n".join(f"{message.type}: {message.text}" for message in lost if message.text)
        before = phrase("summed_up", lang, summary=talk.get("summary") or "-")
        listener = Listener(f"{name} summary", emitter(runtime), thread=context.thread)
        question: list[AnyMessage] = [
            SystemMessage(prompt("summary", lang), additional_kwargs=notes(lang=lang)),
            SystemMessage(f"{before}\n\n{transcript}"),
        ]
        try:
            summary = await reply(context.models.chain(name), question, [], listener)
        except ModelUnavailable as failure:
            LOG.warning("thread %s: no summary: %s", context.thread, failure)
            return {}
        return {"talks": {name: {"messages": remaining, "summary": summary.text.strip()[:LONGEST_SUMMARY]}}}


def summary_due(speaker: Speaker, state: State) -> bool:
    """Tell whether a speaker wants summaries and its history has grown to where it is cut."""
    return speaker.history == "summarise" and len(messages_of(state, speaker.name)) > GROW
