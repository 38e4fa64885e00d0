"""The state of a conversation: plain data and LangChain messages only, so that it can be read strictly."""

from collections.abc import Mapping, Sequence
from operator import add
from typing import Annotated, Any, NotRequired, cast

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from agents.state.citations import Citation, CitedSource
from agents.state.lifetime import Lifetime
from agents.state.person import Branch, Own, Person, UserMessage
from agents.state.speaker_state import Json, Pending, SpeakerState, SpeakerUpdate, merge_talks
from agents.state.verdict import StoredGuess, StoredVerdict, Vote

SUPERVISOR = "supervisor"


class Said(TypedDict):
    """One message to the user in the current turn."""

    speaker: str
    text: str
    citations: NotRequired[list[Citation]]


class WaitingView(TypedDict):
    """A view that the user has not seen yet; it is shown above the next words."""

    call: str
    """The id of the call that returned it."""
    body: Json
    """The view, as `View.body` writes it."""
    writes: bool
    """Whether its model was told that the user sees it, as with each write: it is shown even before further tools."""
    answers: bool
    """Whether it is the whole answer, without the words beside it."""


class Plain(Own, total=False):
    """The keys of the state that an update simply replaces.

    Each names its writer and the node that clears it. `route` clears the keys with a `Lifetime`, as the turn begins.
    """

    heard: UserMessage
    """The user message of the turn. Written as the turn begins; a switch that is taken back brings its message back."""
    lang: str
    """The language of the answers. Written as the turn begins, and by tools that change it; never cleared."""
    turn: int
    """The number of the turn in the thread, from 1. `route` counts it; nobody clears it."""
    writer: str
    """The user whose own keys and `talks` stand here; `route` writes it. Everybody else's are in `persons`."""
    persons: dict[str, Person]
    """The people of a thread with several writers, by id. `route` writes it; `forget` takes a person out."""
    beside: list[str]
    """The last words of the others, as the speakers are told; only with several writers. Written as the turn begins."""
    listener: str | None
    """The speaker that hears the message next; None: the turn is over. Most nodes write it; `settle` clears it."""
    asked: Annotated[list[str], Lifetime("turn", [])]
    """Observers whose vote the current message waits for. `route` writes it; the speaker or the verdict clears it."""
    undone: Annotated[bool, Lifetime("turn", False)]
    """Whether the user has just taken a switch back: the message is for the dialog in any case. `route` writes it."""
    drafting: Annotated[bool, Lifetime("turn", False)]
    """Whether the dialog drafts its answer while the observers vote. `route` writes it; a switch clears it."""
    verdict: Annotated[StoredVerdict | None, Lifetime("turn")]
    """The outcome of the votes, or of a dialog that hands back. The speaker writes it; a reply clears it."""
    hops: Annotated[int, Lifetime("turn", 0)]
    """The number of handoffs in the turn. Each one adds to it; a dialog that failed twice sets it to `MAX_HOPS`."""
    undoing: Annotated[str | None, Lifetime("turn")]
    """The message whose writes are taken back, or the last one (empty, `UNDO_LAST`). `undo` clears it."""
    agreed: Annotated[Pending | None, Lifetime("turn")]
    """The call that the user has just said yes to; it runs next. `ask` writes it; the tools clear it."""
    forgets: Annotated[str | None, Lifetime("turn")]
    """The deletion to which the user has just agreed; it is done when the turn is over. `route` writes it."""
    views: Annotated[list[WaitingView], Lifetime("turn", [])]
    """The views of this turn that the user has not seen yet. Tools write it; the node that shows them clears it."""
    shortcut: Annotated[str | None, Lifetime("turn")]
    """The tool that serves this message without a model. `route` writes it."""
    guess: Annotated[StoredGuess | None, Lifetime("turn")]
    """The gate's score of the message. `route` writes it."""
    branch: Branch | None
    """The earlier turn to go on from. Written and cleared where the user edits or retries a message."""


class State(Plain, total=False):
    """A conversation, as the checkpointer keeps it."""

    talks: Annotated[dict[str, SpeakerState], merge_talks]
    """The speaker state of each speaker. Every node adds to its speaker's; `forget` clears it."""
    votes: Annotated[list[Vote], add]
    """The observers' votes on the current message or answer. A node that begins a list anew writes an `Overwrite`:
    `route`, the speaker that waited, the verdict and `settle` do."""
    said: Annotated[list[Said], add]
    """The messages to the user in this turn. Every node that says something adds to it; `route` begins it anew."""


def updated(state: State, update: Mapping[str, object]) -> State:
    """Return the state as LangGraph keeps it once a node has written `update`."""
    after: dict[str, Any] = {**state}
    for name, value in update.items():
        if isinstance(value, Overwrite):
            after[name] = value.value
        elif name == "talks":
            after[name] = merge_talks(after.get(name, {}), cast(Mapping[str, SpeakerUpdate], value))
        else:
            after[name] = add(after.get(name, []), value) if name in ("votes", "said") else value
    return cast(State, after)


def holder_of(state: State) -> str:
    """Return the speaker that holds the conversation: the dialog, or the supervisor."""
    return state.get("dialog") or SUPERVISOR


def talk_of(state: State, name: str) -> SpeakerState:
    """Return a speaker's state; it is empty if the speaker has not spoken yet."""
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
