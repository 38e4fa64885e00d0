"""Run tools so that nothing they do ends a turn: every call is announced, guarded, timed, bounded and answered."""

import asyncio
import json
import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import cast

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from langgraph.types import Command

from agents.errors import ContractError
from agents.events import PrivateMessage, ToolEnd, ToolStart
from agents.events.views import MOST_ENTRIES, Notice
from agents.language.identifiers import Aliases
from agents.toolkit.assistant_help import assistant_help
from agents.toolkit.confirmation import question_before
from agents.toolkit.context import Context, emitter
from agents.toolkit.guard import guarded
from agents.toolkit.interrupts import answering, asked_by, handed_off
from agents.toolkit.questions.agreement import CONFIRM
from agents.toolkit.repeats import refuse_repeated
from agents.toolkit.rescue import Rescue, Trouble, call_facts, trouble
from agents.toolkit.result import Failed, Misused, Refused, ToolResult, TooMany, plain, schema_of, written
from agents.toolkit.speaker import Speaker
from agents.toolkit.traits import traits_of
from agents.toolkit.wrap import wrapped
from agents.toolkit.write_once import Execute, ToolReply, failed, run_once
from prompts import phrase

TIMEOUT = 60
"""Seconds a tool may take."""
MOST_NAMED = 40
"""Tools that are named to a model that called one that does not exist."""
LOG = logging.getLogger(__name__)


def tool_node(speaker: Speaker, tools: Sequence[BaseTool]) -> ToolNode:
    """Return a node that runs a speaker's tools and tells the model, in words, what went wrong.

    The artifact of each of its messages is the call's `ToolResult`.
    """
    by_name = {tool.name: tool for tool in tools}
    rescue = Rescue(speaker.name, by_name.get(assistant_help.name, assistant_help))

    async def watch(request: ToolCallRequest, execute: Execute) -> ToolReply:
        call, emit = request.tool_call, emitter(request.runtime)
        facts = call_facts(speaker.name, call)
        emit(ToolStart(**facts))
        begun = time.perf_counter()
        try:
            answer = await _answer(request, execute, by_name)
        finally:
            if sources := request.state.get("sources"):
                sources.pass_by(call["id"] or "")
        message = _message(answer, call["id"])
        if private := _kept_private(message, by_name.get(call["name"]), request):
            emit(private)
        outcome: ToolResult = message.artifact
        ms = round((time.perf_counter() - begun) * 1000)
        if outcome.question is None:
            emit(ToolEnd(**facts, ok=message.status != "error", object=message.text, ms=ms))
            await rescue(request, message, execute)
        if isinstance(outcome.view, Notice):
            emit(outcome.view)
        return answer

    return ToolNode([wrapped(tool) for tool in tools], handle_tool_errors=False, awrap_tool_call=watch)


async def _answer(request: ToolCallRequest, execute: Execute, by_name: dict[str, BaseTool]) -> ToolReply:
    call, lang = request.tool_call, request.state["lang"]
    tool = by_name.get(call["name"])
    if tool is None:
        there_are = ", ".join(_near(call["name"], by_name))
        return trouble(request, "unknown", phrase("tool_unknown", lang, tool=call["name"], known=there_are))
    try:
        async with asyncio.timeout(TIMEOUT):
            refuse_repeated(request, tool, by_name)
            checked = await guarded(request, tool)
            if question := await question_before(checked, tool, call["args"]):
                result = ToolResult(question=question)
                return ToolMessage("", tool_call_id=call["id"], name=call["name"], artifact=result)
            answer = await _run(checked, tool, execute)
        _present(_message(answer, call["id"]), tool, request.state["aliases"])
        return answer
    except GraphBubbleUp:
        raise
    except Refused as refusal:
        kind: Trouble = "arguments" if isinstance(refusal, Misused) else "refused"
        return trouble(request, kind, str(refusal), ToolResult(view=refusal.view))
    except TooMany as crowd:
        about = {"tool": tool.name, "count": crowd.count, "most": MOST_ENTRIES}
        return trouble(request, "refused", phrase("choice_too_many", lang, **about))
    except Failed as failure:
        return trouble(request, "failed", failed(tool, lang), ToolResult(view=failure.view))
    except ToolInvocationError as wrong:
        problem = _problems(wrong)
        return trouble(request, "arguments", phrase("tool_arguments", lang, tool=call["name"], problem=problem))
    except (Exception, asyncio.CancelledError) as failure:
        task = asyncio.current_task()
        if isinstance(failure, asyncio.CancelledError) and task and task.cancelling():
            # It is the turn that is stopped, not something within the tool.
            raise
        LOG.exception("tool %s failed", call["name"])
        return trouble(request, "failed", failed(tool, lang))


