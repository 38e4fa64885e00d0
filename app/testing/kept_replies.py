"""The replies in speakers' histories, compared with the user's transcript: they must not differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from langchain_core.messages import AIMessage

from agents.conversation.changes import MOST_SEEN
from agents.state import State
from agents.state.citations import uncited
from app.assistant import Assistant
from app.assistant.outcome_store import FAILURE

NUMBERS = re.compile(r" *(\[\d+\])+")
"""The shown numbers of sources; a history has a model's own marks."""


@dataclass
class KeptReplies:
    """The replies of speakers in histories."""

    texts: set[str] = field(default_factory=set)
    unseen: set[str] = field(default_factory=set)
    """The replies that no user saw."""

    def note(self, state: State, shown: Sequence[str]) -> None:
        """Take the replies of a thread's histories; `shown` are all shown texts, in their order."""
        screen = "\n".join(["", *(NUMBERS.sub("", text).strip() for text in shown), ""])
        for text in _replies(state):
            self.texts.add(text)
            end = "" if len(text) >= MOST_SEEN else "\n"
            if f"\n{text}{end}" not in screen:
                self.unseen.add(text)

    async def take(self, assistant: Assistant, thread: str) -> None:
        """Take the replies of a thread's histories, and compare them with its transcript."""
        values = (await assistant.graph.aget_state({"configurable": {"thread_id": thread}})).values
        # An apology may stand between the shown part of a reply and its rest.
        lines = [line for line in await assistant.history(thread) if line.metadata.get("source") != FAILURE]
        self.note(cast(State, values), [line.text for line in lines if line.role == "assistant"])


def _replies(state: State) -> Iterator[str]:
    talks = [state.get("talks", {}), *(person.get("talks", {}) for person in state.get("persons", {}).values())]
    for talk in (talk for each in talks for talk in each.values()):
        replies = (message for message in talk.get("messages", []) if isinstance(message, AIMessage))
        yield from (text for reply in replies if (text := NUMBERS.sub("", uncited(reply.text)).strip()))
