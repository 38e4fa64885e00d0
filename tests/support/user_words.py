"""The texts of a prompt's messages: the user's, all speakers', and the tools'."""

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from app.testing.script import Script


def bare(text: str) -> str:
    """Return a user message's words, without the context blocks."""
    return re.sub(r"<context>.*?</context>(\n\n)?", "", text, flags=re.DOTALL).strip()


def user_words(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the words of each user message, without the context blocks."""
    return [bare(message.text) for message in messages if message.type == "human"]


def spoken(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the words of all speakers in a prompt, without the system message and the context blocks."""
    return [bare(message.text) for message in messages if message.type != "system"]


def results(script: Script) -> list[str]:
    """Return the last results of tools in a prompt."""
    told = [message.text.splitlines() for message in script.asked[-1].messages if message.type == "tool"]
    return [next(line for line in lines if not line.startswith("(Already")) for lines in told]
