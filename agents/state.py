"""What is remembered of a conversation: plain data and LangChain messages only, so that it can be read strictly."""

from typing import Annotated, NotRequired, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.managed import RemainingSteps
from typing_extensions import TypedDict

from agents.identifiers import NumberedIds
from agents.talk import Json, Pending, Talk, merge_talks
from agents.verdict import StoredVerdict, Vote

Item = TypeVar("Item")
SUPERVISOR = "supervisor"
FORWARDED = "forwarded"
"""The source of a message that the user passes on and somebody else wrote."""


class Heard(TypedDict):
    """The user message of the current turn."""

    id: str
    """The message's id; a message that comes again has the same one."""
    text: str | None
    """What the user wrote; None when the assistant speaks first."""
    source: str
    """Where it comes from: "message", "choice" (a button or a client's answer), "command", "forwarded"."""


class Said(TypedDict):
    """One message to the user in the current turn."""

    speaker: str
    """The supervisor or a dialog, by name."""
    text: str


class Wish(TypedDict):
    """A hand-over that waits until the present dialog is done."""

    dialog: str
    """The dialog that takes over then."""
    brief: str
    """What the user wants of it."""
    foreign: NotRequired[bool]
    """Whether the model had read text from outside when it asked for this."""
    left: NotRequired[bool]
    """Whether the user changed the subject since: the wish is offered, and begins only if the user agrees."""


class Switch(TypedDict):
    """The last change of hands, so that the user can take it back in the next message."""

    dialog: str
    """The dialog that lost the conversation."""
    heard: Heard
    """The message that caused the switch."""


class Shown(TypedDict):
    """A view as the user saw it."""

    title: str
    lines: list[str]
    """Its lines, each with the number by which the user can call it."""


def append(items: list[Item], added: list[Item] | None) -> list[Item]:
    """Append within a turn; a node that begins the list anew writes LangGraph's `Overwrite`.

    Writes of older versions, which a crash may have left unapplied, say it with a None in front of the items.
    """
    if added is None or added[:1] == [None]:
        return (added or [])[1:]
    return [*items, *added]


class Plain(TypedDict, total=False):
    """The keys of the state that an update simply replaces."""

    heard: Heard
    """The user message of the current turn."""
    lang: str
    """The language of the turn, such as "en"."""
    turn: int
    """The number of the turn in the thread, from 1."""
    is_active: bool
    """True: the supervisor speaks. False: `dialog` holds the conversation. Written together with `dialog`."""
    dialog: str | None
    """The dialog that holds the conversation; None when the supervisor does."""
    paused: list[str]
    """Dialogs that were interrupted, the latest last."""
    offer: str | None
    """The dialog that the user was just offered: a paused one to go on with, or that of a wish that was left."""
    wishes: list[Wish]
    """Hand-overs that wait for their turn, the next one first."""
    switched: Switch | None
    """The last change of hands, as long as the user can take it back."""
    listener: str | None
    """The speaker that hears the message next; None when the turn is over."""
    asked: list[str]
    """Observers whose vote the current message waits for."""
    undone: bool
    """Whether the user has just taken a switch back: the message is for the dialog, whatever it says."""
    drafting: bool
    """Whether the dialog drafts its answer while the observers vote."""
    verdict: StoredVerdict | None
    """What the votes came to, or what a dialog decided when it gave the conversation back."""
    hops: int
    """Hand-overs to dialogs in this turn; their number is limited."""
    pending: list[Pending]
    """Tool calls that wait for the user; the first one is on the screen."""
    foreign: bool
    """Whether text from outside was read since the user last spoke; an answer to a tool's question is no such word."""
    agreed: Pending | None
    """The call that the user has just said yes to; it runs next."""
    declined: list[str]
    """The marks of the calls that the user has said no to since they last spoke."""
    view: Json | None
    """The view of the last tool of this turn, as `View.body` writes it; it is shown in place of the reply."""
    shortcut: str | None
    """The tool that serves this message without a model."""
    screen: list[Shown]
    """What the user saw last, the latest view last."""
    aliases: NumberedIds
    """The identifiers that small numbers stand for in what models read."""
    labels: dict[str, str]
    """What identifiers are called, as far as results have told."""


class State(Plain, total=False):
    """A conversation, as the checkpointer keeps it."""

    talks: Annotated[dict[str, Talk], merge_talks]
    """What each speaker remembers, by name."""
    votes: Annotated[list[Vote], append]
    """The observers' votes on the current message or answer."""
    said: Annotated[list[Said], append]
    """What was said to the user in this turn."""
    remaining_steps: RemainingSteps
    """Supersteps that the turn may still take; known while it runs, kept nowhere."""


def holder_of(state: State) -> str:
    """Return the speaker that holds the conversation: the dialog, or the supervisor."""
    return state.get("dialog") or SUPERVISOR


def talk_of(state: State, name: str) -> Talk:
    """Return what a speaker remembers; an empty talk if it has not spoken yet."""
    return state.get("talks", {}).get(name, {})


def messages_of(state: State, name: str) -> list[AnyMessage]:
    """Return a speaker's history."""
    return talk_of(state, name).get("messages", [])


def form_of(state: State, name: str) -> Json:
    """Return the values of a dialog's form."""
    return talk_of(state, name).get("form") or {}


def with_talk(state: State, name: str, talk: Talk) -> State:
    """Return the state with another talk of a speaker."""
    return {**state, "talks": {**state.get("talks", {}), name: talk}}
