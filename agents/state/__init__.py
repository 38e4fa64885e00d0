"""What is remembered of a conversation: plain data and LangChain messages only, so that it can be read strictly."""

from collections.abc import Mapping, Sequence
from operator import add
from typing import Annotated, Any, NotRequired, cast

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from agents.state.citations import Citation, CitedSource
from agents.state.lifetime import Lifetime
from agents.state.person import Branch, Heard, Own, Person
from agents.state.talk import Json, Pending, Talk, TalkUpdate, merge_talks
from agents.state.verdict import StoredGuess, StoredVerdict, Vote
from agents.state.waiting_view import WaitingView

SUPERVISOR = "supervisor"


class Said(TypedDict):
    """One message to the user in the current turn."""

    speaker: str
    text: str
    citations: NotRequired[list[Citation]]


class Plain(Own, total=False):
    """The keys of the state that an update simply replaces.

    Each says who writes it and who clears it. What has a `Lifetime` is cleared by `route`, as the turn begins.
    """

    heard: Heard
    """The user message of the turn. Written as the turn begins; a switch that is taken back brings its message back."""
    lang: str
    """Written as the turn begins, and by tools that change the language; never cleared."""
    turn: int
    """The number of the turn in the thread, from 1. `route` counts it; nobody clears it."""
    writer: str
    """The user whose own keys and `talks` stand here; `route` writes it. Everybody else's are in `persons`."""
    persons: dict[str, Person]
    """The people of a thread that several write in, by id. `route` writes it; `forget` takes a person out."""
    beside: list[str]
    """What others said here last, as the speakers are told; only where several write. Written as the turn begins."""
    listener: str | None
    """Who hears the message next; None: the turn is over. Most nodes write it; `settle` clears it."""
    asked: Annotated[list[str], Lifetime("turn", [])]
    """Observers whose vote the current message waits for. `route` writes it; the speaker or the verdict clears it."""
    undone: Annotated[bool, Lifetime("turn", False)]
    """The user has just taken a switch back: the message is for the dialog, whatever it says. `route` writes it."""
    drafting: Annotated[bool, Lifetime("turn", False)]
    """Whether the dialog drafts its answer while the observers vote. `route` writes it; a switch clears it."""
    verdict: Annotated[StoredVerdict | None, Lifetime("turn")]
    """What the votes came to, or a dialog decided that gives back. The speaker writes it; a reply clears it."""
    hops: Annotated[int, Lifetime("turn", 0)]
    """The handoffs of the turn. Each handoff counts it; a dialog that failed twice sets it to `MAX_HOPS`."""
    undoing: Annotated[str | None, Lifetime("turn")]
    """Whose writes are taken back: a message's, or the last (empty, `UNDO_LAST`). `undo` clears it."""
    agreed: Annotated[Pending | None, Lifetime("turn")]
    """The call that the user has just said yes to; it runs next. `ask` writes it; the tools clear it."""
    forgets: Annotated[str | None, Lifetime("turn")]
    """What the user has just agreed to have deleted; it is deleted when the turn is over. `route` writes it."""
    views: Annotated[list[WaitingView], Lifetime("turn", [])]
    """The views of this turn that the user has not seen yet. Tools write it; whoever shows them clears it."""
    shortcut: Annotated[str | None, Lifetime("turn")]
    """The tool that serves this message without a model. `route` writes it."""
    guess: Annotated[StoredGuess | None, Lifetime("turn")]
    """What the gate gave the message. `route` writes it."""
    branch: Branch | None
    """Written and cleared where the user edits or retries a message; see `Branch`."""


class State(Plain, total=False):
    """A conversation, as the checkpointer keeps it."""

    talks: Annotated[dict[str, Talk], merge_talks]
    """What each speaker remembers. Every node adds to its speaker's; `forget` clears it."""
    votes: Annotated[list[Vote], add]
    """The observers' votes on the current message or answer. A node that begins a list anew writes an `Overwrite`:
    `route`, the speaker that waited, the verdict and `settle` do."""
    said: Annotated[list[Said], add]
    """What the user was told in this turn. Every node that says something adds to it; `route` begins it anew."""


def updated(state: State, update: Mapping[str, object]) -> State:
    """Return the state as LangGraph keeps it once a node has written `update`."""
    after: dict[str, Any] = {**state}
    for name, value in update.items():
        if isinstance(value, Overwrite):
            after[name] = value.value
        elif name == "talks":
            after[name] = merge_talks(after.get(name, {}), cast(Mapping[str, TalkUpdate], value))
        else:
            after[name] = add(after.get(name, []), value) if name in ("votes", "said") else value
    return cast(State, after)


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


def sources_of(state: State) -> Sequence[CitedSource]:
    """Return the sources that an answer may cite; the place of each is its number."""
    stored = state.get("sources")
    return [CitedSource(title=source["title"], url=source["url"]) for source in stored["sources"]] if stored else []
