"""A prompt in the form for the model of rules."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage


def rules_prompt(messages: Sequence[BaseMessage], **facts: Any) -> list[BaseMessage]:
    """Return a prompt with the messages in its facts."""
    role = SystemMessage("You are an assistant.", additional_kwargs={"facts": {**facts, "history": messages}})
    return [role, *messages]
