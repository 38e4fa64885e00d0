"""Adapters around a tool's own code: threads for blocking code, results as JSON, interrupts and handoffs.

Once the user has answered an `interrupt()` of LangGraph, the tool is run again from its beginning, and `interrupt()`
returns the answer. A tool's writes belong behind its last `interrupt()`.
"""

import asyncio
import functools
import json
import logging
import pickle
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from inspect import isawaitable, signature
from typing import Any, get_type_hints

from langchain_core.callbacks import Callbacks
from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall, ToolOutputMixin
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langchain_core.tools.base import TOOL_MESSAGE_BLOCK_TYPES
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphInterrupt
from langgraph.func import entrypoint
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, ConfigDict, create_model

from agents.state.speaker_state import No
from agents.toolkit.questions.options import INTERRUPT, NO, YES, agreed, yes_or_no
from agents.toolkit.result import Failed, Option, Question, ToolResult, in_json, jsonable
from agents.toolkit.traits import traits_of, with_traits

Body = Callable[..., Awaitable[object]]
BLOCKING, ASYNC = "_run", "_arun"
"""The methods that LangChain tells authors of class-based tools to write; the second one may be left out."""
WITH_ARTIFACT = {"response_format": "content_and_artifact"}
LONGEST_PROMPT = 1_000
"""Characters of a question to the user."""
PROMPT_KEYS = ("question", "prompt", "message", "query", "description", "task", "title")
"""Keys of the question in the object with which a tool interrupts."""
LOG = logging.getLogger(__name__)
_ANSWERS: ContextVar[Sequence[object]] = ContextVar("answers", default=())


def wrapped(tool: BaseTool) -> BaseTool:
    """Return the tool as it is run: its result as JSON, blocking code in a thread of its own."""
    if isinstance(tool, StructuredTool | Tool):
        body = tool.coroutine or (tool.func and beside(tool.func))
        schema = _by_name(tool.args_schema)
        update = {"coroutine": _in_json(tool, body), "args_schema": schema, **WITH_ARTIFACT} if body else {}
        return tool.model_copy(update=update)
    is_async = getattr(type(tool), ASYNC) is not getattr(BaseTool, ASYNC)
    body = getattr(tool, ASYNC) if is_async else beside(getattr(tool, BLOCKING))
    facts = {name: value for name, value in tool if name in BaseTool.model_fields}
    facts |= {"args_schema": _by_name(tool.args_schema or tool.get_input_schema()), **WITH_ARTIFACT}
    return with_traits(StructuredTool(**facts, coroutine=_in_json(tool, body)), traits_of(tool))


def misfit_of(tool: BaseTool) -> str:
    """Return Python's reason why no call fits the code of a tool; empty if it takes its parameters by their names."""
    run = wrapped(tool)
    if not isinstance(run, StructuredTool) or not run.coroutine:
        return ""
    if not isinstance(schema := run.args_schema, type) or not issubclass(schema, BaseModel):
        return ""
    names, code = schema.model_fields, signature(run.coroutine)
    # LangChain shows a model `**kwargs` as one parameter.
    own = [each for each in code.parameters.values() if each.kind != each.VAR_KEYWORD or each.name not in names]
    given = [name for name, hint in get_type_hints(run.coroutine).items() if hint in (RunnableConfig, Callbacks)]
    try:
        signature(getattr(StructuredTool, ASYNC)).bind(run, config=None, **dict.fromkeys(names))
        code.replace(parameters=own).bind(**dict.fromkeys([*names, *given]))
    except TypeError as misfit:
        return str(misfit).rpartition("bind() ")[2]
    return ""


class _Named(BaseModel):
    model_config = ConfigDict(populate_by_name=True)


def _by_name(schema: object) -> object:
    """Return a schema that takes its fields by the names that a model is shown, and by aliases, too."""
    if not isinstance(schema, type) or not issubclass(schema, BaseModel):
        return schema
    if all(field.alias is None for field in schema.model_fields.values()):
        return schema
    return create_model(schema.__name__, __base__=(schema, _Named), __module__=schema.__module__)


def beside(blocking: Callable[..., object]) -> Body:
    """Return a blocking function as a coroutine: it runs in a daemon thread.

    The process would wait at its end for a thread of the loop's executor, even if its call was given up long ago.
    """

    @functools.wraps(blocking)
    async def body(*args: object, **kwargs: object) -> object:
        context, answer = copy_context(), Future[object]()
        # A call that was given up cannot be cancelled, since it runs; nobody reads its answer.
        answer.set_running_or_notify_cancel()

        def run() -> None:
            try:
                answer.set_result(context.run(blocking, *args, **kwargs))
            except BaseException as raised:
                # A future cannot carry `StopIteration`, and `SystemExit` would end the process.
                is_carried = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
                answer.set_exception(raised if is_carried else RuntimeError(f"it raised {type(raised).__name__}"))

        threading.Thread(target=run, name=f"tool {getattr(blocking, '__name__', '')}", daemon=True).start()
        return await asyncio.wrap_future(answer)

    return body


