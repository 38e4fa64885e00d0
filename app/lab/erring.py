"""A model that errs now and then, to see how far a conversation withstands it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from pydantic import Field, SkipValidation

from agents.errors import ModelUnavailable
from agents.models import Model, Models, ToolSchema
from agents.models.local_chat import LocalChat


class ErringChat(LocalChat):
    """Answers as another model does, but for every so many replies that offer tools."""

    inner: SkipValidation[BaseChatModel] = Field(repr=False)
    every: int
    replies: SkipValidation[Iterator[int]] = Field(repr=False)
    """Counts the replies, from 1."""

    async def answer_in_time(self, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return the other model's reply, or a mistake in its place."""
        chat = self.inner.bind_tools(tools) if tools else self.inner
        reply = await chat.ainvoke(messages)
        if tools and (number := next(self.replies)) % self.every == 0:
            return mistake(number // self.every, tools)
        return reply


def mistake(number: int, tools: Sequence[ToolSchema]) -> AIMessage:
    """Return the mistake of this number: the kinds take turns.

    Raises:
        ModelUnavailable: the mistake is that no model answers.
    """
    needy = [tool["function"]["name"] for tool in tools if tool["function"].get("parameters", {}).get("required")]
    match number % 4:
        case 1:
            return _calling("no_such_tool")
        case 2:
            return AIMessage("It is all done.", response_metadata={"finish_reason": "stop"})
        case 3:
            return _calling(needy[0] if needy else "no_such_tool")
    raise ModelUnavailable("unavailable", "the lab's erring model")


def _calling(name: str) -> AIMessage:
    call = tool_call(name=name, args={}, id=f"mistake-{name}")
    return AIMessage("", tool_calls=[call], response_metadata={"finish_reason": "tool_calls"})


def erring(models: Models, every: int) -> Models:
    """Return the models with a mistake after so many replies; they count together."""
    replies = count(1)

    def changed(model: Model) -> Model:
        return replace(model, chat=ErringChat(inner=model.chat, every=every, replies=replies))

    fallback = changed(models.fallback) if models.fallback else None
    roles = {role: changed(model) for role, model in models.roles.items()}
    return Models(default=changed(models.default), roles=roles, fallback=fallback)
