"""What messages carry beside their text, in `additional_kwargs`: no model provider is shown it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeVar, cast

from langchain_core.messages import BaseMessage
from langchain_core.messages.content import ImageContentBlock
from typing_extensions import TypedDict, Unpack

Noted = TypeVar("Noted", bound=BaseMessage)
LEFT = "left"
"""The trouble of a question that the user has not answered, since they said something else."""
UNDO = "undo"
"""What has served a message that took a write back."""
FORGET = "forget"
"""What has served a message that asked to have something deleted, or declined it."""
Seen = Literal["nobody", "shown", "with_words", "as_answer", ""]
"""Who sees a result: nobody but the model, the user (at once or with the next words, or in place of them); empty: the
result itself says it."""


class Helper(TypedDict):
    """A dialog, as data."""

    dialog: str
    title: str
    """What the user knows the dialog by."""
    description: str
    tools: list[str]
    form: str | None
    """The dialog's name if it fills a form."""


class Facts(TypedDict, total=False):
    """What a prompt says in prose, as data. Every prompt has it; a model that works by rules reads nothing else."""

    role: str
    """The speaker's name, or "observer"."""
    history: Sequence[BaseMessage]
    """The messages behind the role, with their notes, before they are put in the order of chat templates."""
    lang: str
    helpers: Mapping[str, Helper]
    tools: Sequence[str]
    examples: Mapping[str, Sequence[str]]
    """What people say who want a tool, by the tool's name."""
    writes: Sequence[str]
    """The tools that change something."""
    form: Mapping[str, object] | None
    fields: Sequence[str]
    missing: Sequence[str]
    name: str
    """What to call the user; empty if it is not known."""
    opening: bool
    """Whether the assistant speaks first."""
    undone: bool
    wishes: bool
    served: str
    """The tool that the supervisor's last answer showed without a model; empty if none."""
    shelf: Sequence[Mapping[str, Any]]
    """The schemas of tools that are shown but not bound."""
    observer: str
    """Which observer is asked; the keys below are for observers only."""
    text: str
    reply: str | None
    dialog: str


Forwarding = Literal["standard", "custom"]
"""How messages are given to a model: their role and text, or with their metadata as well."""


class StoppedAnswer(TypedDict):
    """An answer that the user stopped."""

    time: str
    original: str


class Metadata(TypedDict):
    """What is known of a user message beside its text."""

    time: str
    """When it came: ISO 8601, in the user's time zone."""
    user: str
    """Who wrote it: what the user is called in a shared thread, else the user's id."""
    source: str
    answered: NotRequired[str]
    """When the answer before it was complete, if there is one; the user did not stop that."""
    stopped: NotRequired[StoppedAnswer]
    """The answer before it, if the user stopped that."""


class Notes(TypedDict, total=False):
    """The notes of a message; which there are depends on the message."""

    lang: str
    """On the role of a prompt: the language that it is written in."""
    forwarding: Forwarding
    """On the role of a prompt: how its messages are given to the model; without it "standard"."""
    metadata: Metadata
    """On a user message, where a model is given more than its text."""
    context: list[str]
    """On a user message: what is said of it alone (who writes, what it answers, files, …), a part a line."""
    lasting: list[str]
    """On a user message: what holds from then on (first the time, then form, screen, …); shown where it has changed."""
    pictures: Sequence[ImageContentBlock]
    """On the user message of this turn: the pictures beside it, for a model that sees. No history keeps them."""
    marked: bool
    """On a user message with files beside it: the history keeps only their marks."""
    passed_on: bool
    """On a user message that somebody else wrote: the user passes it on."""
    beside: list[str]
    """On a user message in a thread of several people: what the others said last; shown with the context."""
    brief: str
    """On the note of a hand-over: what the user wants."""
    dialog: str
    """On the supervisor's note that a dialog gave the conversation back: the dialog's name."""
    cards: list[str]
    """On an offer of tools: the names of the tools whose cards it shows."""
    served: str
    """On an answer that a tool gave without a model: the tool's name. On a note of what a model took back: UNDO."""
    told: str
    """On a message that answers nothing: its source, as `TOLD` lists them. What was asked before stays open."""
    seen: Seen
    """On the result of a call: whether the user sees it, too."""
    asked: str
    """On the result of a call that waited for the user: the question as they saw it."""
    left_out: str
    """On a reply whose text is what the user saw in its place: the words that its model made."""
    trouble: str
    """On the result of a failed call: what went wrong ("unknown", "arguments", "failed", "refused")."""
    rescued: str
    """On the result of a failed call: what help said of it."""
    foreign: bool
    """On the result of a call: whether others wrote some of it."""
    thoughts: str
    """On a reply with calls: what its model wants back of its thinking, packed (`agents.models.thinking`)."""
    facts: Facts
    """On the role of a prompt: what the prompt says, as data."""


def notes(**values: Unpack[Notes]) -> dict[str, object]:
    """Return notes as a message takes them: `SystemMessage(text, additional_kwargs=notes(brief="…"))`."""
    return {**values}


def with_notes(message: Noted, **values: Unpack[Notes]) -> Noted:
    """Return a message with these notes beside those that it has."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **notes(**values)}})


def newly_lasting(lasting: Sequence[str], before: Sequence[str]) -> Sequence[str]:
    """Return what a message tells of what lasts: all of it where it has changed, the time where only that has."""
    if lasting == before:
        return ()
    return lasting if lasting[1:] != before[1:] else lasting[:1]


def notes_of(message: BaseMessage) -> Notes:
    """Return the notes of a message."""
    return cast(Notes, message.additional_kwargs)
