"""What the files beside the message of this turn hold, put into the prompt; the history keeps only their marks."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage

from agents.sources.attachments import Contents, told
from agents.state.message_notes import notes, notes_of
from agents.state.person import Heard
from prompts import phrase


def with_contents(history: Sequence[AnyMessage], heard: Heard, contents: Contents, lang: str) -> list[AnyMessage]:
    """Return a history in which the message of this turn shows its files."""
    parts = told(heard.get("quoted", []), contents, lang)
    if any(notes_of(message).get("marked") and message.id != heard["id"] for message in history):
        parts.append(phrase("attached_before", lang))
    if not parts and not contents.pictures:
        return [*history]
    return [_showing(message, parts, contents) if message.id == heard["id"] else message for message in history]


def _showing(message: AnyMessage, parts: Sequence[str], contents: Contents) -> AnyMessage:
    if not isinstance(message, HumanMessage):
        return message
    context = [*notes_of(message).get("context", []), *parts]
    shown = notes(context=context, pictures=contents.pictures)
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **shown}})
