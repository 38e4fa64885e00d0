"""A speaker's history: cut in blocks so that prompts stay cacheable, mended so that no tool call dangles."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

GROW = 48
KEEP = 10


def cut(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Keep about the last 10 messages once there are more than 48, beginning with a user message.

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


def texts(messages: Sequence[AnyMessage], tools: Iterable[Mapping[str, object]] = ()) -> list[str]:
    """Return all that a prompt says: texts, arguments of calls, and tools as they go over the wire."""
    words = [message.text for message in messages]
    arguments = [
        str(call["args"]) for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
    ]
    return [*words, *arguments, *(json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools)]


def _size(message: AnyMessage) -> int:
    return sum(map(len, texts([message])))


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


def mend(messages: Sequence[AnyMessage], note: str, open_calls: Container[str]) -> list[AnyMessage]:
    """Answer these dangling tool calls with `note`, right behind their reply.

    Providers refuse a history with an open call.
    """
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
