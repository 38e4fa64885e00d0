"""The typed events of a turn: all that leaves the graph.

`str(event)` is one line of a trace; `event.plain()` is one JSON object of the outside contract. What tools put on the
screen is in `agents.events.views`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from typing_extensions import TypedDict

from agents.errors import Trouble
from agents.state.citations import Citation, Source
from agents.state.verdict import By, Kind

VERSION = 1
RETRY = "model_retry"
"""The code of an `error` that takes back what was shown of an answer: it is asked for again, or was thinking."""
REBUILT = "rebuilt"
"""The code of an error that did not end the turn: the thread's state was rebuilt from its transcript."""
CUT = ("cut_length", "cut_filter")
"""The codes of an `error` that says that the answer before it was cut: at the length limit, or by a filter."""
Step = Literal["choose", "collect", "check", "rank", "cut", "answer"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened. `seq` counts within a `play`, `turn` within the thread, both from 1."""

    type: ClassVar[str]
    seq: int = 0
    thread: str = ""
    turn: int = 0

    def plain(self) -> dict[str, Any]:
        """Return the event as the JSON object that doors and scripts see."""
        fields = asdict(self)
        head = {"v": VERSION, "seq": fields.pop("seq"), "thread": fields.pop("thread")}
        head |= {"turn": fields.pop("turn"), "type": self.type}
        return head | {name.rstrip("_"): value for name, value in fields.items()}

    def body(self) -> dict[str, Any]:
        """Return what happened, as plain data, without its place in a conversation."""
        head = ("v", "seq", "thread", "turn", "type")
        return {name: value for name, value in self.plain().items() if name not in head}


@dataclass(frozen=True, kw_only=True)
class TurnStart(Event):
    """A user message (or the wish that the assistant speak, `text` None) reached its thread."""

    type: ClassVar[str] = "turn.start"
    text: str | None
    source: str = "message"

    def __str__(self) -> str:
        return f"user: {self.text}" if self.text is not None else "user says nothing"


@dataclass(frozen=True, kw_only=True)
class ToolStart(Event):
    """A tool was called; `id` tells calls of one reply apart."""

    type: ClassVar[str] = "tool.start"
    speaker: str
    tool: str
    args: Mapping[str, object] = field(default_factory=dict)
    id: str = ""

    def __str__(self) -> str:
        return f"{self.speaker} calls {self.tool}"


@dataclass(frozen=True, kw_only=True)
class ToolEnd(Event):
    """A tool answered; `object` is the result that the model gets."""

    type: ClassVar[str] = "tool.end"
    speaker: str
    tool: str
    args: Mapping[str, object] = field(default_factory=dict)
    id: str = ""
    ok: bool = True
    object: str = ""
    ms: int = 0

    def __str__(self) -> str:
        args = ", ".join(f"{name}={value!r}" for name, value in self.args.items())
        return f"{self.speaker}.{self.tool}({args}) {'=' if self.ok else '!'} {self.object}"


@dataclass(frozen=True, kw_only=True)
class Token(Event):
    """A piece of an answer while it is made; the `Message` that follows is what counts."""

    type: ClassVar[str] = "token"
    speaker: str
    text: str
    citations: Sequence[Citation] = ()

    def __str__(self) -> str:
        return self.text

    def plain(self) -> dict[str, Any]:
        """Return the event without citations where it has none."""
        return _without_empty(super().plain(), "citations")


@dataclass(frozen=True, kw_only=True)
class Interrupt(Event):
    """The turn waits for the user: to choose among options, to open a page, or to fill in fields."""

    type: ClassVar[str] = "interrupt"
    id: str
    kind: str
    prompt: str
    options: Sequence[Mapping[str, str]] = ()
    """Each with its `id` and `label`, and a `detail` where there is one."""
    url: str = ""
    back: str = ""
    """The address at which that page ends; its parameters without a value are handed to the tool."""
    web_app: bool = False
    fields: Sequence[Mapping[str, Any]] = ()
    """Each with its `name` and `label`, and a true `optional` where it may be left out."""

    def __str__(self) -> str:
        offered = [option["label"] for option in self.options] or [field["name"] for field in self.fields]
        return f"{self.kind}: {self.prompt} [{' | '.join([*offered, *([self.url] if self.url else [])])}]"

    def plain(self) -> dict[str, Any]:
        """Return the event without what this interrupt does not have."""
        return {name: value for name, value in super().plain().items() if value not in ((), [], "", False)}


@dataclass(frozen=True, kw_only=True)
class Message(Event):
    """What was said to the user, in full; `interrupted` when the user stopped it.

    `shown` when the view or the interrupt before it has put the same on the screen, for doors that can.
    """

    type: ClassVar[str] = "message"
    speaker: str
    text: str
    interrupted: bool = False
    shown: bool = False
    original: str = ""
    """The words of the model, when a view is shown in their place."""
    citations: Sequence[Citation] = ()
    unknown_sources: int = 0
    """How many numbers the model gave that stand for no source; they were left out."""

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}{' ^C' if self.interrupted else ''}"

    def plain(self) -> dict[str, Any]:
        """Return the event without citations where it has none."""
        return _without_empty(super().plain(), "citations", "unknown_sources")


@dataclass(frozen=True, kw_only=True)
class PrivateMessage(Event):
    """Something for one user alone, in a thread that others read: a door shows it to that user and nobody else.

    It stands neither in the transcript nor in the record of the turn.
    """

    type: ClassVar[str] = "private"
    user: str
    text: str

    def __str__(self) -> str:
        return f"privately to {self.user}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class Forgetting(Event):
    """The user has confirmed that something is deleted; `agents.conversation.forgetting` says how it is named."""

    type: ClassVar[str] = "forget"
    what: str

    def __str__(self) -> str:
        return f"forgets {self.what}"


@dataclass(frozen=True, kw_only=True)
class Error(Event):
    """The turn, or a part of it, went wrong; `text` is fit for the user."""

    type: ClassVar[str] = "error"
    code: str
    text: str

    def __str__(self) -> str:
        return f"error {self.code}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class TurnEnd(Event):
    """The turn is over and stored."""

    type: ClassVar[str] = "turn.end"
    is_active: bool
    dialog: str | None
    waiting: bool = False
    """Whether a tool waits for the user."""
    model_calls: int = 0
    ms: int = 0

    def __str__(self) -> str:
        return f"turn over, {self.dialog or 'supervisor'} listens"


def _without_empty(plain: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if name not in names or value}


@dataclass(frozen=True, kw_only=True)
class Observed(Event):
    """A decision on who holds the conversation, with its reason."""

    type: ClassVar[str] = "observed"
    observer: str
    verdict: Kind
    target: str | None = None
    reason: str = ""
    by: By

    def __str__(self) -> str:
        target = f" -> {self.target}" if self.target else ""
        return f"{self.observer} ({self.by}): {self.verdict}{target}"


@dataclass(frozen=True, kw_only=True)
class Handover(Event):
    """The conversation changed hands."""

    type: ClassVar[str] = "handover"
    from_: str
    to: str
    brief: str = ""

    def __str__(self) -> str:
        return f"{self.from_} -> {self.to}"


@dataclass(frozen=True, kw_only=True)
class DialogChanged(Event):
    """A dialog was begun, paused, resumed or finished."""

    type: ClassVar[str] = "dialog"
    dialog: str
    status: str

    def __str__(self) -> str:
        return f"{self.dialog} is {self.status}"


@dataclass(frozen=True, kw_only=True)
class Guessed(Event):
    """What the gate's model gave the message, for the log that `calibrate` reads; no door is shown it."""

    type: ClassVar[str] = "guessed"
    score: float
    model: str


@dataclass(frozen=True, kw_only=True)
class ModelStart(Event):
    """A model was called for a speaker or an observer."""

    type: ClassVar[str] = "model.start"
    speaker: str
    model: str

    def __str__(self) -> str:
        return f"{self.speaker} asks {self.model}"


@dataclass(frozen=True, kw_only=True)
class ModelThinking(Event):
    """A model has begun to think before it answers; at most once a call. Doors show it as a sign of progress."""

    type: ClassVar[str] = "model.thinking"
    speaker: str
    model: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.model} thinks"


