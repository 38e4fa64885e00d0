"""The order of roles that every chat template takes.

Templates refuse a second system message, two user messages in a row, a user message straight after a tool result, or
several calls in one message. Nothing is lost on the way, and a history that only grows gives a prompt that only grows.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from agents.models.thinking import with_thoughts
from agents.state.message_notes import Metadata, Seen, newly_lasting, notes_of, with_notes
from prompts import FALLBACK, phrase

TAG = "context"
"""The name of the element that holds the application's data; the role prompts explain it."""
_DELIMITER = re.compile(rf"<(/?\s*{TAG})", re.IGNORECASE)


def in_order(messages: Sequence[AnyMessage], model: str = "") -> list[AnyMessage]:
    """Return the messages with their roles in turns: the first one, a system message, stays the only one of its kind.

    A user message begins with its context block, if it has one; in custom forwarding every user message has one, with
    its metadata. Lasting context stands only in the first block in which it holds. All later system messages are notes
    of the application; each becomes a context block of a user message.
    A reply with several calls becomes several replies with one call each, every one followed by its result. But a reply
    stays as `model` made it if that model wants its thinking back.
    """
    role, *history = messages
    lang = notes_of(role).get("lang", FALLBACK)
    is_custom = notes_of(role).get("forwarding") == "custom"
    prompt: list[AnyMessage] = [role]
    for message in _delimited(list(_single_calls(history, lang, model)), lang, is_custom=is_custom):
        last = prompt[-1]
        if isinstance(message, HumanMessage) and isinstance(last, ToolMessage):
            prompt.append(AIMessage(phrase("filler_assistant", lang)))
        elif not isinstance(message, HumanMessage) and isinstance(last, SystemMessage):
            prompt.append(HumanMessage(phrase("filler_user", lang)))
        if _joins(prompt[-1], message):
            prompt[-1] = _joined(prompt[-1], message)
        else:
            prompt.append(message)
    return prompt if len(prompt) > 1 else [*prompt, HumanMessage(phrase("filler_user", lang))]


def context_block(parts: Iterable[str]) -> str:
    """Return the parts as one delimited block; a delimiter inside a part loses its meaning. Empty without parts."""
    lines = "\n".join(part for part in parts if part.strip())
    return f"<{TAG}>\n{undelimited(lines)}\n</{TAG}>" if lines else ""


def undelimited(text: str) -> str:
    """Return the text without delimiters of a block: `<` before the block's name becomes `‹`."""
    return _DELIMITER.sub(r"‹\1", text)


def _delimited(messages: Sequence[AnyMessage], lang: str, *, is_custom: bool) -> Iterable[AnyMessage]:
    """Yield the messages, with the application's data in context blocks, and nobody else's.

    A result says who sees it. With `is_custom` messages have their metadata.
    """
    lasting: Sequence[str] = []
    seen_words = {seen: phrase(f"seen_{seen}", lang) for seen in get_args(Seen) if seen}
    for message in messages:
        if isinstance(message, SystemMessage):
            if message.text:
                yield HumanMessage(context_block([message.text]))
        elif isinstance(message, HumanMessage):
            noted, before = notes_of(message), lasting
            lasting = noted.get("lasting", before)
            metadata = noted.get("metadata") if is_custom else None
            metadata_lines = _worded(metadata, lang) if metadata else []
            anew = newly_lasting(lasting, before)
            block = context_block([*noted.get("context", []), *anew, *noted.get("beside", []), *metadata_lines])
            text = "\n\n".join(each for each in (block, undelimited(message.text)) if each)
            yield _with_text(message, text)
        elif isinstance(message, ToolMessage):
            noted = notes_of(message)
            question_lines = [phrase("user_asked", lang, question=question)] if (question := noted.get("asked")) else []
            seen = [seen_words[seen]] if (seen := noted.get("seen")) else []
            yield _with_text(message, undelimited("\n".join([message.text, *question_lines, *seen])))
        else:
            yield message


def _worded(metadata: Metadata, lang: str) -> list[str]:
    """Return the metadata of a message in words: the end of the answer before it, then its writer and its time."""
    user = " ".join(metadata["user"].split())
    written = phrase("message_metadata", lang, time=metadata["time"], user=user, source=metadata["source"])
    if stopped := metadata.get("stopped"):
        return [phrase("answer_stopped", lang, time=stopped["time"], original=stopped["original"]), written]
    answered = metadata.get("answered")
    return [*([phrase("answer_complete", lang, time=answered)] if answered else []), written]


def _with_text(message: AnyMessage, text: str) -> AnyMessage:
    return message if message.content == text else message.model_copy(update={"content": text})


def _single_calls(history: Sequence[AnyMessage], lang: str, model: str) -> Iterable[AnyMessage]:
    """Yield the messages, each reply with calls as one reply a call with its result right behind it."""
    results = {message.tool_call_id: message for message in history if isinstance(message, ToolMessage)}
    call_ids = {call["id"] for message in history if isinstance(message, AIMessage) for call in message.tool_calls}
    newest = max((place for place, message in enumerate(history) if isinstance(message, HumanMessage)), default=-1)
    for place, message in enumerate(history):
        if isinstance(message, AIMessage) and message.tool_calls:
            if thinking := with_thoughts(message, model, is_past=place < newest):
                yield thinking
                for call, sent in zip(message.tool_calls, thinking.tool_calls, strict=True):
                    if result := results.get(call["id"] or ""):
                        yield result.model_copy(update={"tool_call_id": sent["id"]})
            else:
                yield from _one_by_one(message, results, lang)
        elif not isinstance(message, ToolMessage):
            yield message
        elif message.tool_call_id not in call_ids:
            # The call was cut from the history; every provider refuses a result without its call.
            yield SystemMessage(message.text)


def _one_by_one(reply: AIMessage, results: Mapping[str, ToolMessage], lang: str) -> Iterable[AnyMessage]:
    # Many templates drop a text beside a call; the user has seen it, so it goes with the first result.
    aside = phrase("said_beside_a_call", lang, text=reply.text) if reply.text.strip() else ""
    for call in reply.tool_calls:
        id = _call_id(call["id"] or "")
        # A copy is not checked again, which takes three times as long.
        calls = {"tool_calls": [{**call, "id": id}], "invalid_tool_calls": []}
        yield reply.model_copy(update={"content": "", "additional_kwargs": {}, "response_metadata": {}, **calls})
        if result := results.get(call["id"] or ""):
            text = f"{aside}\n{result.text}" if aside else result.text
            yield result.model_copy(update={"content": text, "tool_call_id": id})
            aside = ""


def _call_id(id: str) -> str:
    """Return the id that a provider is shown: nine letters and digits, the only form that Mistral takes."""
    return id if re.fullmatch(r"[A-Za-z0-9]{9}", id) else hashlib.sha256(id.encode()).hexdigest()[:9]


def _joins(last: AnyMessage, message: AnyMessage) -> bool:
    if isinstance(last, AIMessage) and isinstance(message, AIMessage):
        return not last.tool_calls and not message.tool_calls
    return isinstance(last, HumanMessage) and isinstance(message, HumanMessage)


def _joined(last: AnyMessage, message: AnyMessage) -> AnyMessage:
    text = "\n\n".join(part for part in (last.text, message.text) if part)
    pictures = [*notes_of(last).get("pictures", []), *notes_of(message).get("pictures", [])]
    joined = _with_text(message, text)
    return with_notes(joined, pictures=pictures) if pictures else joined
