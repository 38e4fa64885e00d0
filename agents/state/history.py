"""A speaker's history: cut in blocks so that prompts stay cacheable, mended so that no tool call dangles."""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.state.message_notes import newly_lasting, notes_of
from agents.state.speaker_state import Pending

MOST_MESSAGES = 1_000
"""Messages of a history, however short they are."""


def beyond(messages: Sequence[AnyMessage], most: int, tokens: Callable[[Sequence[str]], int]) -> int:
    """Return how many messages at the beginning go from a history of more than `most` tokens.

    About half of it stays, and begins with a user message. So a history is cut seldom, and most prompts begin with
    the whole prompt before them; with a sliding window none would. `tokens` estimates the tokens of messages.
    """
    shown_messages = [*_told(messages)]
    if len(messages) <= MOST_MESSAGES and tokens(shown_messages) <= most:
        return 0
    room, start = most // 2, 0
    for place in range(len(messages) - 1, max(0, len(messages) - MOST_MESSAGES // 2), -1):
        room -= tokens([shown_messages[place]])
        if isinstance(messages[place], HumanMessage):
            if start and room < 0:
                break
            start = place
    return start


def _told(messages: Iterable[AnyMessage]) -> Iterator[str]:
    """Yield the text that each message of a history adds to a prompt."""
    lasting: Sequence[str] = []
    for message in messages:
        words = message.content if isinstance(message.content, str) else message.text
        if isinstance(message, HumanMessage):
            noted, before = notes_of(message), lasting
            lasting = noted.get("lasting", before)
            words = "\n".join([*noted.get("context", ()), *newly_lasting(lasting, before), words])
        elif isinstance(message, AIMessage) and message.tool_calls:
            words = "\n".join([words, *(str(call["args"]) for call in message.tool_calls)])
        yield words


def cut_harder(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Keep about the last quarter of the messages, by characters, beginning with a user message."""
    size = sum(map(len, _told(messages)))
    return messages[beyond(messages, size // 2, lambda words: sum(map(len, words))) :]


def texts(messages: Sequence[AnyMessage], tools: Iterable[Mapping[str, object]] = ()) -> list[str]:
    """Return all texts of a prompt: of messages, arguments of calls, and tools as they go over the wire."""
    words = [message.text for message in messages]
    arguments = [
        str(call["args"]) for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
    ]
    return [*words, *arguments, *(json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools)]


def last_reply(messages: Sequence[AnyMessage], *, in_words: bool = False) -> AIMessage | None:
    """Return the last reply of a history, or the last one with a text; None if there is none."""
    replies = (message for message in reversed(messages) if isinstance(message, AIMessage))
    return next((reply for reply in replies if reply.text or not in_words), None)


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


def mend(messages: Sequence[AnyMessage], results: Mapping[str, str], done: Container[str] = ()) -> list[AnyMessage]:
    """Answer dangling tool calls with these results, by id, right behind their reply; those not `done` have failed.

    Providers refuse a history with an open call.
    """
    mended: list[AnyMessage] = []
    for message in messages:
        mended.append(message)
        if isinstance(message, AIMessage):
            mended += [
                ToolMessage(text, tool_call_id=id, name=call["name"], status="success" if id in done else "error")
                for call in message.tool_calls
                if (text := results.get(id := call["id"] or ""))
            ]
    return mended


def waiting_calls(pending: Sequence[Pending]) -> set[str]:
    """Return the ids of the calls that have no result yet because of these questions."""
    behind = (call for question in pending for call in question.get("behind", []))
    return {*(question["call"] for question in pending), *(call["id"] or "" for call in behind)}
