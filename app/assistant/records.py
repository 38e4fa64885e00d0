"""Records of turns."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from agents.errors import Trouble
from agents.events import (
    CUT,
    RETRY,
    Error,
    Event,
    Images,
    ModelEnd,
    ModelStart,
    Observed,
    PrivateMessage,
    Replied,
    Sources,
    Token,
    ToolEnd,
    trace,
)
from agents.events.views import Document, View, stored_view
from agents.state.verdict import By, Kind
from agents.toolkit.help import ASKING
from app.prices import Tokens, added

LARGEST_RECORD = 40_000
"""The most characters of a turn's record; a larger one only says that it was too large."""
LARGEST_VIEW = 20_000
"""The most characters of a recorded view; a larger one keeps only its line."""


@dataclass(frozen=True)
class RecordedReply:
    """A model's reply. Without a text it is a dropped draft or, with `trouble`, the failure of all models."""

    role: str
    text: str | None = None
    calls: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    """Each tool that was called, with its arguments."""
    trouble: Trouble | None = None
    is_unsure: bool = False
    """Whether the model is not sure of the calls: the user is asked before one writes."""
    kind: Literal["reply"] = "reply"


@dataclass(frozen=True)
class Answered:
    """A tool's result."""

    speaker: str
    tool: str
    args: dict[str, object]
    ok: bool
    object: str
    findings: dict[str, Any] = field(default_factory=dict)
    """The `sources` by their numbers, and the `images`."""
    cancelled: bool = False
    kind: Literal["tool"] = "tool"


@dataclass(frozen=True)
class Viewed:
    """A view."""

    body: dict[str, object]
    back: int = 0
    """The distance to the result of the call that gave the view: 1 for the last result before it; 0 if unknown."""
    kind: Literal["view"] = "view"


@dataclass(frozen=True)
class Traced:
    """Any other line of the trace."""

    line: str
    kind: Literal["line"] = "line"


@dataclass(frozen=True)
class Decided:
    """A decision on the active agent, with its reason."""

    observer: str
    verdict: Kind
    target: str | None
    reason: str
    by: By
    kind: Literal["decision"] = "decision"


Step = Annotated[RecordedReply | Answered | Viewed | Decided | Traced, Field(discriminator="kind")]


class Record(BaseModel):
    """A past turn, or one attempt to answer it: the user's text, the language, and the steps."""

    text: str | None = None
    """The user's text; None where the assistant spoke first."""
    lang: str = ""
    device: str = ""
    """The door of the message; empty where it was not recorded."""
    status: str = ""
    """The message's status ("done", "failed", "interrupted"), or "large", or "" where nothing was recorded."""
    steps: list[Step] = []
    used: dict[str, Tokens] = {}
    """The usage of the model calls, by model."""
    is_resumed: bool = False
    """Whether an earlier run has played the beginning of the turn."""

    @property
    def is_playable(self) -> bool:
        """Whether the turn can be played again: recorded from its beginning to its end, and not stopped by the user."""
        return self.status in ("done", "failed")

    @property
    def took(self) -> Tokens:
        """The usage of all model calls together."""
        return added(self.used.values())

    @property
    def trace(self) -> str:
        """The lines of the trace, but for the user's."""
        return "\n".join(line for step in self.steps if (line := line_of(step)) is not None)


