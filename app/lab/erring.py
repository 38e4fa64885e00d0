"""A model that errs now and then, to see how far a conversation withstands it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from pydantic import Field

from agents.errors import ModelUnavailable
from agents.models import Model, Models, ToolSchema
from agents.models.local_chat import LocalChat

Mistake = Callable[[AIMessage, Sequence[ToolSchema]], AIMessage]


def unknown_tool(reply: AIMessage, tools: Sequence[ToolSchema]) -> AIMessage:
    """Call a tool that there is not."""
    return _calling("no_such_tool", {})


def no_arguments(reply: AIMessage, tools: Sequence[ToolSchema]) -> AIMessage:
    """Call a tool without the arguments that it needs."""
    needy = [tool["function"]["name"] for tool in tools if tool["function"].get("parameters", {}).get("required")]
    return _calling(needy[0] if needy else "no_such_tool", {})


def promise(reply: AIMessage, tools: Sequence[ToolSchema]) -> AIMessage:
    """Say that it was done, and do nothing."""
    return AIMessage("It is all done.", response_metadata={"finish_reason": "stop"})


def outage(reply: AIMessage, tools: Sequence[ToolSchema]) -> AIMessage:
    """Answer nothing."""
    raise ModelUnavailable("unavailable", "the lab's erring model")


MISTAKES: Sequence[Mistake] = (unknown_tool, promise, no_arguments, outage)


def _calling(name: str, args: dict[str, object]) -> AIMessage:
    call = tool_call(name=name, args=args, id=f"mistake-{name}")
    return AIMessage("", tool_calls=[call], response_metadata={"finish_reason": "tool_calls"})


class ErringChat(LocalChat):
    """Answers as another model does, but for every so many replies that offer tools."""

    inner: Any = Field(repr=False)
    every: int
    state: dict[str, Any] = Field(default_factory=dict, repr=False)

    async def answer_in_time(self, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return the other model's reply, or a mistake in its place."""
        chat = self.inner.bind_tools(tools) if tools else self.inner
        reply: AIMessage = await chat.ainvoke(messages)
        if not tools:
            return reply
        self.state["replies"] = self.state.get("replies", 0) + 1
        if self.state["replies"] % self.every:
            return reply
        mistakes = self.state.setdefault("mistakes", cycle(MISTAKES))
        mistake: Mistake = next(mistakes)
        return mistake(reply, tools)


def erring(models: Models, every: int) -> Models:
    """Return the models with a mistake after so many replies; they count together."""
    state: dict[str, Any] = {}

    def changed(model: Model) -> Model:
        return replace(model, chat=ErringChat(inner=model.chat, every=every, state=state))

    fallback = changed(models.fallback) if models.fallback else None
    roles = {role: changed(model) for role, model in models.roles.items()}
    return Models(default=changed(models.default), roles=roles, fallback=fallback)