@dataclass(frozen=True, kw_only=True)
class ModelEnd(Event):
    """A model call ended; `ok` false when it failed or its draft was thrown away."""

    type: ClassVar[str] = "model.end"
    speaker: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    ms: int = 0
    ok: bool = True

    def __str__(self) -> str:
        return f"{self.speaker} has heard from {self.model}" if self.ok else f"{self.speaker}: {self.model} failed"


@dataclass(frozen=True, kw_only=True)
class Replied(Event):
    """The reply of a role's models, for the record of the turn (`app.recording.record`); doors do not get it.

    Without a reply the draft was thrown away or, with `trouble`, none could be had.
    """

    type: ClassVar[str] = "model.reply"
    speaker: str
    role: str
    text: str | None = None
    calls: Sequence[tuple[str, Mapping[str, object]]] = ()
    trouble: Trouble | None = None


class ShownImage(TypedDict):
    """A picture, as doors and scripts are told of it."""

    url: str
    title: str
    thumbnail: str
    """The address of a small copy; empty if there is none."""
    width: int | None
    height: int | None
    """The original size in pixels; None where it is not known."""
    mime_type: str
    page: str


@dataclass(frozen=True, kw_only=True)
class SearchStep(Event):
    """A step of a search is over; `id` is that of the tool call, `detail` says what came of the step."""

    type: ClassVar[str] = "search.step"
    speaker: str
    id: str = ""
    step: Step
    detail: str = ""
    ms: int = 0

    def __str__(self) -> str:
        return f"search {self.step}: {self.detail}"


@dataclass(frozen=True, kw_only=True)
class Sources(Event):
    """The documents that a call has given to the model, by their numbers from 0; they are told before the answer."""

    type: ClassVar[str] = "sources"
    id: str = ""
    sources: Mapping[str, Source]

    def __str__(self) -> str:
        listed = "; ".join(f"{number} {source['title'] or source['url']}" for number, source in self.sources.items())
        return f"sources: {listed}"


@dataclass(frozen=True, kw_only=True)
class Images(Event):
    """The pictures that a call has found; they have no numbers."""

    type: ClassVar[str] = "images"
    id: str = ""
    images: Sequence[ShownImage]

    def __str__(self) -> str:
        return f"images: {'; '.join(image['title'] or image['url'] for image in self.images)}"
