"""The node that sums up what a history is about to lose, for dialogs that ask for it, while the user reads."""

import logging

from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.runtime import Runtime

from agents.conversation.changes import Update
from agents.errors import ModelUnavailable
from agents.models.reply import Listener, reply
from agents.state import State, messages_of
from agents.state.message_notes import notes
from agents.state.talk import GROW, cut
from agents.toolkit.context import Context, emitter
from agents.toolkit.speaker import Speaker
from prompts import phrase, prompt

LONGEST_SUMMARY = 2000
"""Characters a summary may have."""
LOG = logging.getLogger(__name__)


class Summing:
    """Replace the older part of a speaker's history by a summary of it."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the shorter history and the summary; without a model the history waits for the next turn."""
        talk = state["talks"][self.speaker.name]
        remaining = cut(talk["messages"])
        lost = talk["messages"][: len(talk["messages"]) - len(remaining)]
        transcript = "\n".join(f"{message.type}: {message.text}" for message in lost if message.text)
        before = phrase("summed_up", state["lang"], summary=talk.get("summary") or "-")
        listener = Listener(f"{self.speaker.name} summary", emitter(runtime), thread=runtime.context.thread)
        question: list[AnyMessage] = [
            SystemMessage(prompt("summary", state["lang"]), additional_kwargs=notes(lang=state["lang"])),
            SystemMessage(f"{before}\n\n{transcript}"),
        ]
        try:
            summary = await reply(runtime.context.models.chain(self.speaker.name), question, [], listener)
        except ModelUnavailable as failure:
            LOG.warning("thread %s: no summary: %s", runtime.context.thread, failure)
            return {}
        return {
            "talks": {self.speaker.name: {"messages": remaining, "summary": summary.text.strip()[:LONGEST_SUMMARY]}}
        }


def due(speaker: Speaker, state: State) -> bool:
    """Tell whether a speaker wants summaries and its history has grown to where it is cut."""
    return speaker.history == "summarise" and len(messages_of(state, speaker.name)) > GROW
