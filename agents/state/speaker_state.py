"""The state of a speaker, and its tool calls that wait for the user."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, cast

from langchain_core.messages import AnyMessage
from langchain_core.messages.tool import ToolCall
from typing_extensions import TypedDict

Status = Literal["new", "running", "paused", "finished"]
Json = dict[str, Any]
"""A JSON object with keys that its writer knows: a form's values, a view's fields, the arguments of a call."""


class No(str):
    """A user's no as a tool gets it: the user's words, but false, since many tools only test the truth of an answer."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


class SpeakerState(TypedDict, total=False):
    """The state of one speaker."""

    messages: list[AnyMessage]
    summary: str
    """The summary of the messages that were cut; empty if nobody summed them up, missing if none was cut."""
    lost: list[AnyMessage]
    """Messages that were cut, until the summary tells of them."""
    form: Json
    status: Status
    version: int
    """The dialog's `version` when this talk was last used."""
    inside: Json
    """The values of the own keys of an agent graph."""
    packed: dict[str, list[str]]
    """The values of its other keys, those that are not plain JSON, as the graph's journal packs them."""
    offered: bool
    """Whether the user was already asked if this paused dialog goes on."""
    settled: str
    """The id of the message that ended the dialog last, or that took its writes back."""
    failed: int
    """Turns in a row that failed: the answer was cut, or calls were refused again and again."""


class Fields(TypedDict):
    """The fields of a form that a tool asks the user for."""

    fields: list[str]
    optional: list[str]
    """The names of the optional ones."""
    aliases: dict[str, str]
    """Other names of fields, each with the field's own name."""


class Pending(Fields):
    """A tool call that waits for the user, or for the client: a `Question` as plain data."""

    call: str
    speaker: str
    tool: str
    args: Json
    kind: str
    """The kind of question, as in the event `interrupt`."""
    prompt: str
    lang: NotRequired[str]
    """The language in which it was asked."""
    options: list[Json]
    """The options to choose from: `label`, `value`, `detail` and `id` each; empty when the user fills in fields."""
    url: str
    """A page that the user opens first; empty without one."""
    back: NotRequired[str]
    """The declared return address of that page; empty or missing where the user says "done"."""
    web_app: NotRequired[bool]
    filled: Json
    skipped: list[str]
    answers: list[str]
    behind: NotRequired[list[ToolCall]]
    """The calls of the same reply that run after it."""
    client: NotRequired[ToolCall | None]  # The client's call, if not the user but the client answers.
    alone: NotRequired[bool]  # Whether the client gets the next call only after this one's result.
    more: NotRequired[bool]  # Whether the message that agreed has a rest, which is heard after the call.


class SpeakerUpdate(SpeakerState, total=False):
    """A change to a talk: the keys of a SpeakerState that change, and messages to append."""

    add: list[AnyMessage]


def merge_talks(talks: Mapping[str, SpeakerState], updates: Mapping[str, SpeakerUpdate]) -> dict[str, SpeakerState]:
    """Apply changes per speaker."""
    merged = dict(talks)
    for name, update in updates.items():
        changed = cast(SpeakerState, {**merged.get(name, {}), **update})
        cast(dict[str, object], changed).pop("add", None)
        changed["messages"] = [*changed.get("messages", []), *update.get("add", [])]
        merged[name] = changed
    return merged
