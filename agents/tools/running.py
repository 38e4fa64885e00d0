"""Run tools so that nothing they do ends a turn: every call is announced, timed, bounded and answered."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from langgraph.types import Command

from agents.events import ToolEnd, ToolStart, View
from agents.speaker import Speaker
from prompts import phrase

TIMEOUT = 60
"""Seconds a tool may take."""
LOG = logging.getLogger(__name__)
Answer = ToolMessage | Command[Any]


def tool_node(speaker: Speaker, tools: Sequence[BaseTool]) -> ToolNode:
    """Return a node that runs a speaker's tools and tells the model, in words, what went wrong."""
    known = {tool.name for tool in tools}

    async def watch(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Answer]]) -> Answer:
        call, emit = request.tool_call, request.runtime.stream_writer
        about: dict[str, Any] = {"speaker": speaker.name, "tool": call["name"], "args": call["args"], "id": call["id"]}
        emit(ToolStart(**about))
        begun = time.perf_counter()
        answer = await _answer(request, execute, known)
        message = _message(answer, call["id"])
        ms = round((time.perf_counter() - begun) * 1000)
        emit(ToolEnd(**about, ok=message.status != "error", object=message.text, ms=ms))
        if isinstance(message.artifact, View):
            emit(message.artifact)
            message.artifact = None
        return answer

    return ToolNode(tools, handle_tool_errors=False, awrap_tool_call=watch)


async def _answer(
    request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Answer]], known: set[str]
) -> Answer:
    call, lang = request.tool_call, request.state["lang"]
    if call["name"] not in known:
        return _trouble(request, phrase("tool_unknown", lang, tool=call["name"], known=", ".join(sorted(known))))
    try:
        async with asyncio.timeout(TIMEOUT):
            return await execute(request)
    except GraphBubbleUp:
        raise
    except ToolInvocationError as wrong:
        return _trouble(request, phrase("tool_arguments", lang, tool=call["name"], problem=_problems(wrong)))
    except Exception:
        LOG.exception("tool %s failed", call["name"])
        return _trouble(request, phrase("tool_failed", lang, tool=call["name"]))


def _trouble(request: ToolCallRequest, text: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")


def _problems(wrong: ToolInvocationError) -> str:
    details = wrong.filtered_errors or wrong.source.errors()
    return "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)


def _message(answer: Answer, call_id: str | None) -> ToolMessage:
    messages = [answer] if isinstance(answer, ToolMessage) else (answer.update or {})["messages"]
    return next(m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id)
