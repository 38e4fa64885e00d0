"""What the user said, in the messages of a prompt."""

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage


def bare(text: str) -> str:
    """Return a user message's words, without the context blocks."""
    return re.sub(r"<context>.*?</context>(\n\n)?", "", text, flags=re.DOTALL).strip()


def user_words(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the words of each user message, without the context blocks."""
    return [bare(message.text) for message in messages if message.type == "human"]


def spoken(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the words of all speakers in a prompt, without the system message and the context blocks."""
    return [bare(message.text) for message in messages if message.type != "system"]
