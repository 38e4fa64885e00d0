"""A conversation on a page: its transcript, and running answers as a stream of HTML."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import cast

from fastapi import Response
from fastapi.sse import format_sse_event
from markupsafe import Markup

from agents.events import Error, Interrupt
from agents.memory.feedback import SIGNS, ShownTurn
from agents.memory.inbox import TO, TOLD, TranscriptLine, lines_of
from agents.sources.attachments import MARKED, marks
from agents.state.person import ASR, Quoted
from agents.toolkit.questions import CHOICE, worded
from app.assistant import Assistant, Turn
from app.assistant.assistant import NOT_TAKEN
from app.assistant.branches import BEGINNING, parents_in
from app.assistant.records import Step
from app.doors.client_answers import MARK
from app.doors.http.answers import Answer, Answers
from app.doors.http.pages.answer_renderer import AnswerRenderer
from app.doors.http.pages.markup import draw

DEVICE = "page"
"""The door, as tools and permissions know it."""
MOST_LINES = 400
"""Lines of a conversation that are shown; older ones are left out."""
SLOW_AFTER = 15.0
"""Seconds without news after which the page says that it takes longer, as a sign of life."""
PACE, PER_SECOND = 0.08, 40_000
"""Seconds between two frames, and the letters a second that a growing text may cost."""
EDITABLE = ("message", ASR)
"""Sources of messages that a user may change and send again."""
LONGEST_WORD = 500
RETRY = 1_000
"""Milliseconds until a browser reconnects after a lost stream."""


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

    @property
    def key(self) -> str:
        """Return the holder of the key for whom its turns are counted; empty: for nobody."""
        return ""

    async def command(self, text: str, id: str) -> Response | None:
        """Run a command and return its part of the page; None for another text. This class has no commands."""
        return None

    async def turn(self, id: str) -> Turn | None:
        """Return a message of the user that is known, to be played again; None if there is none."""
        answer, entry = self.answers.of(self.thread, id), await self.assistant.message(self.thread, id)
        if answer and answer.turn.owner == self.user:
            return answer.turn
        return Turn.of(entry, DEVICE) if entry and entry.user == self.user else None

    async def edited(self, message: str, text: str, id: str) -> Turn | None:
        """Return a turn that comes in place of a message and of all behind it; empty: with the same words."""
        before = await self.turn(message)
        path = await self.assistant.branches.path(self.thread, message)
        if before is None or before.source not in EDITABLE or before.text is None:
            return None
        after = path[-2] if len(path) > 1 else BEGINNING
        # A message of this door has no noted place, and a turn without one is never left.
        await self.assistant.memory.store.aput(parents_in(self.thread), message, {"parent": after})
        return replace(self.new(text or before.text, id, "message"), quoted=before.quoted, after=after)

    async def rate(self, message: str, sign: str, word: str) -> Markup:
        """Keep the user's rating of an answer; return it drawn, with a field for a word to it."""
        turn = ShownTurn(self.thread, message, self.user)
        await self.assistant.memory.feedback.rate(turn, self.user, SIGNS.get(sign), word.strip()[:LONGEST_WORD])
        facts = {"sign": SIGNS.get(sign), "asks": sign in SIGNS and not word, "thanks": bool(word)}
        return draw("rating", self.lang, id=message, address=self.address, **facts)

    def new(self, text: str, id: str, source: str) -> Turn:
        """Return a message of the user."""
        turn = Turn(thread=self.thread, text=text, user=self.user, id=id, source=source, device=DEVICE)
        return replace(turn, door_lang=self.lang)

    async def begin(self, turn: Turn, remarks: Sequence[str] = ()) -> Markup:
        """Begin the answer to a message, and end that to an earlier one; return the message as the page shows it."""
        if self.answers.of(self.thread, turn.id) is None:
            await self.answers.stop(self.thread, self.user)
        answer = await self.answer_to(turn)
        answer.remarks = answer.remarks or remarks
        return self.running(turn)

    async def answer_to(self, turn: Turn) -> Answer:
        """Return the answer to a message. It outlives the page: a phone that sleeps finds it whole."""
        return await self.answers.to(turn, self.key, outlives_readers=True)

    def left(self, id: str, remarks: Sequence[str]) -> Markup:
        """Return the HTML of a message without any usable part: the remarks on its files."""
        answer = Answer.over(replace(self.new("", id, "message"), text=None))
        answer.remarks = remarks
        self.answers.keep(answer)
        return self._past(id, [], None, ())

    async def log(self, after: int = 0, shown: Collection[str] = ()) -> tuple[Markup, int]:
        """Return the lines after a row of the transcript as HTML, and the last row; `shown` answers already stream."""
        running = [answer.turn for answer in self.answers.running_in(self.thread) if answer.turn.owner == self.user]
        # A crash has left them; looking at them lets them be answered.
        waiting = [turn for turn in await self.assistant.unanswered(self.thread, DEVICE) if turn.owner == self.user]
        turns = {turn.id: turn for turn in (*running, *waiting)}
        new = await self.assistant.memory.transcript.lines(self.thread, after=after, limit=MOST_LINES)
        # Where others write as well, each answer says to whom; lines behind a row do not show who else writes.
        own = [line for line in lines_of(self.user, new) if line.metadata.get(TO, self.user) == self.user]
        lines = [line for line in own if line.role == "assistant" or line.speaker == self.user]
        open_question = await self.assistant.question(self.thread, self.user) if lines else None
        steps = {} if after else await self.assistant.steps(self.thread)
        left = await self.assistant.branches.left(self.thread) if lines else set()
        signs = await self.assistant.memory.feedback.signs(self.thread, self.user) if lines else {}
        chosen = {
            line.message_id.rpartition(MARK)[2]: line.text for line in lines if line.metadata.get("source") == CHOICE
        }
        drawn = []
        for id, spoken in groupby(lines, lambda line: line.message_id):
            if id not in turns and id not in left:
                steps = steps if not after else await self.assistant.steps(self.thread, id)
                drawn.append(self._past(id, [*spoken], open_question, steps.get(id, ()), signs.get(id), chosen))
        for answer in self.answers.kept_of(self.thread)[-1:]:
            if not after and answer.is_over and answer.turn.owner == self.user and _is_left(answer):
                drawn.append(self._past(answer.turn.id, [], open_question, ()))
        question = (
            AnswerRenderer(self.user, self.lang).question(open_question) if open_question and not running else Markup()
        )
        begun = [self.running(turn) for id, turn in turns.items() if id not in shown]
        return Markup().join([*drawn, question, *begun]), new[-1].row if new else after

    def running(self, turn: Turn) -> Markup:
        """Return a message of the user whose answer comes by its stream."""
        heard = self._heard(turn.text, source=turn.source, quoted=turn.quoted)
        progress = AnswerRenderer(self.user, self.lang).progress()
        can_edit = turn.source in EDITABLE and turn.text is not None
        return self._drawn(turn.id, heard, progress, is_running=True, can_edit=can_edit)

    async def frames(self, answer: Answer) -> AsyncIterator[bytes]:
        """Yield an answer as Server-Sent Events, from its beginning, also after other readers."""
        drawing, name = AnswerRenderer(self.user, self.lang), "begin"
        async for news in answer.batches(SLOW_AFTER):
            parts = Markup().join(map(drawing.part, news))
            if parts or name == "begin":
                yield format_sse_event(event=name, data_str=parts, retry=RETRY)
            name = "part"
            if not answer.is_over:
                yield format_sse_event(event="live", data_str=drawing.progress(is_slow=not news))
                await asyncio.sleep(max(PACE, len(drawing.text) / PER_SECOND))
        if drawing.question_left and (question := await self.assistant.question(self.thread, self.user)):
            yield format_sse_event(event="part", data_str=drawing.question(question))
        yield format_sse_event(event="live", data_str="")
        yield format_sse_event(event="over", data_str="")

    def _past(
        self,
        id: str,
        lines: list[TranscriptLine],
        question: Interrupt | None,
        steps: Sequence[Step],
        sign: str | None = None,
        chosen: Mapping[str, str] | None = None,
    ) -> Markup:
        """Draw a message and its answer: from the events while they are kept, else from transcript and record.

        The question that is still open is left out.
        """
        drawing, answer = (
            AnswerRenderer(self.user, self.lang, is_past=True, chosen=chosen or {}),
            self.answers.of(self.thread, id),
        )
        heard = [self._heard(line.text, **line.metadata) for line in lines if line.role == "user"]
        if answer and not lines:
            heard = [self._heard(answer.turn.text, source=answer.turn.source, quoted=answer.turn.quoted)]
        asked_id = question.id if question else None
        if answer and answer.is_over:
            events = [event for event in answer.events if not (isinstance(event, Interrupt) and event.id == asked_id)]
            parts = Markup().join(map(drawing.part, events))
        else:
            words = worded(question, self.lang) if question else ""
            answered = [line for line in lines if line.role == "assistant" and line.text != words]
            parts = drawing.past(answered, steps)
        sources = {line.metadata.get("source") for line in lines if line.role == "user"}
        is_kept = bool(lines) and not any(line.metadata.get("source") in TOLD for line in lines)
        can_edit = is_kept and not sources.isdisjoint(EDITABLE)
        return self._drawn(id, Markup().join(heard), parts, is_kept=is_kept, can_edit=can_edit, sign=sign)

    def _heard(self, text: str | None, **facts: object) -> Markup:
        beside = [part for part in cast(Sequence[Quoted], facts.get("quoted", ())) if part["kind"] in MARKED]
        names = [part["by"] or marks([part], self.lang) for part in beside]
        return draw("heard", self.lang, text=text, source=facts.get("source"), beside=names)

    def _drawn(self, id: str, heard: str, parts: str, **state: object) -> Markup:
        answer = self.answers.of(self.thread, id)
        state = {"is_running": False, "is_kept": True, "can_edit": False, "sign": None, **state}
        facts = {"heard": heard, "answer": parts, "remarks": answer.remarks if answer else ()}
        return draw("turn", self.lang, id=id, address=self.address, **state, **facts)


def _is_left(answer: Answer) -> bool:
    """Tell whether a message was not taken in; only its answer tells."""
    codes = [event.code for event in answer.events if isinstance(event, Error)]
    return not answer.events or any(code in NOT_TAKEN for code in codes)
