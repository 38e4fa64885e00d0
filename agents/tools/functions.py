"""What is put around a tool's own function: whatever it returns is written as JSON.

LangChain writes what has no JSON of its own (a model, a date) as Python does, in which no schema finds an identifier.
"""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langchain_core.tools.base import TOOL_MESSAGE_BLOCK_TYPES

from agents.tools.outcome import in_json, plain
from agents.tools.traits import traits_of

Body = Callable[..., Awaitable[Any]]


def prepared(tool: BaseTool) -> BaseTool:
    """Return the tool as it is run: what it returns as JSON.

    A tool that is no function of ours (a class with a `_run`) is left as it is.
    """
    if not isinstance(tool, StructuredTool | Tool):
        return tool
    body = tool.coroutine or (tool.func and beside(tool.func))
    return tool.model_copy(update={"coroutine": _told(tool, body)}) if body else tool


def beside(blocking: Callable[..., Any]) -> Body:
    """Return a blocking function as a coroutine that runs it in a thread."""
    return functools.wraps(blocking)(functools.partial(run_in_executor, None, blocking))


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
