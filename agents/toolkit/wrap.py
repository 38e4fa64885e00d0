"""Wrap a tool's own code: its result is written as JSON, and blocking code runs in a thread.

LangChain writes an object without a JSON form (a model, a date) as Python prints it; no schema finds an identifier
in that.
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

from agents.toolkit.interrupts import run_interruptible
from agents.toolkit.result import in_json, plain
from agents.toolkit.traits import traits_of

Body = Callable[..., Awaitable[object]]
BLOCKING, ASYNC = "_run", "_arun"
"""The methods that LangChain tells authors of class-based tools to write; the second one may be left out."""


def wrapped(tool: BaseTool) -> BaseTool:
    """Return the tool as it is run: its result as JSON, blocking code in a thread of its own."""
    if not isinstance(tool, StructuredTool | Tool):
        return _of_class(tool)
    body = tool.coroutine or (tool.func and beside(tool.func))
    return tool.model_copy(update={"coroutine": _in_json(tool, body)}) if body else tool


def _of_class(tool: BaseTool) -> BaseTool:
    """Return a class-based tool as one of a function: of its own `_arun` if it has one, else of its `_run`."""
    is_async = getattr(type(tool), ASYNC) is not getattr(BaseTool, ASYNC)
    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.args_schema or tool.get_input_schema(),
        coroutine=_in_json(tool, getattr(tool, ASYNC) if is_async else beside(getattr(tool, BLOCKING))),
        response_format=tool.response_format,
        handle_tool_error=tool.handle_tool_error,
        handle_validation_error=tool.handle_validation_error,
        metadata=tool.metadata,
        tags=tool.tags,
        callbacks=tool.callbacks,
        return_direct=tool.return_direct,
    )


def beside(blocking: Callable[..., object]) -> Body:
    """Return a blocking function as a coroutine: it runs in a daemon thread.

    The process would wait at its end for a thread of the loop's executor, even if its call was given up long ago.
    """

    @functools.wraps(blocking)
    async def body(*args: object, **kwargs: object) -> object:
        loop, context = asyncio.get_running_loop(), copy_context()
        answer: asyncio.Future[Any] = loop.create_future()

        def settle(setter: Callable[[Any], None], value: object) -> None:
            if not answer.done():
                setter(value)

        def run() -> None:
            try:
                done = (answer.set_result, context.run(blocking, *args, **kwargs))
            except BaseException as raised:
                done = (answer.set_exception, _carried(raised))
            try:
                loop.call_soon_threadsafe(settle, *done)
            except RuntimeError:
                # The loop is closed: the answer came too late.
                return

        threading.Thread(target=run, name=f"tool {getattr(blocking, '__name__', '')}", daemon=True).start()
        return await answer

    return body


def _carried(raised: BaseException) -> BaseException:
    """Return an exception that a future can carry and that does not end the process."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    wrapped = RuntimeError(f"it raised {type(raised).__name__}")
    wrapped.__cause__ = raised
    return wrapped


def _in_json(tool: BaseTool, body: Body) -> Body:
    declared = traits_of(tool).result is not None

    @functools.wraps(body)
    async def run(*args: object, **kwargs: object) -> object:
        answer = await run_interruptible(tool.name, functools.partial(body, *args, **kwargs))
        if tool.response_format == "content":
            return _text(answer, declared=declared)
        if isinstance(answer, tuple) and len(answer) == 2:
            return _text(answer[0], declared=declared), answer[1]
        return answer

    return run


def _text(answer: object, *, declared: bool) -> object:
    """Return the answer of a tool as JSON; sentences, messages and parts of a message as they are.

    Raises:
        ValueError: a result was declared, but the answer has no JSON form.
    """
    if answer is None or isinstance(answer, str | ToolOutputMixin):
        return answer
    if isinstance(answer, list) and answer:
        if all(isinstance(part, ToolOutputMixin) for part in answer):
            return answer
        if not declared and all(isinstance(p, dict) and p.get("type") in TOOL_MESSAGE_BLOCK_TYPES for p in answer):
            return answer
    try:
        return in_json(plain(answer))
    except ValueError:
        if declared:
            raise
        return answer
