"""The typed events of a turn: all that leaves the graph.

`str(event)` is one line of a trace; `event.plain()` is one JSON object of the outside contract. The views of tools
are in `agents.events.views`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict
from typing_extensions import TypedDict

from agents.errors import Trouble
from agents.state.citations import Citation, CitedSource
from agents.state.verdict import By, Kind

VERSION = 1
RETRY = "model_retry"
"""The code of an `error` that takes back the shown part of an answer: it is asked for again, or was thinking."""
REBUILT = "rebuilt"
"""The code of an error that did not end the turn: the thread's state was rebuilt from its transcript."""
CUT = ("cut_length", "cut_loop", "cut_filter")
"""The codes of an `error` after an answer that was cut: at the length limit, when it began to repeat itself, or by a
filter."""
Step = Literal["choose", "collect", "check", "rank", "cut", "answer"]
EVENTS: dict[str, "type[Event]"] = {}
"""All classes of events, by their names."""


MOST_COUNTED = 1 << 40
Count = Annotated[int, AfterValidator(lambda number: max(0, min(number, MOST_COUNTED)))]
"""Tokens as a provider counts them, within bounds that a database can keep."""


class Event(BaseModel):
    """One thing that happened. `seq` counts within a `play`, `turn` within the thread, both from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    type: ClassVar[str]
    line: ClassVar[str] = "{type}"
    """Its line of a trace, made of its fields; a class may write that line itself."""
    omitted: ClassVar[Sequence[str]] = ()
    """Fields that are left out of the JSON object where they are empty."""
    seq: int = 0
    thread: str = ""
    turn: int = 0

    def __init_subclass__(cls, *, type: str = "", line: str = "") -> None:
        cls.type, cls.line = type or cls.type, line or cls.line
        EVENTS[cls.__name__] = cls

    def __str__(self) -> str:
        return self.line.format_map({**vars(self), "type": self.type})

    def plain(self) -> dict[str, Any]:
        """Return the event as the JSON object that doors and scripts see."""
        head = {"v": VERSION, "seq": self.seq, "thread": self.thread, "turn": self.turn, "type": self.type}
        return head | self.body()

    def body(self) -> dict[str, Any]:
        """Return the fields of the event as plain data, without its place in a conversation."""
        fields = self.model_dump(exclude={"seq", "thread", "turn"})
        return {name.rstrip("_"): value for name, value in fields.items() if value or name not in self.omitted}


class TurnStart(Event, type="turn.start"):
    """A user message (or the wish that the assistant speak, `text` None) reached its thread."""

    text: str | None
    source: str = "message"

    def __str__(self) -> str:
        return f"user: {self.text}" if self.text is not None else "user says nothing"


class ToolStart(Event, type="tool.start", line="{speaker} calls {tool}"):
    """A tool was called; `id` tells calls of one reply apart."""

    speaker: str
    tool: str
    args: Mapping[str, object] = {}
    id: str = ""

    def ended(self, *, ok: bool, object: str, ms: int = 0) -> "ToolEnd":
        """Return the event that the tool has answered."""
        return ToolEnd(**self.body(), ok=ok, object=object, ms=ms)


class ToolEnd(Event, type="tool.end"):
    """A tool answered; `object` is the result that the model gets."""

    omitted = ("cancelled",)
    speaker: str
    tool: str
    args: Mapping[str, object] = {}
    id: str = ""
    ok: bool = True
    object: str = ""
    ms: int = 0
    cancelled: bool = False
    """Whether the tool did nothing because the user has said no, or has left the question of the call."""

    def __str__(self) -> str:
        args = ", ".join(f"{name}={value!r}" for name, value in self.args.items())
        return f"{self.speaker}.{self.tool}({args}) {'=' if self.ok else '!'} {self.object}"


class ToolRequest(Event, type="tool.request", line="{speaker} asks the client for {name}"):
    """The turn waits for the client: it is to run a tool of its own, and the next message has the result."""

    speaker: str
    id: str
    name: str
    args: Mapping[str, Any] = {}


class Token(Event, type="token", line="{text}"):
    """A piece of an answer while it is made; only the `Message` that follows counts."""

    omitted = ("citations",)
    speaker: str
    text: str
    citations: Sequence[Citation] = ()


class Interrupt(Event, type="interrupt"):
    """The turn waits for the user: to choose among options, to open a page, or to fill in fields."""

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
        """Return the event without the fields that are empty."""
        return {name: value for name, value in super().plain().items() if value not in ((), [], "", False)}


class Message(Event, type="message"):
    """A message to the user, in full; `interrupted` when the user stopped it.

    `shown` when the view or the interrupt before it has the same text, for doors that can draw these.
    """

    omitted = ("citations", "unknown_sources")
    speaker: str
    text: str
    interrupted: bool = False
    shown: bool = False
    original: str = ""
    """The words of the model, when a view is shown in their place."""
    citations: Sequence[Citation] = ()
    unknown_sources: int = 0
    """How many numbers of the model stand for no source; they were left out."""

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}{' ^C' if self.interrupted else ''}"


class PrivateMessage(Event, type="private", line="privately to {user}: {text}"):
    """A message for one user alone, in a thread that others read: a door shows it to that user and nobody else.

    It stands neither in the transcript nor in the record of the turn.
    """

    user: str
    text: str


class Forgetting(Event, type="forget", line="forgets {what}"):
    """The user has confirmed a deletion; `agents.conversation.deletion` gives its name."""

    what: str


class Error(Event, type="error", line="error {code}: {text}"):
    """The turn, or a part of it, went wrong; `text` is fit for the user."""

    code: str
    text: str


class TurnEnd(Event, type="turn.end"):
    """The turn is over and stored."""

    omitted = ("held_by",)
    is_active: bool
    dialog: str | None
    waiting: bool = False
    """Whether a tool waits for the user."""
    held_by: str = ""
    """The person who has taken the conversation over and reads the message; empty while the assistant answers."""
    model_calls: int = 0
    ms: int = 0

    def __str__(self) -> str:
        return f"turn over, {self.dialog or 'supervisor'} listens"


class Observed(Event, type="observed"):
    """A decision on the holder of the conversation, with its reason."""

    observer: str
    verdict: Kind
    target: str | None = None
    reason: str = ""
    by: By

    def __str__(self) -> str:
        target = f" -> {self.target}" if self.target else ""
        return f"{self.observer} ({self.by}): {self.verdict}{target}"


class Handover(Event, type="handover", line="{from_} -> {to}"):
    """The conversation changed hands."""

    from_: str
    to: str
    brief: str = ""


class DialogChanged(Event, type="dialog", line="{dialog} is {status}"):
    """A dialog was begun, paused, resumed or finished."""

    dialog: str
    status: str


class Guessed(Event, type="guessed"):
    """The gate's score of the message, for the log that `calibrate` reads; no door is shown it."""

    score: float
    model: str


