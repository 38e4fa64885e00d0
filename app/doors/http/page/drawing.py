"""The events of an answer, drawn: its finished parts, and what is shown until the next part is finished."""

from dataclasses import dataclass, field

from markupsafe import Markup

from agents.events import (
    CUT,
    REBUILT,
    RETRY,
    Error,
    Event,
    Images,
    Interrupt,
    Message,
    ModelStart,
    PrivateMessage,
    Token,
    ToolEnd,
    ToolStart,
    TurnEnd,
)
from agents.events.views import View
from agents.memory.inbox import TranscriptLine
from agents.state import SUPERVISOR
from agents.state.citations import Citation, shifted
from agents.toolkit.questions import hints
from agents.toolkit.questions.options import naming
from app.doors.http.page.markup import draw, has_template
from app.texts import references, tool_title
from prompts import title_of

NOT_TAKEN = ("message_long", "many_turns")
"""The codes of messages that were not taken in; there is nothing to try again."""


@dataclass
class Drawing:
    """Draws the events of one answer, in their order."""

    user: str
    lang: str
    is_past: bool = False
    """Whether the answer is an earlier one, whose questions are closed."""
    text: str = ""
    """What the model has said of a message that is not whole."""
    question_left: bool = False
    """Whether the turn has ended with an open question that no part shows."""
    _citations: list[Citation] = field(default_factory=list)
    _steps: dict[str, tuple[str, str]] = field(default_factory=dict)
    _is_asked: bool = False
    """Whether the last event was a question."""
    _has_asked: bool = False

    def part(self, event: Event) -> Markup:
        """Take the next event; return what it adds to the finished parts."""
        was_asked, self._is_asked = self._is_asked, isinstance(event, Interrupt)
        self._has_asked |= self._is_asked
        match event:
            case Token(text=text, citations=citations):
                self._citations += shifted(citations, len(self.text))
                self.text += text
            case ToolStart(id=id, tool=tool, speaker=speaker):
                self._steps[id or tool] = "working", tool_title(tool, speaker, self.lang)
            case ToolEnd(id=id, tool=tool, speaker=speaker, ok=ok):
                self._steps[id or tool] = "done" if ok else "failed", tool_title(tool, speaker, self.lang)
            case ModelStart():
                self._clear()
            case Error(code=code) if code == RETRY:
                self._clear()
            case TurnEnd(waiting=waiting):
                self.question_left = waiting and not self._has_asked
            case Message(shown=shown) if was_asked or shown:
                # The question or the view before it has put the same on the screen.
                self._clear()
            case _ if drawn := self._drawn(event):
                steps = draw("steps", self.lang, steps=self._steps.values()) if self._steps else Markup()
                self._steps.clear()
                self._clear()
                return steps + drawn
        return Markup()

    def progress(self, *, is_slow: bool = False) -> Markup:
        """Return what is shown of an answer below its finished parts."""
        facts = {"steps": self._steps.values(), "text": self.text, "citations": self._citations}
        return draw("progress", self.lang, is_slow=is_slow, **facts)

    def question(self, question: Interrupt) -> Markup:
        """Return a question with its buttons, its address or its fields."""
        names = [naming(place, question.options, self.lang) for place in range(len(question.options))]
        rows = zip(names, question.options, strict=True)
        facts = {"asked": question, "rows": rows, "hints": hints(question, self.lang), "is_past": self.is_past}
        return draw("question", self.lang, **facts)

    def line(self, line: TranscriptLine) -> Markup:
        """Return what was said, as the transcript has it."""
        metadata = line.metadata
        images = self._drawn(Images(images=metadata["images"])) if metadata.get("images") else Markup()
        message = Message(
            speaker=line.speaker,
            text=line.text,
            interrupted=bool(metadata.get("interrupted")),
            citations=metadata.get("citations", []),
        )
        return images + self._drawn(message)

    def _drawn(self, event: Event) -> Markup:
        match event:
            case Message(text=text, speaker=speaker, citations=citations) if text.strip() or event.interrupted:
                title = "" if speaker == SUPERVISOR else title_of(speaker, self.lang)
                sources = references(citations)
                return draw("message", self.lang, message=event, title=title.replace("_", " "), sources=sources)
            case PrivateMessage(user=self.user, text=text):
                return draw("private", self.lang, text=text)
            case Interrupt():
                return self.question(event)
            case Images(images=images):
                return draw("images", self.lang, images=images)
            case View(kind=kind):
                name = f"views/{kind}"
                return draw(name if has_template(name) else "views/text", self.lang, view=event)
            case Error(code=code, text=text):
                way_on = "" if code in (REBUILT, *NOT_TAKEN) else "continue" if code in CUT else "retry"
                return draw("error", self.lang, text=text, way_on=way_on)
        return Markup()

    def _clear(self) -> None:
        self.text, self._citations = "", []
