"""What happens to a tool call, from top to bottom. Nothing that a tool does ends a turn.

A call is announced, then checked: does the tool exist, is it no repetition, are its arguments allowed, has the user
agreed? It runs once, and within a time. Its result, or what went wrong, is written for the model; where the call came
to nothing, help is asked.
"""

import asyncio
import json
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import cast

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError

from agents.errors import ContractError
from agents.events import PrivateMessage, ToolEnd, ToolStart
from agents.events.views import MOST_ENTRIES, Notice
from agents.language.identifiers import AliasError
from agents.state.message_notes import notes
from agents.state.talk import Json
from agents.toolkit.bound_tools import assistant_help
from agents.toolkit.call import Call, Execute, Outcome, ToolReply, call_facts
from agents.toolkit.confirmation import question_before
from agents.toolkit.context import Context, ToolState, emitter
from agents.toolkit.descriptions import parameters
from agents.toolkit.interrupts import answering, question_of
from agents.toolkit.questions import ANSWERS
from agents.toolkit.questions.options import CONFIRM
from agents.toolkit.repeats import refuse_repeated
from agents.toolkit.rescue import Trouble, add_help
from agents.toolkit.result import Failed, Misused, Refused, ToolResult, TooMany, plain, schema_of, written
from agents.toolkit.speaker import Speaker
from agents.toolkit.traits import traits_of
from agents.toolkit.wrap import wrapped
from agents.toolkit.write_once import failed, run_once
from prompts import phrase

TIMEOUT = 60
"""Seconds a tool may take."""
MOST_NAMED = 40
"""Tools that are named to a model that called one that does not exist."""
LONGEST_IDENTIFIER = 100
"""Characters of a wrong identifier that the model is told."""
LOG = logging.getLogger(__name__)


def tool_node(speaker: Speaker, tools: Sequence[BaseTool]) -> ToolNode:
    """Return a node that runs a speaker's tools and tells the model, in words, what went wrong.

    The artifact of each of its messages is the call's `ToolResult`.
    """
    by_name = {tool.name: tool for tool in tools}
    help = by_name.get(assistant_help.name, assistant_help)

    async def watch(request: ToolCallRequest, execute: Execute) -> ToolReply:
        call, emit = request.tool_call, emitter(request.runtime)
        facts = call_facts(speaker.name, call)
        emit(ToolStart(**facts))
        begun = time.perf_counter()
        try:
            outcome = await _outcome(request, execute, by_name)
        finally:
            if sources := request.state.get("sources"):
                sources.pass_by(call["id"] or "")
        message = outcome.message
        if private := _kept_private(message, by_name.get(call["name"]), request):
            emit(private)
        if outcome.result.question is None:
            ms = round((time.perf_counter() - begun) * 1000)
            emit(ToolEnd(**facts, ok=message.status != "error", object=message.text, ms=ms))
            await add_help(request, message, execute, speaker=speaker.name, help=help)
        if isinstance(outcome.result.view, Notice):
            emit(outcome.result.view)
        return outcome.reply()

    return ToolNode([wrapped(tool) for tool in tools], handle_tool_errors=False, awrap_tool_call=watch)


async def _outcome(request: ToolCallRequest, execute: Execute, tools: Mapping[str, BaseTool]) -> Outcome:
    name, lang = request.tool_call["name"], request.state["lang"]
    tool = tools.get(name)
    if tool is None:
        named = ", ".join(_near(name, tools))
        return _trouble(request, "unknown", phrase("tool_unknown", lang, tool=name, known=named))
    try:
        async with asyncio.timeout(TIMEOUT):
            return await _checked_and_run(Call(request, tool, execute), tools)
    except GraphBubbleUp:
        raise
    except Refused as refusal:
        kind: Trouble = "arguments" if isinstance(refusal, Misused) else "refused"
        return _trouble(request, kind, str(refusal), ToolResult(view=refusal.view))
    except TooMany as crowd:
        about = {"tool": tool.name, "count": crowd.count, "most": MOST_ENTRIES}
        return _trouble(request, "refused", phrase("choice_too_many", lang, **about))
    except Failed as failure:
        return _trouble(request, "failed", failed(tool, lang), ToolResult(view=failure.view))
    except ToolInvocationError as wrong:
        return _trouble(request, "arguments", phrase("tool_arguments", lang, tool=name, problem=_problems(wrong)))
    except (Exception, asyncio.CancelledError) as failure:
        task = asyncio.current_task()
        if isinstance(failure, asyncio.CancelledError) and task and task.cancelling():
            # It is the turn that is stopped, not something within the tool.
            raise
        LOG.exception("tool %s failed", name)
        return _trouble(request, "failed", failed(tool, lang))


