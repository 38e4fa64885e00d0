"""Count the words that histories keep as said by a speaker, and that no user saw: there shall be none.

`python -m benchmarks.unseen` plays the conversation that is counted elsewhere, with and without questions in its
answers; `benchmarks.replay` counts the same over the tasks of a shop. Cancelled drafts, observers and summaries are no
replies, and words that a view has replaced are kept as left out.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from langchain_core.messages import AIMessage

from agents.conversation.changes import MOST_SEEN
from agents.state import State
from agents.state.citations import uncited
from app.assistant import Assistant
from app.assistant.closing import FAILURE
from benchmarks.conversation import Step, asking_nothing, script
from benchmarks.performing import Player, perform, stage
from benchmarks.report import Row, arguments, show

TURNS = 60
NUMBERS = re.compile(r" *(\[\d+\])+")
"""Sources as people see them; a history has a model's own marks."""


@dataclass
class Kept:
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

    def row(self, name: str) -> Row:
        """Return the counts."""
        words = [sum(len(text.split()) for text in texts) for texts in (self.texts, self.unseen)]
        return {
            "conversation": name,
            "different replies": len(self.texts),
            "words kept": words[0],
            "words unseen": words[1],
        }


def _replies(state: State) -> Iterator[str]:
    talks = [state.get("talks", {}), *(person.get("talks", {}) for person in state.get("persons", {}).values())]
    for talk in (talk for each in talks for talk in each.values()):
        replies = (message for message in talk.get("messages", []) if isinstance(message, AIMessage))
        yield from (text for reply in replies if (text := NUMBERS.sub("", uncited(reply.text)).strip()))


async def _performed(steps: Sequence[Step], folder: Path) -> Kept:
    player, kept = Player(), Kept()
    async with stage(f"sqlite:///{folder / 'unseen.db'}", player) as assistant:
        async for _ in perform(assistant, player, steps):
            # A history is cut now and then.
            await kept.take(assistant, "script")
    return kept


def performed(turns: int = TURNS, *, asks: bool = True) -> Kept:
    """Perform the script with so many turns; without `asks` the answers ask the user nothing."""
    steps = script(turns) if asks else asking_nothing(script(turns))
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_performed(steps, Path(folder)))


def main() -> None:
    """Count in all conversations that there are."""
    chosen = arguments(__doc__).parse_args()
    rows = [performed().row("script"), performed(asks=False).row("script, asking nothing")]
    show(rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
