"""`interrupt()` and hand-offs of LangGraph inside a tool: the user is asked, or the conversation changes hands.

Once the user has answered, the tool is run again from its beginning, and `interrupt()` returns the answer, as
everywhere in LangGraph. What a tool writes belongs behind its last `interrupt()`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Send

from agents.toolkit.questions.agreement import agreed, yes_or_no
from agents.toolkit.questions.interruption import INTERRUPT
from agents.toolkit.result import Option, Question, ToolResult, in_json, plain

LONGEST_PROMPT = 1_000
"""Characters of a question that the user is shown."""
ASKING = ("question", "prompt", "message", "query", "description", "task", "title")
"""Names under which tools put their question when they interrupt with an object."""
SCRATCHPAD, SEND = "__pregel_scratchpad", "__pregel_send"
"""Where LangGraph's configuration has the answers to a task's interrupts, and what takes note of those used."""


@dataclass
class Answers:
    """What the user has answered to the interrupts of a call, and how many of the answers were taken."""

    values: Sequence[object] = ()
    taken: int = 0

    def next(self) -> int:
        """Return the place of the next interrupt."""
        self.taken += 1
        return self.taken - 1


_ANSWERS: ContextVar[Answers | None] = ContextVar("answers", default=None)


class No(str):
    """A user's no as a tool gets it: the words, which count as false, since many tools only ask whether it is true."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


@contextmanager
def answering(texts: Sequence[str], lang: str) -> Iterator[Answers]:
    """Let the interrupts of the tools that are called during the block have these answers."""
    answers = Answers([_value(text, lang) for text in texts])
    token = _ANSWERS.set(answers)
    try:
        yield answers
    finally:
        _ANSWERS.reset(token)


@contextmanager
def interrupts_answered() -> Iterator[None]:
    """Give the answers to the code of a tool, which runs during the block."""
    config, answers = var_child_runnable_config.get(), _ANSWERS.get()
    inner: Mapping[str, Any] = (config or {}).get("configurable", {})
    if config is None or answers is None or SCRATCHPAD not in inner:
        yield
        return
    pad = replace(
        inner[SCRATCHPAD],
        resume=[*answers.values],
        interrupt_counter=answers.next,
        get_null_resume=lambda consume=False: None,
    )
    own: RunnableConfig = {**config, "configurable": {**inner, SCRATCHPAD: pad, SEND: lambda writes: None}}
    token = var_child_runnable_config.set(own)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def asked_by(interrupted: GraphInterrupt, answers: Answers, call: ToolCall) -> ToolMessage | None:
    """Return the question of a tool that interrupted itself; None if it took no notice of the answers it was given."""
    if answers.taken <= len(answers.values):
        return None
    [interrupts] = interrupted.args
    value = interrupts[0].value if interrupts else ""
    question = Question(_prompt(value), _options(value), kind=INTERRUPT)
    return ToolMessage("", tool_call_id=call["id"], name=call["name"], artifact=ToolResult(question=question))


def handed_off(command: Command[Any], call: ToolCall) -> ToolMessage:
    """Return the result of a tool that goes to another node: whom it names, and what it says of it."""
    targets = [command.goto] if isinstance(command.goto, str | Send) else [*command.goto]
    names = [target.node if isinstance(target, Send) else str(target) for target in targets]
    goto = next(filter(None, names), "?")
    return ToolMessage(f"-> {goto}", tool_call_id=call["id"], name=call["name"], artifact=ToolResult(goto=goto))


def _options(value: object) -> list[Option]:
    """Return what a tool lets the user choose from by its `options`: for each answer the words for the user."""
    named = value.get("options") if isinstance(value, Mapping) else None
    if not isinstance(named, Mapping) or not all(isinstance(text, str) for pair in named.items() for text in pair):
        return []
    return [Option(label, answer) for answer, label in named.items()]


def _prompt(value: object) -> str:
    if isinstance(value, Mapping):
        value = next((value[name] for name in ASKING if isinstance(value.get(name), str)), value)
    try:
        text = value if isinstance(value, str) else in_json(plain(value))
    except ValueError:
        text = str(value)
    return text[:LONGEST_PROMPT] or "?"


def _value(text: str, lang: str) -> object:
    """Return an answer as `interrupt()` returns it: an object that was sent as JSON, else the user's words."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return No(text) if agreed(text, yes_or_no(lang), lang) is False else text
