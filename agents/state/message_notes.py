"""Notes on messages, in `additional_kwargs` beside their text: no model provider is shown them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeVar, cast

from langchain_core.messages import BaseMessage
from langchain_core.messages.content import ImageContentBlock
from typing_extensions import TypedDict, Unpack

from agents.state.speaker_state import Pending

Noted = TypeVar("Noted", bound=BaseMessage)
LEFT = "left"
"""The trouble of a question that the user has not answered, since they said something else."""
UNDO = "undo"
"""The value of `served` on a message that took a write back."""
FORGET = "forget"
"""The value of `served` on a message that asked for a deletion, or declined it."""
Seen = Literal["nobody", "shown", "with_words", "as_answer", ""]
"""The reader of a result: the model alone, or also the user (at once, with the next words, or in place of them);
empty: the result itself says it."""


class Helper(TypedDict):
    """A dialog, as data."""

    dialog: str
    title: str
    """The name of the dialog for the user."""
    description: str
    tools: list[str]
    form: str | None
    """The dialog's name if it fills a form."""


class Facts(TypedDict, total=False):
    """The content of a prompt as data. Every prompt has it; a model that works by rules reads nothing else."""

    role: str
    """The speaker's name, or "observer"."""
    history: Sequence[BaseMessage]
    """The messages behind the role, with their notes, before they are put in the order of chat templates."""
    lang: str
    helpers: Mapping[str, Helper]
    tools: Sequence[str]
    examples: Mapping[str, Sequence[str]]
    """People's example requests for a tool, by the tool's name."""
    writes: Sequence[str]
    """The tools that change something."""
    active: Sequence[str]
    """The entry tools of paused dialogs whose activity, such as a film, may be going on."""
    form: Mapping[str, object] | None
    fields: Sequence[str]
    missing: Sequence[str]
    name: str
    """The user's name; empty if it is not known."""
    opening: bool
    """Whether the assistant speaks first."""
    undone: bool
    wishes: bool
    served: str
    """The tool that the supervisor's last answer showed without a model; empty if none."""
    tool_search: Sequence[Mapping[str, Any]]
    """The schemas of tools that are shown but not bound."""
    observer: str
    """The name of the observer that is asked; the keys below are for observers only."""
    text: str
    reply: str | None
    dialog: str


Forwarding = Literal["standard", "custom"]
"""The form in which a model gets messages: role and text, or also their metadata."""


class StoppedAnswer(TypedDict):
    """An answer that the user stopped."""

    time: str
    original: str


class Metadata(TypedDict):
    """Data on a user message beside its text."""

    time: str
    """The time of its receipt: ISO 8601, in the user's time zone."""
    user: str
    """Its writer: the user's name in a shared thread, else the user's id."""
    source: str
    answered: NotRequired[str]
    """The time when the answer before it was complete; missing if there is none or the user stopped it."""
    stopped: NotRequired[StoppedAnswer]
    """The answer before it, if the user stopped that."""


class Notes(TypedDict, total=False):
    """The notes of a message; each stands on the messages that it names."""

    lang: str
    """On the role of a prompt: the language that it is written in."""
    forwarding: Forwarding
    """On the role of a prompt: the form in which the model gets its messages; without it "standard"."""
    metadata: Metadata
    """On a user message, where a model is given more than its text."""
    context: list[str]
    """On a user message: its own context (writer, message that it answers, files, …), a part a line."""
    lasting: list[str]
    """On a user message: the context from then on (first the time, then form, screen, …); shown if it has changed."""
    pictures: Sequence[ImageContentBlock]
    """On the user message of this turn: the pictures beside it, for a model that sees. No history keeps them."""
    marked: bool
    """On a user message with files beside it: the history keeps only their marks."""
    passed_on: bool
    """On a user message: somebody else wrote it, and the user passes it on."""
    beside: list[str]
    """On a user message in a thread of several people: the others' last words; shown with the context."""
    brief: str
    """On the note of a handoff: the brief, the user's wish."""
    dialog: str
    """On the supervisor's note that a dialog gave the conversation back: the dialog's name."""
    cards: list[str]
    """On an offer of tools: the names of the tools whose cards it shows."""
    served: str
    """On an answer of a tool without a model: the tool's name. On a note of writes that were taken back: UNDO."""
    told: str
    """On a message that answers nothing: its source, one of `TOLD`. A question before it stays open."""
    seen: Seen
    """On the result of a call: whether the user sees it, too."""
    asked: str
    """On the result of a call that waited for the user: the question as they saw it."""
    filled: Mapping[str, Any]
    """On the result of a call whose form the user has left: the values that they had filled in."""
    left_choice: Pending
    """On the result of a call whose choice the user has left: the question."""
    left_out: str
    """On a reply with the text of a view in place of its own: the words of its model."""
    trouble: str
    """On the result of a failed call: its trouble ("unknown", "arguments", "failed", "refused")."""
    unfit: str
    """On the result of a call with wrong arguments: the reasons, in words for the user."""
    rescued: str
    """On the result of a failed call: the advice of the help."""
    foreign: bool
    """On the result of a call: whether others wrote some of it."""
    unsure: bool
    """On a reply with calls: its model is not sure of them, and the user is asked before one that writes runs."""
    thoughts: str
    """On a reply with calls: the part of its thinking that the model wants back, packed (`agents.models.thinking`)."""
    facts: Facts
    """On the role of a prompt: the prompt's content as data."""


def notes(**values: Unpack[Notes]) -> dict[str, object]:
    """Return notes as a message takes them: `SystemMessage(text, additional_kwargs=notes(brief="…"))`."""
    return {**values}


def with_notes(message: Noted, **values: Unpack[Notes]) -> Noted:
    """Return a message with these notes beside those that it has."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **notes(**values)}})


def newly_lasting(lasting: Sequence[str], before: Sequence[str]) -> Sequence[str]:
    """Return the lasting context to show with a message: all if it has changed, the time if only that has."""
    if lasting == before:
        return ()
    return lasting if lasting[1:] != before[1:] else lasting[:1]


def notes_of(message: BaseMessage) -> Notes:
    """Return the notes of a message."""
    return cast(Notes, message.additional_kwargs)