def _kept_private(message: ToolMessage, tool: BaseTool | None, request: ToolCallRequest) -> PrivateMessage | None:
    """Take out of a result what is the user's alone and others would read; return it, for the user."""
    context, lang = cast(Context, request.runtime.context), request.state["lang"]
    if tool is None or not traits_of(tool).private or not context.is_shared or message.status == "error":
        return None
    outcome: ToolResult = message.artifact
    if outcome.question and outcome.question.kind == CONFIRM:
        return None
    text = outcome.view.text() if outcome.view else message.text
    if outcome.question:
        options = (
            f"{option.id or number}. {option.label}" for number, option in enumerate(outcome.question.options, 1)
        )
        text = "\n".join([outcome.question.prompt, *options])
    message.content, message.artifact = phrase("shown_privately", lang), ToolResult()
    return PrivateMessage(user=context.user, text=text)


async def _run(request: ToolCallRequest, tool: BaseTool, execute: Execute) -> ToolReply:
    """Run a call; an interrupt becomes a question, a hand-off the name of who leads next."""
    state, call = request.state, request.tool_call
    brake = cast(Context, request.runtime.context).brake
    brake.is_needed = brake.is_needed or traits_of(tool).irreversible

    async def executed(request: ToolCallRequest) -> ToolReply:
        try:
            answer = await execute(request)
        except ParentCommand as passed:
            return handed_off(passed.args[0], call)
        return handed_off(answer, call) if isinstance(answer, Command) and (answer.goto or answer.graph) else answer

    with answering(state.get("answers", ()), state["lang"]) as answers:
        try:
            return await run_once(request, tool, executed)
        except GraphInterrupt as interrupted:
            if question := asked_by(interrupted, answers, call):
                return question
            LOG.error("tool %s interrupts within a graph of its own, which cannot go on with the answer", tool.name)
            raise Failed from None


def _present(message: ToolMessage, tool: BaseTool, aliases: Aliases) -> None:
    """Write what the model reads: the object with small numbers for long identifiers, else the tool's text."""
    result = message.artifact if isinstance(message.artifact, ToolResult) else ToolResult(_parsed(message, tool))
    if result.question is not None and not result.question.kind and traits_of(tool).kind == "general":
        raise ContractError(f"tool {tool.name} asks the user: its traits must say kind='selector' or 'breaker'")
    message.artifact = outcome = replace(result, object=plain(result.object))
    if outcome.object is not None and message.status != "error":
        message.content = written(aliases.hide(outcome.object, schema_of(traits_of(tool).result)))
    elif isinstance(message.content, str) or not message.content:
        # Of an empty list LangChain makes a text of no parts.
        message.content = written(message.content)


def _parsed(message: ToolMessage, tool: BaseTool) -> object:
    """Return the object that a tool wrote as JSON itself; None if it gives sentences."""
    if traits_of(tool).result is None:
        return None
    try:
        data: object = json.loads(message.text)
    except ValueError:
        return None
    return data


def _near(name: str, names: Collection[str]) -> list[str]:
    """Return the names that a wrong one may have meant: all of them, or of many those that look like it."""
    return sorted(names) if len(names) <= MOST_NAMED else get_close_matches(name, names, n=6, cutoff=0.4)


def _problems(wrong: ToolInvocationError) -> str:
    details = wrong.filtered_errors or wrong.source.errors()
    return "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)


def _message(answer: ToolReply, call_id: str | None) -> ToolMessage:
    messages = [answer] if isinstance(answer, ToolMessage) else (answer.update or {})["messages"]
    return next(m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id)