def _in_json(tool: BaseTool, body: Body) -> Body:
    declared = traits_of(tool).result is not None

    @functools.wraps(body)
    async def run(*args: object, **kwargs: object) -> object:
        code, answers = functools.partial(body, *args, **kwargs), _ANSWERS.get()
        try:
            answer = await (_replayed(code, answers) if answers else _asking_itself(code))
        except _AskedWithin:
            LOG.error("tool %s interrupts within a graph of its own, which cannot go on with the answer", tool.name)
            raise Failed from None
        if isinstance(answer, AsyncIterator):
            answer = [part async for part in answer]
        has_format = tool.response_format != "content"
        # An author who returns `choice(...)` may have left the format out.
        if isinstance(answer, tuple) and len(answer) == 2 and (has_format or isinstance(answer[1], ToolResult)):
            return _text(answer[0], declared=declared), answer[1]
        return _text(answer, declared=declared), None

    return run


def _text(answer: object, *, declared: bool) -> object:
    """Return the answer of a tool as JSON; sentences, messages and parts of a message as they are.

    LangChain writes a model or a date as Python prints it, and no schema finds an identifier in that. Raises ValueError
    if a result was declared but the answer has no JSON form.
    """
    if answer is None or isinstance(answer, str | ToolOutputMixin):
        return answer
    if isinstance(answer, list) and answer:
        if all(isinstance(part, ToolOutputMixin) for part in answer):
            return answer
        if not declared and all(isinstance(p, dict) and p.get("type") in TOOL_MESSAGE_BLOCK_TYPES for p in answer):
            return answer
    try:
        return in_json(jsonable(answer))
    except ValueError:
        if declared:
            raise
        return answer


@contextmanager
def answering(texts: Sequence[str], lang: str) -> Iterator[None]:
    """Let the interrupts of the tools that are called during the block have these answers."""
    token = _ANSWERS.set([answer_given(text, lang) for text in texts])
    try:
        yield
    finally:
        _ANSWERS.reset(token)


def answer_given(text: str, lang: str) -> object:
    """Return an answer as `interrupt()` returns it: an object if it came as JSON, else the user's words."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return No(text) if agreed(text, yes_or_no(lang), lang) is False else text


class _AskedWithin(Exception):
    """A graph within the tool interrupted itself. A new run would begin anew and might ask something else."""


class _Pickled(JsonPlusSerializer):
    """Keeps the types of values in memory during one call: `No` must go on counting as false."""

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        return "pickle", pickle.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> object:
        return pickle.loads(data[1])


async def _replayed(run: Callable[[], Awaitable[object]], answers: Sequence[object]) -> object:
    """Run code whose interrupts get these answers, in their order.

    LangGraph gives answers to the node that has asked for them. So a small graph asks in place of the code, once for
    each answer. The code itself runs in this graph once, when all answers are there.
    """
    result: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    has_all_answers = False

    @entrypoint(checkpointer=InMemorySaver(serde=_Pickled()))
    async def play(_: object) -> None:
        while not has_all_answers:
            interrupt("")
        try:
            result.set_result(await _asking_itself(run))
        except Exception as failure:
            result.set_exception(failure)

    config: RunnableConfig = {"configurable": {"thread_id": "call"}}

    async def drive() -> None:
        nonlocal has_all_answers
        step: object = {}
        for answer in answers:
            await play.ainvoke(step, config)
            step = Command(resume=answer)
        has_all_answers = True
        await play.ainvoke(step, config)

    # The context is changed, since a graph within another one shares its checkpoints.
    context = copy_context()
    context.run(var_child_runnable_config.set, None)
    await asyncio.create_task(drive(), context=context)
    return await result


async def _asking_itself(run: Callable[[], Awaitable[object]]) -> object:
    try:
        answer = await run()
        # An author who forgets `await` returns a coroutine.
        return await answer if isawaitable(answer) else answer
    except GraphInterrupt as interrupted:
        if interrupted.args[0][0].id != _own_interrupt_id():
            raise _AskedWithin from None
        raise


def _own_interrupt_id() -> str:
    """Return the id of the interrupt with which this node waits: the same however often it asks."""
    try:
        interrupt("")
    except GraphInterrupt as interrupted:
        return str(interrupted.args[0][0].id)
    return ""


def question_of(interrupted: GraphInterrupt, call: ToolCall) -> ToolMessage:
    """Return the question of a tool that interrupted itself, with its `options`: the words for each answer."""
    value = interrupted.args[0][0].value
    named = value.get("options") if isinstance(value, Mapping) else None
    if not isinstance(named, Mapping) or not all(isinstance(text, str) for pair in named.items() for text in pair):
        named = {}
    is_review = [*named] == [YES, NO]
    options = [Option(label, answer, id=answer if is_review else "") for answer, label in named.items()]
    return answer_to(call, ToolResult(question=Question(prompt_of(value), options, kind=INTERRUPT)))


def prompt_of(value: object) -> str:
    """Return the question of an `interrupt()` in words."""
    if isinstance(value, Mapping):
        value = next((value[name] for name in PROMPT_KEYS if isinstance(value.get(name), str)), value)
    try:
        text = value if isinstance(value, str) else in_json(jsonable(value))
    except ValueError:
        text = str(value)
    return text[:LONGEST_PROMPT] or "?"


def handed_off(command: Command[Any], call: ToolCall) -> ToolMessage:
    """Return the result of a tool that goes to another node: the name of that node."""
    targets = [command.goto] if isinstance(command.goto, str | Send) else [*command.goto]
    names = [target.node if isinstance(target, Send) else str(target) for target in targets]
    goto = next(filter(None, names), "?")
    return answer_to(call, ToolResult(goto=goto), f"-> {goto}")


def answer_to(call: ToolCall, result: ToolResult, text: str = "") -> ToolMessage:
    """Return the message that answers a call."""
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], artifact=result)