class ModelStart(Event, type="model.start", line="{speaker} asks {model}"):
    """A model was called for a speaker or an observer."""

    speaker: str
    model: str


class ModelThinking(Event, type="model.thinking", line="{speaker}: {model} thinks"):
    """A model has begun to think before it answers; at most once a call. Doors show it as a sign of progress."""

    speaker: str
    model: str


class ModelEnd(Event, type="model.end"):
    """A model call ended; `ok` false when it failed or its draft was thrown away."""

    speaker: str
    model: str
    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_tokens: Count = 0
    ms: int = 0
    ok: bool = True

    def __str__(self) -> str:
        return f"{self.speaker} has heard from {self.model}" if self.ok else f"{self.speaker}: {self.model} failed"


class Replied(Event, type="model.reply"):
    """The reply of a role's models, for the record of the turn (`app.assistant.records.record`); doors do not get it.

    Without a reply the draft was thrown away or, with `trouble`, none could be had.
    """

    speaker: str
    role: str
    text: str | None = None
    calls: Sequence[tuple[str, Mapping[str, object]]] = ()
    trouble: Trouble | None = None
    is_unsure: bool = False
    """Whether its model is not sure of the calls."""


class ShownImage(TypedDict):
    """A picture, as doors and scripts get it."""

    url: str
    title: str
    thumbnail: str
    """The address of a small copy; empty if there is none."""
    width: int | None
    height: int | None
    """The original size in pixels; None where it is not known."""
    mime_type: str
    page: str


class SearchStep(Event, type="search.step", line="search {step}: {detail}"):
    """A step of a search is over; `id` is that of the tool call, `detail` is the step's outcome."""

    speaker: str
    id: str = ""
    step: Step
    detail: str = ""
    ms: int = 0


class Sources(Event, type="sources"):
    """The documents that a call has given to the model, by their numbers from 0; the event comes before the answer."""

    id: str = ""
    sources: Mapping[str, CitedSource]

    def __str__(self) -> str:
        listed = "; ".join(f"{number} {source['title'] or source['url']}" for number, source in self.sources.items())
        return f"sources: {listed}"


class Images(Event, type="images"):
    """The pictures that a call has found; they have no numbers."""

    id: str = ""
    images: Sequence[ShownImage]

    def __str__(self) -> str:
        return f"images: {'; '.join(image['title'] or image['url'] for image in self.images)}"


TRACED = (
    *("turn.start", "handover", "tool.end", "tool.request", "interrupt", "error"),
    *("view", "sources", "images", "private", "forget", "mocked"),
)
"""The types of the events that are always in a trace."""


def trace(events: Iterable[Event]) -> str:
    """Return the events as lines for a developer: messages, handoffs with their reasons, tool results."""
    return "\n".join(str(event) for event in events if _is_traced(event))


def _is_traced(event: Event) -> bool:
    if isinstance(event, Observed):
        return event.verdict != "stay" or event.target is not None
    return event.type in TRACED or (isinstance(event, Message) and not event.shown)
