"""A conversation as the page shows it: what was said, and answers that are being made, as a stream of HTML."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import cast

from fastapi.sse import format_sse_event
from markupsafe import Markup

from agents.events import Error, Interrupt
from agents.memory.inbox import TranscriptLine
from agents.sources.attachments import MARKED, marks
from agents.state.person import Quoted
from agents.toolkit.questions import worded
from app.assistant import Assistant, Turn
from app.assistant.assistant import NOT_TAKEN
from app.assistant.recording import Step
from app.doors.http.answers import Answer, Answers
from app.doors.http.page.drawing import Drawing
from app.doors.http.page.markup import draw

DEVICE = "page"
"""The door, as tools and permissions know it."""
MOST_LINES = 400
"""Lines of a conversation that are shown; older ones are left out."""
SLOW_AFTER = 15.0
"""Seconds without anything new after which the page says that it takes longer, and thereby that it is there."""
PACE, PER_SECOND = 0.08, 40_000
"""Seconds between two frames, and the letters a second that a growing text may cost."""
RETRY = 1_000
"""Milliseconds after which a browser comes back that has lost a stream."""


@dataclass(frozen=True)
class Conversation:
    """A thread as one user sees it."""

    assistant: Assistant
    answers: Answers
    thread: str
    user: str
    address: str
    """The address of the conversation; it begins those of its answers."""
    lang: str
    key: str = ""
    """Who talks, as the holder of a key."""

    async def turn(self, id: str) -> Turn | None:
        """Return a message of the user that is known, to be played again; None if there is none."""
        answer, entry = self.answers.of(self.thread, id), await self.assistant.message(self.thread, id)
        if answer and answer.turn.owner == self.user:
            return answer.turn
        return Turn.of(entry, DEVICE) if entry and entry.user == self.user else None

    def new(self, text: str, id: str, source: str) -> Turn:
        """Return a message of the user."""
        turn = Turn(thread=self.thread, text=text, user=self.user, id=id, source=source, device=DEVICE)
        return replace(turn, door_lang=self.lang)

    async def begin(self, turn: Turn, remarks: Sequence[str] = ()) -> Markup:
        """Begin the answer to a message, and end that to an earlier one; return the message as the page shows it."""
        if self.answers.of(self.thread, turn.id) is None:
            await self.answers.stop(self.thread, self.user)
        answer = await self.answers.to(turn, self.key)
        answer.remarks = answer.remarks or remarks
        return self.running(turn)

    def left(self, id: str, remarks: Sequence[str]) -> Markup:
        """Return what the page shows of a message of which nothing can be understood: the remarks on its files."""
        answer = Answer.over(replace(self.new("", id, "message"), text=None))
        answer.remarks = remarks
        self.answers.keep(answer)
        return self._past(id, [], None, ())

    async def log(self, mark: str = "") -> tuple[Markup | None, str]:
        """Return all that was said, unless `mark` is the present mark, and the mark, which changes with it."""
        running = [answer.turn for answer in self.answers.running_in(self.thread) if answer.turn.owner == self.user]
        # A crash has left them; looking at them lets them be answered.
        waiting = [turn for turn in await self.assistant.unanswered(self.thread, DEVICE) if turn.owner == self.user]
        turns = {turn.id: turn for turn in (*running, *waiting)}
        lines = (await self.assistant.history(self.thread, self.user))[-MOST_LINES:]
        asked = await self.assistant.question(self.thread, self.user)
        new_mark = f"{len(lines)}-{lines[-1].at_ms if lines else 0}-{len(turns)}-{asked.id if asked else ''}"
        if mark == new_mark:
            return None, mark
        steps = await self.assistant.steps(self.thread)
        drawn = [
            self._past(id, [*spoken], asked, steps.get(id, ()))
            for id, spoken in groupby(lines, lambda line: line.message_id)
            if id not in turns
        ]
        for answer in self.answers.kept_of(self.thread)[-1:]:
            if answer.is_over and answer.turn.owner == self.user and _is_left(answer):
                drawn.append(self._past(answer.turn.id, [], asked, ()))
        question = Drawing(self.user, self.lang).question(asked) if asked and not running else Markup()
        return Markup().join([*drawn, question, *map(self.running, turns.values())]), new_mark

    def running(self, turn: Turn) -> Markup:
        """Return a message of the user whose answer comes by its stream."""
        heard = self._heard(turn.text, source=turn.source, quoted=turn.quoted)
        progress = Drawing(self.user, self.lang).progress()
        return self._drawn(turn.id, heard, progress, is_running=True)

    async def frames(self, answer: Answer) -> AsyncIterator[bytes]:
        """Yield an answer as Server-Sent Events, from its beginning, whoever has read it before."""
        drawing, name = Drawing(self.user, self.lang), "begin"
        async for news in answer.batches(SLOW_AFTER):
            parts = Markup().join(map(drawing.part, news))
            if name == "begin":
                parts = draw("parts", self.lang, parts=parts)
            if parts:
                yield format_sse_event(event=name, data_str=parts, retry=RETRY)
            name = "part"
            if not answer.is_over:
                yield format_sse_event(event="live", data_str=drawing.progress(is_slow=not news))
                await asyncio.sleep(max(PACE, len(drawing.text) / PER_SECOND))
        if drawing.question_left and (asked := await self.assistant.question(self.thread, self.user)):
            yield format_sse_event(event="part", data_str=drawing.question(asked))
        yield format_sse_event(event="live", data_str="")
        yield format_sse_event(event="over", data_str="")

    def _past(self, id: str, lines: list[TranscriptLine], asked: Interrupt | None, steps: Sequence[Step]) -> Markup:
        """Draw a message and its answer: from the events while they are kept, else from transcript and record.

        The question that is still open is left out.
        """
        drawing, answer = Drawing(self.user, self.lang, is_past=True), self.answers.of(self.thread, id)
        heard = [self._heard(line.text, **line.metadata) for line in lines if line.role == "user"]
        if answer and not lines:
            heard = [self._heard(answer.turn.text, source=answer.turn.source, quoted=answer.turn.quoted)]
        asked_id = asked.id if asked else None
        if answer and answer.is_over:
            events = [event for event in answer.events if not (isinstance(event, Interrupt) and event.id == asked_id)]
            parts = Markup().join(map(drawing.part, events))
        else:
            words = worded(asked, self.lang) if asked else ""
            answered = [line for line in lines if line.role == "assistant" and line.text != words]
            parts = drawing.past(answered, steps)
        return self._drawn(id, Markup().join(heard), parts)

    def _heard(self, text: str | None, **facts: object) -> Markup:
        beside = [part for part in cast(Sequence[Quoted], facts.get("quoted", ())) if part["kind"] in MARKED]
        names = [part["by"] or marks([part], self.lang) for part in beside]
        return draw("heard", self.lang, text=text, source=facts.get("source"), beside=names)

    def _drawn(self, id: str, heard: str, parts: str, *, is_running: bool = False) -> Markup:
        answer = self.answers.of(self.thread, id)
        facts = {"heard": heard, "answer": parts, "remarks": answer.remarks if answer else ()}
        return draw("turn", self.lang, id=id, address=self.address, is_running=is_running, **facts)


def _is_left(answer: Answer) -> bool:
    """Tell whether a message was not taken in, of which only the answer tells."""
    codes = [event.code for event in answer.events if isinstance(event, Error)]
    return not answer.events or any(code in NOT_TAKEN for code in codes)
