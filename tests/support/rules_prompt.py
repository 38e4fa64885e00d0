"""A prompt as the model of rules reads it."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage


def rules_prompt(messages: Sequence[BaseMessage], **facts: Any) -> list[BaseMessage]:
    """Return a prompt whose facts hold the messages."""
    role = SystemMessage("You are an assistant.", additional_kwargs={"facts": {**facts, "history": messages}})
    return [role, *messages]
