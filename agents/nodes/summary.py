"""The node that sums up what a history is about to lose, for dialogs that ask for it, while the user reads."""

import logging

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agents.context import Context
from agents.conversation.changes import Update
from agents.errors import ModelUnavailable
from agents.history import GROW, cut
from agents.models.reply import Listener, reply
from agents.speaker import Speaker
from agents.state import State
from prompts import prompt

LONGEST = 2000
"""Characters a summary may have."""
LOG = logging.getLogger(__name__)


class Summing:
    """Replace the older part of a speaker's history by a summary of it."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

    async def __call__(self, state: State, runtime: Runtime[Context]) -> Update:
        """Return the shorter history and the summary; without a model the history waits for the next turn."""
        talk = state["talks"][self.speaker.name]
        kept = cut(talk["messages"])
        lost = talk["messages"][: len(talk["messages"]) - len(kept)]
        said = "\n".join(f"{message.type}: {message.text}" for message in lost if message.text)
        text = prompt("summary", state["lang"], before=talk.get("summary") or "-")
        listener = Listener(f"{self.speaker.name} summary", runtime.stream_writer)
        asked: list[AnyMessage] = [SystemMessage(text), HumanMessage(said)]
        try:
            summary = await reply(runtime.context.models.chain(self.speaker.name), asked, [], listener)
        except ModelUnavailable as failure:
            LOG.warning("thread %s: no summary: %s", runtime.context.thread, failure)
            return {}
        return {"talks": {self.speaker.name: {"messages": kept, "summary": summary.text.strip()[:LONGEST]}}}


def due(speaker: Speaker, state: State) -> bool:
    """Tell whether a speaker wants summaries and its history has grown to where it is cut."""
    messages = state.get("talks", {}).get(speaker.name, {}).get("messages", [])
    return speaker.history == "summarise" and len(messages) > GROW
