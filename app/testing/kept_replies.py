"""What histories keep as said by a speaker, held against what the user saw: there shall be no difference."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from langchain_core.messages import AIMessage

from agents.conversation.changes import MOST_SEEN
from agents.state import State
from agents.state.citations import uncited
from app.assistant import Assistant
from app.assistant.closing import FAILURE

NUMBERS = re.compile(r" *(\[\d+\])+")
"""Sources as people see them; a history has a model's own marks."""


@dataclass
class KeptReplies:
    """What histories keep of the replies of speakers."""

    texts: set[str] = field(default_factory=set)
    unseen: set[str] = field(default_factory=set)
    """Those of them that no user saw."""

    def note(self, state: State, shown: Sequence[str]) -> None:
        """Take the replies of a thread's histories; `shown` is all that was shown in it, in this order."""
        screen = "\n".join(["", *(NUMBERS.sub("", text).strip() for text in shown), ""])
        for text in _replies(state):
            self.texts.add(text)
            end = "" if len(text) >= MOST_SEEN else "\n"
            if f"\n{text}{end}" not in screen:
                self.unseen.add(text)

    async def take(self, assistant: Assistant, thread: str) -> None:
        """Take the replies of a thread's histories, and hold them against its transcript."""
        values = (await assistant.graph.aget_state({"configurable": {"thread_id": thread}})).values
        # An apology may stand between what was shown of a reply and the rest of it.
        lines = [line for line in await assistant.history(thread) if line.metadata.get("source") != FAILURE]
        self.note(cast(State, values), [line.text for line in lines if line.role == "assistant"])


def _replies(state: State) -> Iterator[str]:
    talks = [state.get("talks", {}), *(person.get("talks", {}) for person in state.get("persons", {}).values())]
    for talk in (talk for each in talks for talk in each.values()):
        replies = (message for message in talk.get("messages", []) if isinstance(message, AIMessage))
        yield from (text for reply in replies if (text := NUMBERS.sub("", uncited(reply.text)).strip()))
