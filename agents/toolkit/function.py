"""What is put around a tool's own function: its result is written as JSON, and a blocking one holds up nobody.

LangChain writes what has no JSON of its own (a model, a date) as Python does, in which no schema finds an identifier.
"""

import asyncio
import functools
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any

from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langchain_core.tools.base import TOOL_MESSAGE_BLOCK_TYPES

from agents.toolkit.result import in_json, plain
from agents.toolkit.traits import traits_of

Body = Callable[..., Awaitable[Any]]


def prepared(tool: BaseTool) -> BaseTool:
    """Return the tool as it is run: what it returns as JSON, a blocking function in a thread of its own.

    A tool that is no function of ours (a class with a `_run`) is left as it is.
    """
    if not isinstance(tool, StructuredTool | Tool):
        return tool
    body = tool.coroutine or (tool.func and beside(tool.func))
    return tool.model_copy(update={"coroutine": _told(tool, body)}) if body else tool


def beside(blocking: Callable[..., Any]) -> Body:
    """Return a blocking function as a coroutine: it runs in a thread for which nobody waits at the end.

    A thread of the loop's executor would be waited for when the process ends, long after its call was given up.
    """

    @functools.wraps(blocking)
    async def body(*args: Any, **kwargs: Any) -> Any:
        loop, context = asyncio.get_running_loop(), copy_context()
        answer: asyncio.Future[Any] = loop.create_future()

        def settle(settled: Callable[[Any], None], what: Any) -> None:
            if not answer.done():
                settled(what)

        def run() -> None:
            try:
                done = (answer.set_result, context.run(blocking, *args, **kwargs))
            except BaseException as raised:
                done = (answer.set_exception, _carried(raised))
            try:
                loop.call_soon_threadsafe(settle, *done)
            except RuntimeError:
                # The loop is closed: the answer came after the end.
                return

        threading.Thread(target=run, name=f"tool {getattr(blocking, '__name__', '')}", daemon=True).start()
        return await answer

    return body


def _carried(raised: BaseException) -> BaseException:
    """Return an exception as a future can carry it, and none that would end the process."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    wrapped = RuntimeError(f"it raised {type(raised).__name__}")
    wrapped.__cause__ = raised
    return wrapped


def _told(tool: BaseTool, body: Body) -> Body:
    declared = traits_of(tool).result is not None

    @functools.wraps(body)
    async def told(*args: Any, **kwargs: Any) -> Any:
        given = await body(*args, **kwargs)
        if tool.response_format == "content":
            return _text(given, declared=declared)
        if isinstance(given, tuple) and len(given) == 2:
            return _text(given[0], declared=declared), given[1]
        return given

    return told


def _text(given: Any, *, declared: bool) -> Any:
    """Return what a tool gave as JSON; sentences, messages and parts of a message as they are.

    Raises:
        ValueError: it is of no kind that JSON has, though a result was declared.
    """
    if given is None or isinstance(given, str | ToolOutputMixin) or _are_parts(given, ToolOutputMixin):
        return given
    if not declared and _are_parts(given, dict) and all(one.get("type") in TOOL_MESSAGE_BLOCK_TYPES for one in given):
        return given
    try:
        return in_json(plain(given))
    except ValueError:
        if declared:
            raise
        return given


def _are_parts(given: Any, kind: type) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(one, kind) for one in given)
