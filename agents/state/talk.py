"""What a speaker remembers: its history, its form, and its tool calls that wait for the user.

Histories are cut in blocks so that prompts stay cacheable, and mended so that every tool call has an answer.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from typing_extensions import TypedDict

Status = Literal["new", "running", "paused", "finished"]
Json = dict[str, Any]
"""A JSON object whose keys its writer knows: a form's values, a view's fields, the arguments of a call."""
GROW = 24
KEEP = 12


class Talk(TypedDict, total=False):
    """What one speaker remembers."""

    messages: list[AnyMessage]
    """The speaker's own history: the user's messages, its replies, tool results and notes."""
    summary: str
    """A summary of the messages that were cut; only speakers with `history="summarise"` have one."""
    form: Json
    """The values that a dialog's form holds so far, by field."""
    status: Status
    """Where the dialog stands; the supervisor has none."""
    version: int
    """The dialog's `version` when this talk was last used."""
    offered: bool
    """Whether the user was already asked if this paused dialog goes on."""


class Fields(TypedDict):
    """The fields of a form that a tool asks the user for."""

    fields: list[str]
    """Their names."""
    optional: list[str]
    """Those of them that may be left out."""
    aliases: dict[str, str]
    """Other names of fields, each with the field's own."""


class Pending(Fields):
    """A tool call that waits for the user: a `Question` as plain data."""

    call: str
    """The id of the tool call."""
    speaker: str
    """The speaker that made the call."""
    tool: str
    """The tool's name."""
    args: Json
    """The arguments of the call."""
    kind: str
    """The kind of question, as in the event `interrupt`."""
    prompt: str
    """The question in words."""
    options: list[Json]
    """The options to choose from: `label`, `value`, `detail` and `id` each; empty when the user fills in fields."""
    url: str
    """A page that the user opens first; empty without one."""
    back: NotRequired[str]
    """The declared return address of that page; empty or missing where the user says "done"."""
    web_app: NotRequired[bool]
    """Whether that page is a Telegram web app."""
    filled: Json
    """The values that the user has given so far, by field."""
    skipped: list[str]
    """The fields that the user has left out."""
    answers: list[str]
    """What the user has answered so far to the interrupts of the tool."""


class TalkUpdate(Talk, total=False):
    """A change to a talk: the keys of a Talk that change, and messages to append."""

    add: list[AnyMessage]
    """Messages to append to `messages`."""


def shortened(talks: Mapping[str, Talk]) -> dict[str, TalkUpdate]:
    """Return the changes that cut long histories. A speaker that sums up cuts its own."""
    return {
        name: {"messages": cut(talk["messages"])}
        for name, talk in talks.items()
        if "summary" not in talk and len(talk.get("messages", [])) > GROW
    }


def merge_talks(talks: Mapping[str, Talk], updates: Mapping[str, TalkUpdate]) -> dict[str, Talk]:
    """Apply changes per speaker; a history that a single turn has made very long is cut at once."""
    merged = dict(talks)
    for name, update in updates.items():
        added = update.get("add", [])
        changed = cast(Talk, {**merged.get(name, {}), **update})
        cast(dict[str, object], changed).pop("add", None)
        messages = [*changed.get("messages", []), *added]
        # Usually a history is cut between two turns, so that each prompt of a turn extends the one before.
        changed["messages"] = cut(messages) if len(messages) > 2 * GROW else messages
        merged[name] = changed
    return merged


def cut(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Keep about the last 12 messages once there are more than 24, beginning with a user message.

    Block-wise cutting leaves most prompts a prefix of the next one; a window that slides never does.
    """
    if len(messages) <= GROW:
        return messages
    start = len(messages) - KEEP
    while start > 0 and not isinstance(messages[start], HumanMessage):
        start -= 1
    return messages[start:]


def cut_harder(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Keep about the last quarter of what was said, by its characters, beginning with a user message.

    At least the last user message and what follows stay; a long message goes with all that is before it.
    """
    room = sum(map(_size, messages)) // 4
    start, place = 0, len(messages)
    for place in range(len(messages) - 1, -1, -1):
        room -= _size(messages[place])
        if isinstance(messages[place], HumanMessage):
            if start and room < 0:
                break
            start = place
    return messages[start:]


def _size(message: AnyMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return len(message.text) + sum(len(str(call["args"])) for call in calls)


def dangling(messages: Iterable[AnyMessage]) -> list[str]:
    """Return the ids of tool calls that no tool message answers."""
    calls: dict[str, None] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            calls |= {call["id"] or "": None for call in message.tool_calls}
        elif isinstance(message, ToolMessage):
            calls.pop(message.tool_call_id, None)
    return list(calls)


def set_before(messages: Sequence[AnyMessage], added: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Put an exchange before the last user message: behind an open tool call nothing but its answer may stand.

    So the model reads that answer last.
    """
    place = max((place for place, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0)
    return [*messages[:place], *added, *messages[place:]]


def mend(messages: Sequence[AnyMessage], note: str, calls: Container[str] | None = None) -> list[AnyMessage]:
    """Answer dangling tool calls (these, or all) with `note`, right behind their reply.

    Providers refuse a history with an open call.
    """
    open_calls = dangling(messages) if calls is None else calls
    mended: list[AnyMessage] = []
    for message in messages:
        mended.append(message)
        if isinstance(message, AIMessage):
            mended += [
                ToolMessage(note, tool_call_id=call["id"], name=call["name"], status="error")
                for call in message.tool_calls
                if call["id"] in open_calls
            ]
    return mended
