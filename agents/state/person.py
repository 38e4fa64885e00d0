"""A thread's state of one person: their last message, their dialogs, their open questions."""

from enum import StrEnum
from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from agents.language.identifiers import NumberedIds
from agents.state.citations import CitedSource
from agents.state.lifetime import Lifetime
from agents.state.message_notes import Metadata
from agents.state.speaker_state import Json, Pending, SpeakerState

ASR = "asr"
"""The source of a message that the user spoke; a transcriber wrote its text."""
FORWARDED = "forwarded"
"""The source of a message that somebody else wrote and the user passes on."""
RESULT = "result"
"""The source of a message with which a client brings the results of its own tools."""
ASIDE = "aside"
"""The source of a message with which the user leaves a tool's question without an answer."""
OF_USER = ("message", ASR, ASIDE, "choice", "page", "command")
"""The sources of messages that are the user's own doing. Any other message is read, and does nothing."""


class Origin(StrEnum):
    """The origin of the words beside a message."""

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
"""The origins of words that no stranger wrote; words of any other origin are somebody else's."""


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
    """A reference of a message: another message, or a file or a place beside it."""

    kind: QuotedKind
    by: str
    """Its writer, as the door says, or the name of a file or a place; empty if nobody needs to know."""
    text: str
    origin: Origin
    file: NotRequired[str]
    """The reference by which the door finds the file again."""


class UserMessage(TypedDict):
    """The user message of the current turn."""

    id: str
    """The message's id; a message that comes again has the same one."""
    text: str | None
    """The user's words; None when the assistant speaks first."""
    source: str
    """Its source: "message", "asr" (spoken), "choice" (a button or a client's answer), "page", "command",
    "forwarded", "result", "aside"."""
    user: NotRequired[str]
    """The id of the user who wrote it; older threads do not have it."""
    quoted: NotRequired[list[Quoted]]
    told: NotRequired[bool]
    """Whether an unasked message, since the one before, told the user words that others may have written."""
    metadata: NotRequired[Metadata]
    """Its metadata for models with custom forwarding; only if some speaker has that."""


def is_own(heard: UserMessage) -> bool:
    """Tell whether a message is the user's own: only then can it be a command, an answer, a yes or an undo."""
    return heard["source"] in OF_USER


def is_foreign(heard: UserMessage) -> bool:
    """Tell whether a message brings words that somebody else wrote."""
    # References that an earlier version stored have no origin.
    return (
        not is_own(heard)
        or heard.get("told", False)
        or any(quoted.get("origin") not in OWN for quoted in heard.get("quoted", []))
    )


class Wish(TypedDict):
    """A handoff that waits until the present dialog is done."""

    dialog: str
    brief: str
    foreign: NotRequired[bool]
    """Whether the model had read foreign text when it asked for this."""
    left: NotRequired[bool]
    """Whether the user changed the subject since: the wish is offered, and begins only if the user agrees."""


class Switch(TypedDict):
    """The last switch, so that the user can take it back in the next message."""

    dialog: str
    """The dialog that lost the conversation."""
    heard: UserMessage


class LastDone(TypedDict):
    """The last write of a tool: the user may mean it by "it"."""

    speaker: str
    """The speaker of the tool, so that the write can be changed there."""
    text: str
    """The first line of the result; empty if others wrote some of it."""


class Shown(TypedDict):
    """A view as the user saw it."""

    title: str
    lines: list[str]
    """Its lines, each with the number that the user can say."""


class NumberedSource(CitedSource):
    """A document that the model was given; its place in the list is its number."""

    mark: str
    """A short mark of the passage; when it is found again, it keeps its number by the mark."""


class FoundSources(TypedDict):
    """The sources of the last turn that searched."""

    turn: int
    sources: list[NumberedSource]


class Own(TypedDict, total=False):
    """The keys of the state that belong to one person, beside their `talks`.

    `persons` has those of the people whose turn it is not; `forget` clears them all.
    """

    is_active: bool
    """True: the supervisor speaks. False: `dialog` holds the conversation. `handover.hold` writes it with `dialog`."""
    dialog: str | None
    """The dialog that holds the conversation; None when the supervisor does. `handover.hold` writes it."""
    paused: list[str]
    """The interrupted dialogs, the latest last. `handover.pause` adds one; `handover` takes it out."""
    offer: Annotated[str | None, Lifetime("reply")]
    """The dialog that the user was just offered: a paused one, or that of a wish that the user had left. `settle`
    writes it."""
    wishes: list[Wish]
    """Handoffs that wait for their turn, the next one first. A speaker's calls and the verdict write it; `settle`
    takes out the one that begins, and the user's next message the one that was offered."""
    switched: Annotated[Switch | None, Lifetime("reply")]
    """The last switch, as long as the user can take it back. Every switch without a model writes it."""
    pending: list[Pending]
    """Tool calls that wait for the user; the first one is on the screen. Tools write it; an answer, or a message about
    something else, clears it."""
    screen: list[Shown]
    """The last list that the user saw. The node that shows one writes it; nobody clears it."""
    aliases: NumberedIds
    """The identifiers, by the small numbers that models read in their place. Tools write it; nobody clears it."""
    labels: dict[str, str]
    """The names of those identifiers. Written as `aliases` is."""
    sources: FoundSources | None
    """The documents of the last searches; answers may cite them until the next turn that searches. Tools write it."""
    wrote: int
    """The last turn with a write of a tool, or a deletion. Tools and `route` write it; nobody clears it."""
    last_done: LastDone | None
    """The last write, of any speaker. Tools write it; `undo` clears it."""
    undid: int
    """The last turn in which a write was taken back, or done again. `undo` writes it; nobody clears it."""
    undo_asked: Annotated[bool, Lifetime("reply", False)]
    """Whether the user was just asked if a write of long ago shall be taken back. `undo` writes it."""
    foreign: bool
    """Whether foreign text was read since the user last spoke; an answer to a tool's question does not count.
    Tools, `ask`, a speaker and `settle` set it; `route` clears it."""
    declined: list[str]
    """The marks of calls that the user has declined since they last spoke. `ask` writes it; `route` clears it."""
    allowed: list[str]
    """The marks of tools that ask once and had a yes since the user last spoke. `ask` writes it; `route` clears it."""
    spoke: int
    """The turn in which the user last spoke; an answer to a tool's question does not count. `route` writes it."""
    forgetting: Annotated[str | None, Lifetime("reply")]
    """The deletion that the user was just asked to confirm. `route` writes it."""
    leaving: Annotated[bool, Lifetime("reply", False)]
    """Whether the user has just said goodbye in words that were left to the dialog; the same words again end it.
    `route` writes it."""


class Person(Own, total=False):
    """One of several people in a thread; while they speak, their own keys stand in the state itself."""

    name: str
    """Their name for the others, from the door; people choose it themselves."""
    lang: str
    talks: dict[str, SpeakerState]


class Branch(TypedDict):
    """The earlier turn to which the conversation has gone, and the message that goes on from there."""

    at: str
    """The message of that turn; empty: the beginning."""
    heard: str
    """The last message in the state of that turn."""
    by: str
    done: list[Json]
    """The calls, in the turns that were left, with an effect that stays: `tool`, `args` and the result's `text`."""
    settled: bool
    """Whether the writes of those turns are taken back."""
    told: NotRequired[list[str]]
    """Messages to the user about those turns: writes that stay, or are not done again."""