class Recording:
    """Records the events of a run in their order."""

    def __init__(self) -> None:
        self._run = Record()
        self._asked: dict[str, int] = {}
        """The place of the step of a model call that still waits for its reply, by speaker."""
        self._findings: dict[str, dict[str, object]] = {}
        """The sources and images that a call has found, by its id."""
        self._ended: list[str] = []
        """The ids of the calls that have a result."""

    def begin(self, lang: str, device: str, *, resumed: bool) -> None:
        """Note the language and the door of the turn, and whether an earlier run has played its beginning."""
        self._run.lang, self._run.device, self._run.is_resumed = lang, device, resumed

    def note(self, event: Event) -> None:
        """Take one event down."""
        if isinstance(event, ModelEnd):
            self._run.used.setdefault(event.model, Tokens()).add(Tokens.of(event))
        else:
            self._take(event)

    def _take(self, event: Event) -> None:
        """Take one event down, if a replay needs it."""
        steps = self._run.steps
        match event:
            case PrivateMessage() | Token():
                return
            case Error(code=code) if code in (RETRY, *CUT):
                # A replay plays only the final reply, and a script does not cut it.
                return
            case ModelStart(speaker=speaker) if speaker != ASKING and speaker not in self._asked:
                # Parallel model calls end in any order; a script is read in the order of their beginnings.
                self._asked[speaker] = len(steps)
                steps.append(RecordedReply(speaker))
            case Replied(speaker=speaker) if speaker in self._asked:
                calls = [(tool, dict(args)) for tool, args in event.calls]
                reply = RecordedReply(event.role, event.text, calls, event.trouble, event.is_unsure)
                steps[self._asked.pop(speaker)] = reply
            case ToolEnd(speaker=speaker, tool=tool, args=args, ok=ok, cancelled=cancelled):
                findings = self._findings.pop(event.id, {})
                steps.append(Answered(speaker, tool, dict(args), ok, event.object, findings, cancelled))
                self._ended.append(event.id)
            case View(call=call):
                after = self._ended[::-1]
                steps.append(_view(event, after.index(call) + 1 if call and call in after else 0))
            case Observed():
                steps.append(Decided(event.observer, event.verdict, event.target, event.reason, event.by))
            case Sources() | Images():
                findings = {name: value for name, value in event.body().items() if name != "id"}
                self._findings.setdefault(event.id, {}).update(findings)
                steps.append(Traced(trace([event])))
            case _ if line := trace([event]):
                steps.append(Traced(line))

    def text(self, status: str) -> str:
        """Return the record in its stored form."""
        self._run.status = status
        written = self._run.model_dump_json(exclude={"text"})
        if len(written) <= LARGEST_RECORD:
            return written
        large = Record(lang=self._run.lang, device=self._run.device, status="large", used=self._run.used)
        return large.model_dump_json(exclude={"text"})


def read_record(text: str | None, written: str) -> Record:
    """Return a turn from the user's text and the stored record, a line for each run.

    A message that was resumed after a failure is one turn, as if the failure had not been. An unreadable record counts
    as none.
    """
    record = Record(text=text)
    try:
        runs = [Record.model_validate_json(line) for line in written.split("\n") if line]
    except ValidationError:
        return record
    for run in runs:
        if run.is_resumed and record.status != "failed":
            # Its beginning was lost with the process that played it.
            return Record(text=text)
        if run.is_resumed:
            steps = [*_without_failure(record.steps), *run.steps]
            used = {**record.used, **run.used}
            used |= {name: added([record.used[name], run.used[name]]) for name in record.used.keys() & run.used}
            record = record.model_copy(update={"status": run.status, "steps": steps, "used": used})
        else:
            record = run.model_copy(update={"text": text})
    return record


def _view(view: View, back: int) -> Step:
    """Return the step of a view; a large view keeps only its line, and cannot be replayed."""
    body = view.body() | ({"content": ""} if isinstance(view, Document) else {})
    return Viewed(body, back) if len(str(body)) <= LARGEST_VIEW else Traced(str(view))


def event_of(step: Step) -> Event | None:
    """Return the event that a step keeps in full; None if it keeps none, or a view that is no longer known."""
    facts = {name: value for name, value in asdict(step).items() if name not in ("kind", "findings")}
    match step:
        case Answered():
            return ToolEnd(**facts)
        case Viewed(body):
            return stored_view(body)
        case Decided():
            return Observed(**facts)
    return None


def line_of(step: Step) -> str | None:
    """Return the line of a step in a trace; None if it has none."""
    event = event_of(step)
    return step.line if isinstance(step, Traced) else trace([event]) or None if event else None


def _without_failure(steps: Sequence[Step]) -> list[Step]:
    """Return the steps without the failure that ended them."""
    failures = [step for step in steps if isinstance(step, RecordedReply) and step.trouble][-1:]
    errors = [step for step in steps if isinstance(step, Traced) and step.line.startswith("error ")]
    return [step for step in steps if step not in failures and step not in errors]
