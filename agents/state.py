"""What is remembered of a conversation (State) and what a turn is given (Context).

State holds plain data and LangChain messages only, so that it survives strict deserialisation.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from langchain_core.messages import AnyMessage
from langgraph.managed import RemainingSteps
from typing_extensions import TypedDict

from agents.history import GROW, cut
from agents.identifiers import Known

Status = Literal["new", "running", "paused", "finished"]
SUPERVISOR = "supervisor"


class Heard(TypedDict):
    """The user message of the current turn; `text` is None when the assistant shall speak unasked."""

    id: str
    text: str | None
    source: str


class Said(TypedDict):
    """One message to the user in the current turn."""

    speaker: str
    text: str


class Talk(TypedDict, total=False):
    """What one speaker remembers."""

    messages: list[AnyMessage]
    summary: str
    """What was cut from the messages, in short; only speakers that sum up have one."""
    form: dict[str, Any]
    status: Status
    version: int
    offered: bool
    """Whether the user was already asked if this paused dialog shall go on."""


class Wish(TypedDict):
    """A hand-over that waits until the present dialog has done its part."""

    dialog: str
    brief: str


class Switch(TypedDict):
    """The last change of hands, so that the user can take it back in the next message."""

    dialog: str
    heard: Heard


class Fields(TypedDict):
    """What is asked for of a form."""

    fields: list[str]
    """Their names."""
    optional: list[str]
    """Those of them that may be left out."""
    aliases: dict[str, str]
    """Other names of fields, each with the field's own."""


class Pending(Fields):
    """A tool call that waits for the user's choice, or for what they fill in: a `Question` as plain data."""

    call: str
    """The id of the tool call."""
    speaker: str
    tool: str
    args: dict[str, Any]
    kind: str
    prompt: str
    options: list[dict[str, Any]]
    url: str
    filled: dict[str, Any]
    skipped: list[str]
    """The fields that the user has left out."""


class Shown(TypedDict):
    """A view as the user saw it: its title and its lines, each with the number it goes by."""

    title: str
    lines: list[str]


class TalkUpdate(Talk, total=False):
    """A change to a talk: as a Talk, and `add` for messages to append."""

    add: list[AnyMessage]


def merge_talks(talks: dict[str, Talk], updates: Mapping[str, TalkUpdate]) -> dict[str, Talk]:
    """Apply changes per speaker; appended messages are cut in blocks."""
    merged = dict(talks)
    for name, update in updates.items():
        changed: dict[str, Any] = {**merged.get(name, {}), **update}
        added = changed.pop("add", [])
        messages = [*changed.get("messages", []), *added]
        # Who sums up cuts its history itself; the limit is for when no model would.
        changed["messages"] = cut(messages) if "summary" not in changed or len(messages) > 2 * GROW else messages
        merged[name] = changed  # type: ignore[assignment]  # a TypedDict built key by key
    return merged


def append_fresh(items: list[Any], added: list[Any] | None) -> list[Any]:
    """Append within a turn; a None empties the list, and may be followed by the first items of the next."""
    if added is None:
        return []
    return added[1:] if added[:1] == [None] else [*items, *added]


class State(TypedDict, total=False):
    """A conversation, as the checkpointer keeps it."""

    heard: Heard
    lang: str
    turn: int
    is_active: bool
    """True: the supervisor speaks. False: `dialog` holds the conversation. Written together."""
    dialog: str | None
    talks: Annotated[dict[str, Talk], merge_talks]
    paused: list[str]
    """Dialogs that were interrupted, the latest last."""
    offer: str | None
    """The paused dialog that the user was just offered to go on with."""
    wishes: list[Wish]
    switched: Switch | None
    listener: str | None
    """The speaker that hears the message next; None when all is said."""
    asked: list[str]
    """Observers whose vote the current message waits for."""
    undone: bool
    """Whether the user has just taken a switch back: the message is for the dialog, whatever it says."""
    drafting: bool
    """Whether the dialog drafts its answer while they vote."""
    votes: Annotated[list[dict[str, Any]], append_fresh]
    verdict: dict[str, Any] | None
    said: Annotated[list[Said], append_fresh]
    hops: int
    pending: list[Pending]
    """Tool calls that wait for the user; the first one is on the screen."""
    view: dict[str, Any] | None
    """The view of the last tool of this turn; it is shown in place of the reply."""
    shortcut: str | None
    """The tool that serves this message without a model."""
    screen: list[Shown]
    """What the user saw last."""
    aliases: Known
    remaining_steps: RemainingSteps
    """Supersteps that the turn may still take; known while it runs, kept nowhere."""
