"""The events of an answer, drawn: its finished parts, and the present step until the next part is finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from agents import events
from agents.events.views import View
from agents.memory.inbox import PERSON, TranscriptLine
from agents.state import SUPERVISOR
from agents.state.citations import Citation, shifted
from agents.toolkit.questions import hints
from agents.toolkit.questions.options import naming
from app.assistant.assistant import NOT_TAKEN
from app.assistant.records import Step, event_of, line_of
from app.assistant.short_term_memory import message_of
from app.doors.http.pages.markup import draw
from app.presentation.texts import references, say, tool_title
from prompts import title_of


@dataclass
class AnswerRenderer:
    """Draws the events of one answer, in their order."""

    user: str
    lang: str
    is_past: bool = False
    """Whether the answer is an earlier one, whose questions are closed."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """The answers to the closed questions, by the questions' ids."""
    text: str = ""
    """The model's text so far of an unfinished message."""
    question_left: bool = False
    """Whether the turn has ended with an open question that no part shows."""
    _citations: list[Citation] = field(default_factory=list)
    _steps: dict[str, tuple[str, str]] = field(default_factory=dict)
    _is_asked: bool = False
    """Whether the last event was a question."""
    _has_asked: bool = False

    def part(self, event: events.Event) -> Markup:
        """Take the next event; return its addition to the finished parts."""
        was_asked, self._is_asked = self._is_asked, isinstance(event, events.Interrupt)
        self._has_asked |= self._is_asked
        match event:
            case events.Token(text=text, citations=citations):
                self._citations += shifted(citations, len(self.text))
                self.text += text
            case events.ToolStart(id=id, tool=tool, speaker=speaker):
                self._steps[id or tool] = "working", tool_title(tool, speaker, self.lang)
            case events.ToolEnd(id=id, tool=tool, speaker=speaker, ok=ok):
                state = "done" if ok else "cancelled" if event.cancelled else "failed"
                self._steps[id or tool] = state, tool_title(tool, speaker, self.lang)
            case events.ModelStart() | events.Error(code=events.RETRY):
                self._clear()
            case events.TurnEnd(held_by=person) if person:
                return draw("remark", self.lang, text=say("held", self.lang, name=person))
            case events.TurnEnd(waiting=waiting):
                self.question_left = waiting and not self._has_asked
            case events.Message(shown=shown) if was_asked or shown:
                # The question or the view before it has put the same on the screen.
                self._clear()
            case _ if drawn := self._drawn(event):
                steps = draw("steps", self.lang, steps=self._steps.values()) if self._steps else Markup()
                self._steps.clear()
                self._clear()
                return steps + drawn
        return Markup()

    def progress(self, *, is_slow: bool = False) -> Markup:
        """Return the unfinished part of an answer, below its finished parts."""
        facts = {"steps": self._steps.values(), "text": self.text, "citations": self._citations}
        return draw("progress", self.lang, is_slow=is_slow, **facts)

    def question(self, question: events.Interrupt) -> Markup:
        """Return a question with its buttons, its address or its fields."""
        names = [naming(place, question.options, self.lang) for place in range(len(question.options))]
        rows = zip(names, question.options, strict=True)
        facts = {"asked": question, "rows": rows, "hints": hints(question, self.lang), "is_past": self.is_past}
        return draw("question", self.lang, chosen=self.chosen.get(question.id), **facts)

    def past(self, lines: Sequence[TranscriptLine], steps: Sequence[Step] = ()) -> Markup:
        """Return an earlier answer as the transcript has it, with the tools and views of its record."""
        parts, left = list[Markup](), [*lines]
        for number, step in enumerate(steps):
            event = event_of(step)
            words = event.text() if isinstance(event, View) else line_of(step)
            place = next((place for place, line in enumerate(left) if words in (line.text, str(message_of(line)))), -1)
            if place >= 0:
                parts += map(self._line, left[: place if isinstance(event, View) else place + 1])
                left = left[place + 1 :]
            if isinstance(event, events.ToolEnd):
                parts.append(self.part(event.model_copy(update={"id": str(number)})))
            elif isinstance(event, View) and words:
                parts.append(self.part(event))
        return Markup().join([*parts, *map(self._line, left)])

    def _line(self, line: TranscriptLine) -> Markup:
        metadata = line.metadata
        if metadata.get("source") == PERSON:
            # A person is called as they like, which names no file of ours.
            facts = {"title": line.speaker, "is_person": True, "sources": []}
            return draw("message", self.lang, message=message_of(line), **facts)
        if code := metadata.get("code"):
            return self.part(events.Error(code=code, text=line.text))
        images = self.part(events.Images(images=metadata["images"])) if metadata.get("images") else Markup()
        return images + self.part(message_of(line))

    def _drawn(self, event: events.Event) -> Markup:
        match event:
            case events.Message(text=text, speaker=speaker, citations=citations) if text.strip() or event.interrupted:
                title = "" if speaker == SUPERVISOR else title_of(speaker, self.lang)
                facts = {"title": title.replace("_", " "), "is_person": False, "sources": references(citations)}
                return draw("message", self.lang, message=event, **facts)
            case events.PrivateMessage(user=self.user, text=text):
                return draw("private", self.lang, text=text)
            case events.Interrupt():
                return self.question(event)
            case events.Images(images=images):
                return draw("images", self.lang, images=images)
            case View(kind=kind):
                return draw(f"views/{kind}", self.lang, view=event, is_past=self.is_past)
            case events.Error(code=code, text=text):
                way_on = "" if code in (events.REBUILT, *NOT_TAKEN) else "continue" if code in events.CUT else "retry"
                return draw("error", self.lang, text=text, way_on=way_on)
        return Markup()

    def _clear(self) -> None:
        self.text, self._citations = "", []
