"""What a speaker remembers, and its tool calls that wait for the user."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, cast

from langchain_core.messages import AnyMessage
from langchain_core.messages.tool import ToolCall
from typing_extensions import TypedDict

Status = Literal["new", "running", "paused", "finished"]
Json = dict[str, Any]
"""A JSON object whose keys its writer knows: a form's values, a view's fields, the arguments of a call."""


class No(str):
    """A user's no as a tool gets it: the words, which count as false, since many tools only ask whether it is true."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


class Talk(TypedDict, total=False):
    """What one speaker remembers."""

    messages: list[AnyMessage]
    summary: str
    """What the messages told that were cut, in short; empty if nobody summed them up, missing if none was cut."""
    lost: list[AnyMessage]
    """Messages that were cut, until the summary tells of them."""
    form: Json
    status: Status
    version: int
    """The dialog's `version` when this talk was last used."""
    inside: Json
    """The values of the own keys of an agent graph."""
    packed: dict[str, list[str]]
    """The values of those of its keys that are not plain JSON, as the graph's journal packs them."""
    offered: bool
    """Whether the user was already asked if this paused dialog goes on."""
    settled: str
    """The id of the message that ended the dialog last, or that took its writes back."""
    failed: int
    """Turns in a row that came to nothing: the answer was cut, or calls were refused again and again."""


class Fields(TypedDict):
    """The fields of a form that a tool asks the user for."""

    fields: list[str]
    optional: list[str]
    """Those of them that may be left out."""
    aliases: dict[str, str]
    """Other names of fields, each with the field's own."""


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
    client: NotRequired[ToolCall | None]  # The call as the client has it, where not the user but the client answers.
    alone: NotRequired[bool]  # Whether the client is given the next call only behind this one's result.
    more: NotRequired[bool]  # Whether the message that agreed also says something that is heard after the call.


class TalkUpdate(Talk, total=False):
    """A change to a talk: the keys of a Talk that change, and messages to append."""

    add: list[AnyMessage]


def merge_talks(talks: Mapping[str, Talk], updates: Mapping[str, TalkUpdate]) -> dict[str, Talk]:
    """Apply changes per speaker."""
    merged = dict(talks)
    for name, update in updates.items():
        changed = cast(Talk, {**merged.get(name, {}), **update})
        cast(dict[str, object], changed).pop("add", None)
        changed["messages"] = [*changed.get("messages", []), *update.get("add", [])]
        merged[name] = changed
    return merged
