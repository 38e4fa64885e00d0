"""Records of turns that can be played again: the models' replies and the trace, in their order.

The transcript has what was said, so a record does not repeat it; `app.recording.steps` has the form of each step.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agents.events import CUT, RETRY, Error, Event, Message, PrivateMessage, ToolEnd
from agents.events import models as model_events
from agents.events.models import ModelStart
from agents.events.search import Images, Sources
from agents.events.trace import trace
from agents.events.views import Document, View, read_view
from agents.state.talk import Json
from agents.toolkit.help import ASKING
from app.recording.steps import Answered, Failed, Lost, Replied, Step, Told, Traced, Viewed, read_step, stored

LARGEST = 16_000
"""Characters a turn's record may have; of a larger one is only kept that it was too large."""
LARGEST_VIEW = 4_000
"""Characters of a view that is recorded; of a larger one only its line is kept."""


class Recording:
    """Records the events of a run in their order."""

    def __init__(self) -> None:
        self._lang, self._resumed = "", False
        self._steps: list[Step] = []
        self._asked: dict[str, int] = {}
        """By speaker, the place of the step of an ask that still waits for its reply."""
        self._findings: dict[str, Json] = {}
        """By the id of a call, the sources and images that it has found."""
        self._replies: dict[str, int] = {}
        """By speaker, the place of the step of its last reply."""

    def begin(self, lang: str, *, resumed: bool) -> None:
        """Note the language of the turn, and whether an earlier run has played its beginning."""
        self._lang, self._resumed = lang, resumed

    def note(self, event: Event) -> None:
        """Take one event down."""
        if _is_unrecorded(event):
            return
        match event:
            case ModelStart(speaker=speaker):
                # The answer of the tool that asks for help has the words of help's own model.
                if speaker != ASKING and speaker not in self._asked:
                    # Asks that run side by side end in any order; a script is read in the order they began.
                    self._asked[speaker] = len(self._steps)
                    self._steps.append(Lost(speaker))
            case model_events.Replied():
                self._reply(event)
            case Message():
                self._said(event)
            case ToolEnd(speaker=speaker, tool=tool, args=args, ok=ok):
                findings = self._findings.pop(event.id, {})
                self._steps.append(Answered(speaker, tool, dict(args), ok, event.object, findings))
            case View():
                self._steps.append(_view(event))
            case _:
                if isinstance(event, Sources | Images):
                    self._findings.setdefault(event.id, {}).update(_without_id(event))
                if line := trace([event]):
                    self._steps.append(Traced(line))

    def text(self, status: str) -> str:
        """Return the record as it is stored."""
        record = {"lang": self._lang, "status": status, "steps": [stored(step) for step in self._steps]}
        text = _json({**record, "resumed": True} if self._resumed else record)
        return text if len(text) <= LARGEST else _json({**record, "status": "large", "steps": []})

    def _reply(self, event: model_events.Replied) -> None:
        place = self._asked.pop(event.speaker, None)
        if place is None:
            return
        step: Step = Lost(event.role)
        if event.trouble:
            step = Failed(event.role, event.trouble)
        elif event.text is not None:
            step = Replied(event.role, [(tool, dict(args)) for tool, args in event.calls], event.text)
        self._steps[place] = step
        self._replies[event.speaker] = place

    def _said(self, message: Message) -> None:
        self._steps.append(Told(message.shown))
        place = self._replies.get(message.speaker)
        step = None if place is None else self._steps[place]
        if place is not None and isinstance(step, Replied) and step.text == message.text:
            self._steps[place] = replace(step, text=None)
            del self._replies[message.speaker]


@dataclass(frozen=True)
class Record:
    """A turn that was held: what the user said, in which language, and what happened then."""

    text: str | None
    """What the user said; None where the assistant spoke first."""
    lang: str = ""
    status: str = ""
    """The message's status ("done", "failed", "interrupted"), or "large", or "" where nothing was recorded."""
    steps: Sequence[Step] = ()
    """The steps, every text in its place."""

    @property
    def is_playable(self) -> bool:
        """Whether the turn can be played again: known from its beginning to its end, and not stopped by the user."""
        return self.status in ("done", "failed")

    @property
    def trace(self) -> str:
        """The lines of the trace, but for the user's."""
        return "\n".join(line for step in self.steps if (line := _line(step)) is not None)


def read_record(text: str | None, written: str, messages: Sequence[tuple[str, str]]) -> Record:
    """Return a turn from what is stored: the user's text, a line for each run, and what was said by whom.

    A message that was taken up again where a failure left it is one turn, as if the failure had not been.
    """
    lang, status, steps = "", "", list[Step]()
    for line in filter(None, written.split("\n")):
        run = json.loads(line)
        resumed = bool(run.get("resumed"))
        if resumed and status != "failed":
            # Its beginning was lost with the process that played it.
            return Record(text)
        lang = lang if resumed else str(run["lang"])
        steps = [*(_unbroken(steps) if resumed else []), *map(read_step, run["steps"])]
        status = run["status"]
    if status == "large" or len(messages) != sum(isinstance(step, Told) for step in steps):
        return Record(text, status="large" if status == "large" else "")
    return Record(text, lang, status, _with_texts(steps, messages))


def _with_texts(steps: Sequence[Step], messages: Sequence[tuple[str, str]]) -> list[Step]:
    """Return the steps with the texts that were said."""
    coming = list(messages)
    complete: list[Step] = []
    for step in steps:
        match step:
            case Told(shown):
                complete.append(Told(shown, *coming.pop(0)))
            case Replied(role, _, None):
                complete.append(replace(step, text=next(text for speaker, text in coming if speaker == role)))
            case _:
                complete.append(step)
    return complete


def _is_unrecorded(event: Event) -> bool:
    """Tell whether an event is no part of what is played again.

    Only the reply that counted is played again, and a script does not cut it.
    """
    return isinstance(event, PrivateMessage) or (isinstance(event, Error) and event.code in (RETRY, *CUT))


def _without_id(event: Sources | Images) -> Json:
    return {name: value for name, value in event.body().items() if name != "id"}


def _view(view: View) -> Step:
    """Return the step of a view; only the line of a large one, which then cannot be given again."""
    body = view.body() | ({"content": ""} if isinstance(view, Document) else {})
    return Viewed(body) if len(_json(body)) <= LARGEST_VIEW else Traced(str(view))


def _line(step: Step) -> str | None:
    match step:
        case Told(False, speaker, text):
            return str(Message(speaker=speaker, text=text))
        case Answered(speaker, tool, args, ok, answer, _):
            return str(ToolEnd(speaker=speaker, tool=tool, args=args, ok=ok, object=answer))
        case Viewed(body):
            return str(read_view(body))
        case Traced(line):
            return line
    return None


def _unbroken(steps: Sequence[Step]) -> list[Step]:
    """Return the steps without the failure that ended them."""
    failures = [step for step in steps if isinstance(step, Failed)][-1:]
    errors = [step for step in steps if isinstance(step, Traced) and step.line.startswith("error ")]
    return [step for step in steps if step not in failures and step not in errors]


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
