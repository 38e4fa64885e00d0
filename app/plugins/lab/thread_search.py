"""Search over threads, a page at a time: by words, user, language, and the events of a turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from agents.memory.feedback import SIGNS
from agents.memory.thread_list import MOST_READ, ThreadInfo, ThreadPage
from agents.state.verdict import Kind
from app.assistant import Assistant
from app.assistant.records import Answered, Decided, Record, RecordedReply
from app.plugins.lab.turn_notes import notes_of
from app.prices import added
from app.yaml_file import FilePart

MOST_LISTED = 50
"""The number of threads on a page."""
# An empty field of a form counts as 0.
AtLeast = Annotated[int, BeforeValidator(lambda number: number or 0), Field(ge=0)]


class ThreadQuery(FilePart):
    """A search for threads. One turn must meet all conditions on turns at once; an empty field sets no condition."""

    words: str = Field(default="", max_length=200)
    """A piece of a message, or of the thread's name."""
    user: str = Field(default="", max_length=200)
    """A piece of the name of the user who wrote last."""
    lang: str = Field(default="", max_length=10)
    tool: str = Field(default="", max_length=64)
    verdict: Kind | Literal[""] = ""
    trouble: bool = False
    """Whether the turn had an error or a failed tool; together with `tool`: whether that tool has failed."""
    label: str = Field(default="", max_length=100)
    """A label of the team's note on one of its turns."""
    rating: Literal["", "up", "down"] = ""
    """A user's rating of one of its turns."""
    calls: AtLeast = 0
    tokens: AtLeast = 0
    """The least number of tokens in all turns together."""
    before: int | None = Field(default=None, ge=0)
    """The place in the list before which the page begins."""

    @property
    def asks_of_turns(self) -> bool:
        """Whether the search needs the records of threads."""
        return bool(self.lang or self.tool or self.verdict or self.trouble or self.calls or self.tokens)

    def finds(self, turns: Sequence[Record]) -> bool:
        """Tell whether a thread with these turns matches."""
        took = added(turn.took for turn in turns)
        is_costly = took.calls >= self.calls and took.input + took.output >= self.tokens
        return is_costly and any(map(self.fits, turns))

    def fits(self, turn: Record) -> bool:
        """Tell whether a turn meets the conditions."""
        calls = [step for step in turn.steps if isinstance(step, Answered) and self.tool in ("", step.tool)]
        verdicts = {step.verdict for step in turn.steps if isinstance(step, Decided)}
        has_failed = any(not call.ok for call in calls) or (not self.tool and _has_failed(turn))
        return (
            self.lang in ("", turn.lang)
            and bool(calls or not self.tool)
            and bool(self.verdict in verdicts or not self.verdict)
            and (has_failed or not self.trouble)
        )


def _has_failed(turn: Record) -> bool:
    troubled = any(isinstance(step, RecordedReply) and step.trouble for step in turn.steps)
    return turn.status == "failed" or troubled


@dataclass
class ThreadSearch:
    """Searches the threads of an assistant."""

    assistant: Assistant
    query: ThreadQuery
    most_listed: int = MOST_LISTED
    most_read: int = MOST_READ

    async def page(self) -> ThreadPage:
        """Return a page of the matching threads, the one last written to first."""
        return await self.assistant.memory.threads.page(
            words=self.query.words,
            before=self.query.before,
            most=self.most_listed,
            is_wanted=self._is_wanted,
            most_read=self.most_read,
        )

    async def _is_wanted(self, info: ThreadInfo) -> bool:
        query = self.query
        if query.user.casefold() not in info.user.casefold():
            return False
        if query.asks_of_turns and not query.finds(await self.assistant.records(info.thread)):
            return False
        return await self._is_labelled(info.thread) and await self._is_rated(info.thread)

    async def _is_labelled(self, thread: str) -> bool:
        label = self.query.label.strip().casefold()
        notes = await notes_of(self.assistant.memory.store, thread) if label else {}
        return not label or any(label == each.casefold() for note in notes.values() for each in note.labels)

    async def _is_rated(self, thread: str) -> bool:
        sign = SIGNS.get(self.query.rating)
        ratings = await self.assistant.memory.feedback.of(thread) if sign else []
        return not sign or any(rating.sign == sign for rating in ratings)
