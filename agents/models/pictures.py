"""The pictures of a turn in a prompt: shown to a model that sees, and left out if it will not have them."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.messages.content import TextContentBlock

from agents.models.failures import status
from agents.state.message_notes import notes, notes_of
from prompts import FALLBACK, phrase

REFUSED = (400, 413, 415, 422)
"""The HTTP statuses of servers that do not take a picture: broken, too large, of a wrong kind, or any at all."""


def with_pictures(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with the pictures of this turn behind the words that they stand beside."""
    return [_showing(message) if _pictures(message) else message for message in messages]


def may_be_refused(messages: Sequence[AnyMessage], failure: Exception) -> bool:
    """Tell whether a prompt has pictures, and a provider's failure may be for them."""
    return status(failure) in REFUSED and any(map(_pictures, messages))


def without_pictures(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages without the pictures; the model is told that it cannot see them."""
    lang = notes_of(messages[0]).get("lang", FALLBACK)
    return [_blind(message, lang) if _pictures(message) else message for message in messages]


def _pictures(message: AnyMessage) -> Sequence[Any]:
    return notes_of(message).get("pictures", [])


def _showing(message: AnyMessage) -> AnyMessage:
    blocks: list[Mapping[str, Any]] = [TextContentBlock(type="text", text=message.text)] if message.text else []
    return message.model_copy(update={"content": [*blocks, *_pictures(message)]})


def _blind(message: AnyMessage, lang: str) -> AnyMessage:
    context = [*notes_of(message).get("context", []), phrase("attached_unseen", lang, by="photo")]
    metadata = notes(context=context, pictures=[])
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **metadata}})
