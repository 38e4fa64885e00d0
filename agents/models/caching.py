"""Ask a provider to keep a prompt's beginning: marks in the prompt for Anthropic, a key beside it for OpenAI."""

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage

Caching = Literal["none", "key", "marks"]
"""How a provider wants to be asked. "none": it is not asked; many cache all by themselves."""
MARK = {"type": "ephemeral"}


def cache_key(thread: str, role: str) -> str:
    """Return the key that a role's calls in a thread share: requests with one key reach one host. 32 hex digits."""
    return hashlib.sha256(f"{role}\n{thread}".encode()).hexdigest()[:32]


def cache_options(caching: Caching, key: str) -> dict[str, Any]:
    """Return what goes beside the prompt. With "marks" the end of the prompt is marked by the provider's client."""
    if caching == "marks":
        return {"cache_control": MARK}
    return {"prompt_cache_key": key} if caching == "key" and key else {}


def with_marks(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Mark what the next turn repeats: the system message, and the last message before the newest user message.

    The newest user message carries data that the next turn leaves out, so what follows it is of use in this turn only.
    """
    newest = max((place for place, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0)
    return [_marked(message) if place in (0, newest - 1) else message for place, message in enumerate(messages)]


def _marked(message: AnyMessage) -> AnyMessage:
    """Return the message with a mark at its end; a message without text cannot carry one."""
    if not message.text:
        return message
    return message.model_copy(update={"content": [{"type": "text", "text": message.text, "cache_control": MARK}]})
