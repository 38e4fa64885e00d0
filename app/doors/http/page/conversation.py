"""A conversation as the page shows it: what was said, and answers that are being made, as a stream of HTML."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from itertools import groupby

from fastapi.sse import format_sse_event
from markupsafe import Markup

from agents.events import Event, Interrupt
from agents.memory.inbox import InboxEntry, TranscriptLine
from agents.state.person import Quoted
from agents.toolkit.questions import worded
from app.assistant import Assistant, Turn
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

    async def turn(self, id: str) -> Turn | None:
        """Return a message of the user that is known, to be played again; None if there is none."""
        answer, entry = self.answers.of(self.thread, id), await self.assistant.message(self.thread, id)
        if answer and answer.turn.owner == self.user:
            return answer.turn
        return self._turn(entry) if entry and entry.user == self.user else None

    async def log(self) -> tuple[Markup, str]:
        """Return all that was said, and a mark that changes with it."""
        running = [answer.turn for answer in self.answers.running_in(self.thread) if answer.turn.owner == self.user]
        ids = {turn.id for turn in running}
        # A crash has left them; looking at them lets them be answered.
        waiting = [turn for turn in await self.assistant.unanswered(self.thread, DEVICE) if turn.owner == self.user]
        lines = (await self.assistant.history(self.thread, self.user))[-MOST_LINES:]
        drawn, asked = [], await self.assistant.question(self.thread, self.user)
        for id, spoken in groupby((line for line in lines if line.message_id not in ids), lambda line: line.message_id):
            drawn.append(self._past(id, [*spoken], asked))
        drawing = Drawing(self.user, self.lang)
        question = drawing.question(asked) if asked and not running else Markup()
        turns = [*running, *(turn for turn in waiting if turn.id not in ids)]
        mark = f"{len(lines)}-{lines[-1].at_ms if lines else 0}-{len(turns)}-{asked.id if asked else ''}"
        return Markup().join([*drawn, question, *(self.running(turn) for turn in turns)]), mark

    def running(self, turn: Turn) -> Markup:
        """Return a message of the user whose answer comes by its stream."""
        heard = self._heard(turn.text, turn.source, turn.quoted)
        progress = Drawing(self.user, self.lang).progress()
        return self._drawn(turn.id, heard, progress, is_running=True)

    async def frames(self, answer: Answer, stack: AsyncExitStack) -> AsyncIterator[bytes]:
        """Yield an answer as Server-Sent Events, from its beginning, whoever has read it before."""
        drawing, drawn, name = Drawing(self.user, self.lang), 0, "begin"
        is_slow = False
        async with stack:
            while True:
                news, is_over = answer.events[drawn:], answer.is_over
                drawn += len(news)
                parts = Markup().join(map(drawing.part, news))
                if is_over and drawing.question_left:
                    asked = await self.assistant.question(self.thread, self.user)
                    parts += drawing.question(asked) if asked else ""
                if name == "begin":
                    parts = draw("parts", self.lang, parts=parts)
                if parts:
                    yield format_sse_event(event=name, data_str=parts, retry=RETRY)
                name = "part"
                if is_over:
                    yield format_sse_event(event="live", data_str="")
                    yield format_sse_event(event="over", data_str="")
                    return
                yield format_sse_event(event="live", data_str=drawing.progress(is_slow=is_slow))
                await asyncio.sleep(max(PACE, len(drawing.text) / PER_SECOND))
                is_slow = await self._is_silent(answer, drawn)

    async def _is_silent(self, answer: Answer, drawn: int) -> bool:
        """Wait for something new; tell whether nothing has come."""
        if len(answer.events) == drawn and not answer.is_over:
            with suppress(TimeoutError):
                async with asyncio.timeout(SLOW_AFTER):
                    await answer.change()
                    return False
            return True
        return False

    def _past(self, id: str, lines: list[TranscriptLine], asked: Interrupt | None) -> Markup:
        """Draw a message and its answer: from the events while they are kept, else as the transcript has them.

        The question that is still open is left out.
        """
        drawing, answer = Drawing(self.user, self.lang, is_past=True), self.answers.of(self.thread, id)
        heard = [self._heard(line.text, **line.metadata) for line in lines if line.role == "user"]
        if answer and answer.is_over:
            parts = [drawing.part(event) for event in answer.events if not _is_of(event, asked)]
        else:
            words = worded(asked, self.lang) if asked else ""
            parts = [drawing.line(line) for line in lines if line.role == "assistant" and line.text != words]
        return self._drawn(id, Markup().join(heard), Markup().join(parts))

    def _heard(self, text: str | None, source: str = "", quoted: Sequence[Quoted] = (), **_: object) -> Markup:
        return draw("heard", self.lang, text=text, source=source, quoted=quoted)

    def _drawn(self, id: str, heard: Markup, answer: Markup, *, is_running: bool = False) -> Markup:
        facts = {"heard": heard, "answer": answer, "is_running": is_running}
        return draw("turn", self.lang, id=id, address=self.address, **facts)

    def _turn(self, entry: InboxEntry) -> Turn:
        """Return a stored message as a turn of this door."""
        return Turn(
            thread=entry.thread,
            text=entry.text,
            user=entry.user,
            id=entry.message_id,
            source=entry.source,
            device=DEVICE,
            quoted=json.loads(entry.quoted or "[]"),
        )


def _is_of(event: Event, asked: Interrupt | None) -> bool:
    return isinstance(event, Interrupt) and asked is not None and event.id == asked.id
