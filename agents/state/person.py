"""What a thread remembers of one person: what they said last, where their dialogs stand, what they were asked."""

from enum import StrEnum
from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from agents.language.identifiers import NumberedIds
from agents.state.citations import CitedSource
from agents.state.lifetime import Lifetime
from agents.state.message_notes import Metadata
from agents.state.talk import Json, Pending, Talk

ASR = "asr"
"""The source of a message that the user spoke; its text is what a transcriber heard."""
FORWARDED = "forwarded"
"""The source of a message that the user passes on and somebody else wrote."""
RESULT = "result"
"""The source of a message with which a client brings the results of its own tools."""
ASIDE = "aside"
"""The source of a message with which the user leaves what a tool has asked: it is no answer to that."""
OF_USER = ("message", ASR, ASIDE, "choice", "page", "command")
"""The sources of messages that are the user's own doing. What comes from anywhere else is read, and does nothing."""


class Origin(StrEnum):
    """Whose words stand beside a message."""

    USER = "user"
    ASSISTANT = "assistant"
    FORWARDED = "forwarded"
    VIA_BOT = "via_bot"
    QUOTED = "quoted"
    FILE = "file"
    TITLE = "title"
    CONTACT = "contact"
    OPERATOR = "operator"


OWN = (Origin.USER, Origin.ASSISTANT, Origin.OPERATOR)
"""The origins of words that are no order of a stranger; any other one is of somebody else."""


QuotedKind = Literal[
    "answer",
    "answer_to_own",
    "answer_to_assistant",
    "forward",
    "forward_beside",
    "caption",
    "photo",
    "file",
    "voice",
    "location",
    "contact",
    "handed_back",
]


class Quoted(TypedDict):
    """What a message refers to: another message, or a file or a place beside it."""

    kind: QuotedKind
    by: str
    """Who wrote it, as the door says, or what a file or a place is called; empty if nobody needs to know."""
    text: str
    origin: Origin
    file: NotRequired[str]
    """The reference by which the door finds the file again."""


class Heard(TypedDict):
    """The user message of the current turn."""

    id: str
    """The message's id; a message that comes again has the same one."""
    text: str | None
    """What the user wrote; None when the assistant speaks first."""
    source: str
    """Where it comes from: "message", "asr" (spoken), "choice" (a button or a client's answer), "page", "command",
    "forwarded", "result", "aside"."""
    user: NotRequired[str]
    """The id of the user who wrote it; older threads do not have it."""
    quoted: NotRequired[list[Quoted]]
    told: NotRequired[bool]
    """Whether the user was told unasked, since the message before, what others may have written."""
    metadata: NotRequired[Metadata]
    """What a model is told of it in custom forwarding; only where some speaker's is."""


def is_own(heard: Heard) -> bool:
    """Tell whether a message is the user's own: only then can it be a command, an answer, a yes or an undo."""
    return heard["source"] in OF_USER


def is_foreign(heard: Heard) -> bool:
    """Tell whether a message brings words that somebody else wrote."""
    # What an earlier version has stored has no origin.
    return (
        not is_own(heard)
        or heard.get("told", False)
        or any(quoted.get("origin") not in OWN for quoted in heard.get("quoted", []))
    )


class Wish(TypedDict):
    """A hand-over that waits until the present dialog is done."""

    dialog: str
    brief: str
    foreign: NotRequired[bool]
    """Whether the model had read text from outside when it asked for this."""
    left: NotRequired[bool]
    """Whether the user changed the subject since: the wish is offered, and begins only if the user agrees."""


class Switch(TypedDict):
    """The last change of hands, so that the user can take it back in the next message."""

    dialog: str
    """The dialog that lost the conversation."""
    heard: Heard


class LastDone(TypedDict):
    """What a tool wrote last: the user may mean it by "it"."""

    speaker: str
    """Whose tool it was, so that it can be changed there."""
    text: str
    """The first line of the result; empty if others wrote some of it."""


class Shown(TypedDict):
    """A view as the user saw it."""

    title: str
    lines: list[str]
    """Its lines, each with the number by which the user can call it."""


