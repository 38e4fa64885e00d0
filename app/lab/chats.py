"""Models that a function answers for: a person's at the desk, and one that errs now and then."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import count

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from agents.errors import ModelUnavailable
from agents.models import Model, Models, ToolSchema
from agents.models.local_chat import LocalChat
from app.lab.desk_session import DeskCall, reply_of

Answering = Callable[[list[BaseMessage], Sequence[ToolSchema]], Awaitable[AIMessage]]


class AnsweredChat(LocalChat):
    """Says what a function returns."""

    answering: Answering = Field(repr=False)

    async def answer_in_time(self, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return the function's reply."""
        return await self.answering(messages, tools)


def erring(models: Models, every: int) -> Models:
    """Return the models with a mistake in place of every so many replies that offer tools; they count together."""
    replies = count(1)

    def changed(model: Model) -> Model:
        async def answer(messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
            chat = model.chat.bind_tools(tools) if tools else model.chat
            reply = await chat.ainvoke(messages)
            if tools and (number := next(replies)) % every == 0:
                return mistake(number // every, tools)
            return reply

        return replace(model, chat=AnsweredChat(answering=answer))

    roles = {role: changed(model) for role, model in models.roles.items()}
    return Models(changed(models.default), roles, models.fallback and changed(models.fallback))


def mistake(number: int, tools: Sequence[ToolSchema]) -> AIMessage:
    """Return the mistake of this number: the kinds take turns. Raises ModelUnavailable: the mistake is that."""
    needy = [tool["function"]["name"] for tool in tools if tool["function"].get("parameters", {}).get("required")]
    match number % 4:
        case 1:
            return reply_of("", [DeskCall(tool="no_such_tool")])
        case 2:
            return reply_of("It is all done.")
        case 3:
            return reply_of("", [DeskCall(tool=needy[0] if needy else "no_such_tool")])
    raise ModelUnavailable("unavailable", "the lab's erring model")
