"""The steps of a recorded turn, and the short JSON lists in which they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.errors import Trouble
from agents.state.talk import Json


@dataclass(frozen=True)
class Replied:
    """A model's reply: `["reply", role, calls, text]`, without the text where it was said as it is."""

    role: str
    calls: Sequence[tuple[str, Json]]
    """Each tool that was called, with its arguments."""
    text: str | None
    """None in a record as it is stored: the transcript has the text."""


@dataclass(frozen=True)
class Lost:
    """A draft that was thrown away: `["lost", role]`."""

    role: str


@dataclass(frozen=True)
class Failed:
    """No model of a role could answer: `["trouble", role, trouble]`."""

    role: str
    trouble: Trouble


@dataclass(frozen=True)
class Told:
    """A message to the user: `["said"]`, or `["shown"]` where a view or a question stands for it."""

    shown: bool = False
    speaker: str = ""
    """Empty in a record as it is stored, like the text: the transcript has both."""
    text: str = ""


@dataclass(frozen=True)
class Answered:
    """A tool's result: `["tool", speaker, tool, args, ok, object]`, and what it found as a last entry, if anything."""

    speaker: str
    tool: str
    args: Json
    ok: bool
    object: str
    findings: Json = field(default_factory=dict)
    """The `sources` by their numbers, and the `images`."""


@dataclass(frozen=True)
class Viewed:
    """A view: `["view", body]`."""

    body: Json


@dataclass(frozen=True)
class Traced:
    """Any other line of the trace: `["line", line]`."""

    line: str


Step = Replied | Lost | Failed | Told | Answered | Viewed | Traced


def stored(step: Step) -> list[object]:
    """Return a step as the list that is stored."""
    match step:
        case Replied(role, calls, text):
            return ["reply", role, [[tool, dict(args)] for tool, args in calls], *([] if text is None else [text])]
        case Lost(role):
            return ["lost", role]
        case Failed(role, trouble):
            return ["trouble", role, trouble]
        case Told(shown):
            return ["shown" if shown else "said"]
        case Answered(speaker, tool, args, ok, object, findings):
            return ["tool", speaker, tool, dict(args), ok, object, *([findings] if findings else [])]
        case Viewed(body):
            return ["view", body]
        case Traced(line):
            return ["line", line]


def read_step(row: Sequence[object]) -> Step:
    """Return the step of a stored list.

    Raises:
        ValueError: the list is no step.
    """
    match row:
        case ["reply", str(role), list(calls), *text]:
            made = [(str(tool), dict(args)) for tool, args in calls]
            return Replied(role, made, str(text[0]) if text else None)
        case ["lost", str(role)]:
            return Lost(role)
        case ["trouble", str(role), trouble]:
            return Failed(role, trouble)  # type: ignore[arg-type]  # as it was written
        case ["said" | "shown" as kind]:
            return Told(kind == "shown")
        case ["tool", str(speaker), str(tool), Mapping() as args, bool(ok), answer]:
            return Answered(speaker, tool, dict(args), ok, str(answer))
        case ["tool", str(speaker), str(tool), Mapping() as args, bool(ok), answer, Mapping() as findings]:
            return Answered(speaker, tool, dict(args), ok, str(answer), dict(findings))
        case ["view", Mapping() as body]:
            return Viewed(dict(body))
        case ["line", str(line)]:
            return Traced(line)
    raise ValueError(f"not a step of a record: {row!r}")
