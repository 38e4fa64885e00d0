"""Search over threads: by words, user, language, and what happened in one of their turns; a page at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from agents.memory.feedback import SIGNS
from agents.memory.inbox import ThreadInfo
from agents.state.verdict import Kind
from app.assistant import Assistant
from app.assistant.recording import Answered, Decided, Record, RecordedReply
from app.plugins.lab.turn_notes import notes_of
from app.yaml_file import FilePart

MOST_LISTED, MOST_READ = 50, 200
"""Threads of a page, and threads that are read for one."""


class ThreadQuery(FilePart):
    """Which threads are wanted. A turn has to be all that is asked of turns at once; empty: whatever it is."""

    words: str = Field(default="", max_length=200)
    """A piece of what was said, or of the thread's name."""
    user: str = Field(default="", max_length=200)
    """A piece of the name of the user who wrote last."""
    lang: str = Field(default="", max_length=10)
    tool: str = Field(default="", max_length=64)
    verdict: Kind | Literal[""] = ""
    trouble: bool = False
    """Whether something went wrong in the turn; with a tool: whether that has failed."""
    label: str = Field(default="", max_length=100)
    """Of a note of the team on one of its turns."""
    rating: Literal["", "up", "down"] = ""
    """What a user thinks of one of its turns."""
    before: int | None = Field(default=None, ge=0)
    """When the threads were active last before which the page begins, in Unix milliseconds."""

    @property
    def asks_of_turns(self) -> bool:
        """Whether the record of a thread has to be read."""
        return bool(self.lang or self.tool or self.verdict or self.trouble)

    def fits(self, turn: Record) -> bool:
        """Tell whether a turn is one that is wanted."""
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


@dataclass(frozen=True)
class ThreadPage:
    """A page of what was found; `next` is the `before` of the page behind it, None behind the last one."""

    rows: Sequence[ThreadInfo] = ()
    next: int | None = None


@dataclass
class ThreadSearch:
    """Looks for threads of an assistant."""

    assistant: Assistant
    query: ThreadQuery
    most_listed: int = MOST_LISTED
    most_read: int = MOST_READ

    async def page(self) -> ThreadPage:
        """Return a page of the threads that are wanted, those that were active last first."""
        before, rows = self.query.before, list[ThreadInfo]()
        infos = [info for info in await self.assistant.threads() if before is None or info.active_ms < before]
        for place, info in enumerate(infos, 1):
            if await self._is_wanted(info):
                rows.append(info)
            is_last = place == len(infos)
            if not is_last and (len(rows) == self.most_listed or place == self.most_read):
                return ThreadPage(rows, info.active_ms)
        return ThreadPage(rows)

    async def _is_wanted(self, info: ThreadInfo) -> bool:
        query = self.query
        if query.user.casefold() not in info.user.casefold():
            return False
        if query.asks_of_turns and not any(map(query.fits, await self.assistant.records(info.thread))):
            return False
        if not (await self._is_labelled(info.thread) and await self._is_rated(info.thread)):
            return False
        words = query.words.casefold()
        if words in info.thread.casefold():
            return True
        lines = await self.assistant.history(info.thread)
        return any(words in line.text.casefold() for line in lines)

    async def _is_labelled(self, thread: str) -> bool:
        label = self.query.label.strip().casefold()
        notes = await notes_of(self.assistant.memory.store, thread) if label else {}
        return not label or any(label == each.casefold() for note in notes.values() for each in note.labels)

    async def _is_rated(self, thread: str) -> bool:
        sign = SIGNS.get(self.query.rating)
        ratings = await self.assistant.memory.feedback.of(thread) if sign else []
        return not sign or any(rating.sign == sign for rating in ratings)
