"""`interrupt()` and hand-offs of LangGraph inside a tool: the user is asked, or the conversation changes hands.

Once the user has answered, the tool is run again from its beginning, and `interrupt()` returns the answer, as
everywhere in LangGraph. What a tool writes belongs behind its last `interrupt()`.
"""

import asyncio
import json
import logging
import pickle
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from agents.toolkit.questions.options import INTERRUPT, agreed, yes_or_no
from agents.toolkit.result import Failed, Option, Question, ToolResult, in_json, plain

LONGEST_PROMPT = 1_000
"""Characters of a question that the user is shown."""
PROMPT_KEYS = ("question", "prompt", "message", "query", "description", "task", "title")
"""Names under which tools put their question when they interrupt with an object."""
LOG = logging.getLogger(__name__)
_ANSWERS: ContextVar[Sequence[str]] = ContextVar("answers", default=())


class No(str):
    """A user's no as a tool gets it: the words, which count as false, since many tools only ask whether it is true."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


@contextmanager
def answering(texts: Sequence[str], lang: str) -> Iterator[None]:
    """Let the interrupts of the tools that are called during the block have these answers."""
    token = _ANSWERS.set([_value(text, lang) for text in texts])
    try:
        yield
    finally:
        _ANSWERS.reset(token)


async def run_interruptible(name: str, run: Callable[[], Awaitable[object]]) -> object:
    """Run the code of the tool `name`; its interrupts have the answers of `answering`.

    Raises:
        GraphInterrupt: The tool wants a further answer.
        Failed: A graph within the tool wants an answer. That graph would run from its beginning and might ask
            something else.
    """
    try:
        answers = _ANSWERS.get()
        return await (_replayed(run, answers) if answers else _asking_itself(run))
    except _AskedWithin:
        LOG.error("tool %s interrupts within a graph of its own, which cannot go on with the answer", name)
        raise Failed from None


def question_of(interrupted: GraphInterrupt, call: ToolCall) -> ToolMessage:
    """Return the question of a tool that interrupted itself."""
    value = interrupted.args[0][0].value
    question = Question(_prompt(value), _options(value), kind=INTERRUPT)
    return ToolMessage("", tool_call_id=call["id"], name=call["name"], artifact=ToolResult(question=question))


def handed_off(command: Command[Any], call: ToolCall) -> ToolMessage:
    """Return the result of a tool that goes to another node: the name of that node."""
    targets = [command.goto] if isinstance(command.goto, str | Send) else [*command.goto]
    names = [target.node if isinstance(target, Send) else str(target) for target in targets]
    goto = next(filter(None, names), "?")
    return ToolMessage(f"-> {goto}", tool_call_id=call["id"], name=call["name"], artifact=ToolResult(goto=goto))


class _AskedWithin(Exception):
    """A graph within the tool interrupted itself."""


class _NoState(TypedDict):
    pass


class _Pickled(JsonPlusSerializer):
    """Keeps the types of values, for the time of one call in memory: `No` must go on counting as false."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "pickle", pickle.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return pickle.loads(data[1])


async def _replayed(run: Callable[[], Awaitable[object]], answers: Sequence[object]) -> object:
    """Run code whose interrupts get these answers, in their order.

    LangGraph gives answers to the node that has asked for them. So a node of a small graph asks in place of the code,
    once for each answer. The code itself runs in this node once, when all answers are there.
    """
    result: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    has_all_answers = False

    async def play(state: _NoState) -> None:
        while not has_all_answers:
            interrupt("")
        try:
            result.set_result(await _asking_itself(run))
        except Exception as failure:
            result.set_exception(failure)

    builder = StateGraph(_NoState)
    builder.add_node("play", play)
    builder.add_edge(START, "play")
    graph = builder.compile(checkpointer=InMemorySaver(serde=_Pickled()))
    config: RunnableConfig = {"configurable": {"thread_id": "call"}}

    async def drive() -> None:
        nonlocal has_all_answers
        step: _NoState | Command[str] = {}
        for answer in answers:
            await graph.ainvoke(step, config)
            step = Command(resume=answer)
        has_all_answers = True
        await graph.ainvoke(step, config)

    # The context is changed, since a graph within another one shares its checkpoints.
    context = copy_context()
    context.run(var_child_runnable_config.set, None)
    await asyncio.create_task(drive(), context=context)
    return await result


async def _asking_itself(run: Callable[[], Awaitable[object]]) -> object:
    """Run code within a node.

    Raises:
        _AskedWithin: An interrupt is not that of this node.
    """
    try:
        return await run()
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


def _options(value: object) -> list[Option]:
    """Return what a tool lets the user choose from by its `options`: for each answer the words for the user."""
    named = value.get("options") if isinstance(value, Mapping) else None
    if not isinstance(named, Mapping) or not all(isinstance(text, str) for pair in named.items() for text in pair):
        return []
    return [Option(label, answer) for answer, label in named.items()]


def _prompt(value: object) -> str:
    if isinstance(value, Mapping):
        value = next((value[name] for name in PROMPT_KEYS if isinstance(value.get(name), str)), value)
    try:
        text = value if isinstance(value, str) else in_json(plain(value))
    except ValueError:
        text = str(value)
    return text[:LONGEST_PROMPT] or "?"


def _value(text: str, lang: str) -> Any:
    """Return an answer as `interrupt()` returns it: an object that was sent as JSON, else the user's words."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return No(text) if agreed(text, yes_or_no(lang), lang) is False else text