async def _checked_and_run(call: Call, tools: Mapping[str, BaseTool]) -> Outcome:
    refuse_repeated(call, tools)
    real = call.with_args(_real_args(call))
    if question := await question_before(real, call.raw["args"]):
        artifact = ToolResult(question=question)
        return Outcome(ToolMessage("", tool_call_id=call.raw["id"], name=call.raw["name"], artifact=artifact))
    brake = call.context.brake
    brake.is_needed = brake.is_needed or call.traits.irreversible
    with answering(call.state.get("answers", ()), call.lang):
        try:
            outcome = await run_once(real)
        except GraphInterrupt as interrupted:
            outcome = Outcome(question_of(interrupted, call.raw))
    _write_for_model(outcome, call)
    return outcome


def _real_args(call: Call) -> Json:
    """Return the arguments with real identifiers in place of the model's numbers.

    Raises:
        Misused: a model may not set an argument, or an identifier is unknown.
        Refused: the user lacks the permission.
    """
    schema, lang = parameters(call.tool), call.lang
    allowed = schema.get("properties", {})
    if forged := sorted(set(call.raw["args"]) - set(allowed)):
        raise Misused(phrase("tool_forged", lang, names=", ".join(forged), allowed=", ".join(allowed) or "-"))
    if call.traits.permission and call.traits.permission not in call.context.permissions:
        raise Refused(phrase("tool_forbidden", lang, tool=call.tool.name))
    try:
        args: Json = call.state["aliases"].restore(call.raw["args"], schema, _said_by_user(call.state))
    except AliasError as wrong:
        numbers, identifier = ", ".join(wrong.numbers[-20:]) or "-", str(wrong.argument)[:LONGEST_IDENTIFIER]
        raise Misused(phrase("alias_unknown", lang, kind=wrong.kind, given=identifier, known=numbers)) from None
    return args


def _said_by_user(state: ToolState) -> list[str]:
    """Return the user's texts in the speaker's history and now, without those of buttons and pages."""
    heard = state["heard"]
    now = [] if heard["source"] in ANSWERS else [heard["text"] or ""]
    return [*now, *(message.text for message in state.get("talk", ()) if isinstance(message, HumanMessage))]


def _write_for_model(outcome: Outcome, call: Call) -> None:
    """Write what the model reads: the object with small numbers for long identifiers, else the tool's text."""
    message, traits = outcome.message, call.traits
    result = message.artifact if isinstance(message.artifact, ToolResult) else ToolResult(_parsed(message, call))
    if result.question is not None and not result.question.kind and traits.kind == "general":
        raise ContractError(f"tool {call.tool.name} asks the user: its traits must say kind='selector' or 'breaker'")
    message.artifact = result = replace(result, object=plain(result.object))
    if result.object is not None and message.status != "error":
        message.content = written(call.state["aliases"].hide(result.object, schema_of(traits.result)))
    elif isinstance(message.content, str) or not message.content:
        # Of an empty list LangChain makes a text of no parts.
        message.content = written(message.content)


def _parsed(message: ToolMessage, call: Call) -> object:
    try:
        return json.loads(message.text) if call.traits.result is not None else None
    except ValueError:
        return None


def _kept_private(message: ToolMessage, tool: BaseTool | None, request: ToolCallRequest) -> PrivateMessage | None:
    """Take out of a result what is the user's alone and others would read; return it, for the user."""
    context, lang = cast(Context, request.runtime.context), request.state["lang"]
    if tool is None or not traits_of(tool).private or not context.is_shared or message.status == "error":
        return None
    result: ToolResult = message.artifact
    if result.question and result.question.kind == CONFIRM:
        return None
    text = result.view.text() if result.view else message.text
    if result.question:
        options = enumerate(result.question.options, 1)
        text = "\n".join([result.question.prompt, *(f"{each.id or number}. {each.label}" for number, each in options)])
    message.content, message.artifact = phrase("shown_privately", lang), ToolResult()
    return PrivateMessage(user=context.user, text=text)


def _trouble(request: ToolCallRequest, kind: Trouble, text: str, result: ToolResult | None = None) -> Outcome:
    call = request.tool_call
    message = ToolMessage(
        written(text),
        tool_call_id=call["id"],
        name=call["name"],
        status="error",
        artifact=result or ToolResult(),
        additional_kwargs=notes(trouble=kind),
    )
    return Outcome(message)


def _near(name: str, names: Collection[str]) -> list[str]:
    """Return the names that a wrong one may have meant: all of them, or of many those that look like it."""
    return sorted(names) if len(names) <= MOST_NAMED else get_close_matches(name, names, n=6, cutoff=0.4)


def _problems(wrong: ToolInvocationError) -> str:
    details = wrong.filtered_errors or wrong.source.errors()
    return "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)
