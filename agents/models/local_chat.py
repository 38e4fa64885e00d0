"""A chat model that runs in this process: it knows its whole reply at once, and streams it as a provider would."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agents.models import ToolSchema


class LocalChat(BaseChatModel):
    """Streams the text of `answer`, word by word, and then its calls."""

    @property
    def _llm_type(self) -> str:
        return type(self).__name__

    def answer(self, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return the whole reply to a prompt."""
        raise NotImplementedError

    async def answer_in_time(self, messages: list[BaseMessage], tools: Sequence[ToolSchema]) -> AIMessage:
        """Return the reply without holding up the event loop: other chats go on meanwhile."""
        return await asyncio.to_thread(self.answer, messages, tools)

    def pieces(self, text: str) -> Sequence[str]:
        """Return the pieces in which a text is streamed: its words."""
        return re.findall(r"\s*\S+|\s+$", text)

    async def pause(self) -> None:
        """Give others their turn between two pieces, as a model behind a network does."""
        await asyncio.sleep(0)

    def bind_tools(
        self, tools: Sequence[ToolSchema | type | Callable[..., object] | BaseTool], **kwargs: object
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer these tools; which to use is always the model's choice."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: object = None, run_manager: object = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages, kwargs.get("tools", ())))])

    async def _astream(
        self, messages: list[BaseMessage], stop: object = None, run_manager: object = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        message = await self.answer_in_time(messages, kwargs.get("tools", ()))
        for piece in self.pieces(message.text):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece, id=message.id))
            await self.pause()
        rest = message.model_dump(exclude={"type", "content"})
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last", **rest))
        await self.pause()