class NumberedSource(CitedSource):
    """A document that the model was given; its place in the list is its number."""

    mark: str
    """A short mark of the passage, by which it keeps its number when it is found again."""


class FoundSources(TypedDict):
    """The sources of the last turn that searched."""

    turn: int
    sources: list[NumberedSource]


class Own(TypedDict, total=False):
    """The keys of the state that belong to one person, beside their `talks`.

    A person whose turn it is not has them in `persons`; `forget` clears them all.
    """

    is_active: bool
    """True: the supervisor speaks. False: `dialog` holds the conversation. `handover.hold` writes it with `dialog`."""
    dialog: str | None
    """The dialog that holds the conversation; None when the supervisor does. `handover.hold` writes it."""
    paused: list[str]
    """Dialogs that were interrupted, the latest last. `handover.pause` adds one; `handover` takes it out."""
    offer: Annotated[str | None, Lifetime("reply")]
    """The dialog that the user was just offered: a paused one to go on with, or that of a wish that was left. `settle`
    writes it."""
    wishes: list[Wish]
    """Hand-overs that wait for their turn, the next one first. A speaker's calls and the verdict write it; `settle`
    takes out the one that begins, and the user's next message the one that was offered."""
    switched: Annotated[Switch | None, Lifetime("reply")]
    """The last change of hands, as long as the user can take it back. Every switch without a model writes it."""
    pending: list[Pending]
    """Tool calls that wait for the user; the first one is on the screen. Tools write it; an answer, or a message about
    something else, clears it."""
    screen: list[Shown]
    """The last list that the user saw. Whoever shows one writes it; nobody clears it."""
    aliases: NumberedIds
    """The identifiers that small numbers stand for in what models read. Tools write it; nobody clears it."""
    labels: dict[str, str]
    """The names of those identifiers. Written as `aliases` is."""
    sources: FoundSources | None
    """What the last searches found; answers may cite it until the next turn that searches. Tools write it."""
    wrote: int
    """The last turn in which a tool wrote something. Tools write it; nobody clears it."""
    last_done: LastDone | None
    """What was written last, by whichever speaker. Tools write it; `undo` clears it."""
    undid: int
    """The last turn in which something was taken back. `undo` writes it; nobody clears it."""
    undo_asked: Annotated[bool, Lifetime("reply", False)]
    """Whether the user was just asked if what was written long ago shall be taken back. `undo` writes it."""
    foreign: bool
    """Whether text from outside was read since the user last spoke; an answer to a tool's question does not count.
    Tools, `ask`, a speaker and `settle` set it; `route` clears it."""
    declined: list[str]
    """The marks of the calls that the user has said no to since they last spoke. `ask` writes it; `route` clears it."""
    allowed: list[str]
    """The marks of the tools that ask once and whose question had a yes since. `ask` writes it; `route` clears it."""
    spoke: int
    """The turn in which the user last spoke; an answer to a tool's question does not count. `route` writes it."""
    forgetting: Annotated[str | None, Lifetime("reply")]
    """What the user was just asked to confirm that it is deleted. `route` writes it."""
    leaving: Annotated[bool, Lifetime("reply", False)]
    """Whether the user has just taken leave in words that were left to the dialog; said again they end it. `route`
    writes it."""


class Person(Own, total=False):
    """One of several people in a thread; while they speak, their own keys stand in the state itself."""

    name: str
    """What the others call them; a door says so, and the people choose it themselves."""
    lang: str
    talks: dict[str, Talk]


class Branch(TypedDict):
    """The earlier turn to which the conversation has gone, and the message that goes on from there."""

    at: str
    """The message of that turn; empty: the beginning."""
    heard: str
    """The message that the state had heard last then."""
    by: str
    done: list[Json]
    """The calls of turns that were left whose effect stays: `tool`, `args` and the `text` that they answered."""
    settled: bool
    """Whether what those turns have written is taken back."""
    told: NotRequired[list[str]]
    """What the user must be told of those turns: what stays, or is not done again."""
