"""What happens to a tool call, from top to bottom. Nothing that a tool does ends a turn.

A call is announced, then checked: does the tool exist, is it no repetition, are its arguments allowed, has the user
agreed? It runs once, and within a time. Its result, or what went wrong, is written for the model; where the call came
to nothing, help is asked (`agents.toolkit.rescue`).
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Literal, cast

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError

from agents.errors import ContractError
from agents.events import PrivateMessage
from agents.events.views import MOST_ENTRIES, Notice
from agents.hooks import around
from agents.language.identifiers import AliasError
from agents.state.message_notes import notes
from agents.state.talk import Json
from agents.toolkit.call import AroundToolCall, CallOutcome, Execute, RunningCall, ToolReply, refuse_repeated, started
from agents.toolkit.confirmation import question_before, said_by_user
from agents.toolkit.context import Context, emitter
from agents.toolkit.descriptions import parameters, translation_of
from agents.toolkit.questions.options import CONFIRM
from agents.toolkit.rescue import add_help
from agents.toolkit.result import Failed, Misused, Refused, ToolResult, TooMany, jsonable, schema_of, written
from agents.toolkit.shelf import assistant_help
from agents.toolkit.speaker import Speaker
from agents.toolkit.tool_code import answer_to, answering, question_of, wrapped
from agents.toolkit.traits import CLIENT, traits_of
from agents.toolkit.write_once import failed, run_once
from prompts import phrase

TIMEOUT = 60
"""Seconds a tool may take."""
MOST_NAMED = 40
"""Tools that are named to a model that called one that does not exist."""
LONGEST_NUMBER = 4
"""Digits of a wrong number that the model is told."""
Trouble = Literal["unknown", "arguments", "failed", "refused"]
LOG = logging.getLogger(__name__)


def tool_node(
    speaker: Speaker,
    tools: Sequence[BaseTool],
    further: Sequence[str] = (),
    hooks: Sequence[AroundToolCall] = (),
) -> ToolNode:
    """Return a node that runs a speaker's tools and tells the model, in words, what went wrong.

    The artifact of each of its messages is the call's `ToolResult`. `further` are the names of the speaker's tools that
    are run elsewhere. The `hooks` stand around a tool itself: a call that is refused does not reach them.
    """
    by_name = {tool.name: tool for tool in tools}
    help = by_name.get(assistant_help.name, assistant_help)

    async def watch(request: ToolCallRequest, execute: Execute) -> ToolReply:
        call, emit = request.tool_call, emitter(request.runtime)
        start = started(speaker.name, call)
        # A client is told of its call when all that comes before it is done.
        if call["name"] not in by_name or traits_of(by_name[call["name"]]).kind != CLIENT:
            emit(start)
        begun = time.perf_counter()
        try:
            outcome = await _outcome(request, around(hooks, execute), by_name, further)
        finally:
            if sources := request.state.get("sources"):
                sources.pass_by(call["id"] or "")
        message = outcome.message
        if call["id"] in request.state.get("outside", ()) or _is_foreign(by_name.get(call["name"]), request):
            message.additional_kwargs |= notes(foreign=True)
        if private := _kept_private(message, by_name.get(call["name"]), request):
            emit(private)
        if outcome.result.question is None:
            ms = round((time.perf_counter() - begun) * 1000)
            emit(start.ended(ok=message.status != "error", object=message.text, ms=ms))
            await add_help(request, message, execute, speaker=speaker.name, help=help)
        if isinstance(outcome.result.view, Notice):
            emit(outcome.result.view)
        return outcome.reply()

    return ToolNode([wrapped(tool) for tool in tools], handle_tool_errors=False, awrap_tool_call=watch)


async def _outcome(
    request: ToolCallRequest, execute: Execute, tools: Mapping[str, BaseTool], further: Sequence[str]
) -> CallOutcome:
    name, lang = request.tool_call["name"], request.state["lang"]
    tool = tools.get(name)
    if tool is None:
        named = sorted(tools) if len(tools) <= MOST_NAMED else get_close_matches(name, tools, n=6, cutoff=0.4)
        known = ", ".join([*named, *sorted(further)])
        return _trouble(request, "unknown", phrase("tool_unknown", lang, tool=name, known=known))
    try:
        async with asyncio.timeout(TIMEOUT):
            return await _checked_and_run(RunningCall(request, tool, execute), tools)
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
        details = wrong.filtered_errors or wrong.source.errors()
        problem = "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)
        return _trouble(request, "arguments", phrase("tool_arguments", lang, tool=name, problem=problem))
    except (Exception, asyncio.CancelledError) as failure:
        task = asyncio.current_task()
        if isinstance(failure, asyncio.CancelledError) and task and task.cancelling():
            # It is the turn that is stopped, not something within the tool.
            raise
        LOG.exception("tool %s failed", name)
        return _trouble(request, "failed", failed(tool, lang))


async def _checked_and_run(call: RunningCall, tools: Mapping[str, BaseTool]) -> CallOutcome:
    refuse_repeated(call, tools)
    real = RunningCall(call.request.override(tool_call={**call.raw, "args": _real_args(call)}), call.tool, call.execute)
    if question := await question_before(real, call.raw["args"]):
        return CallOutcome(answer_to(call.raw, ToolResult(question=question)))
    brake = call.context.brake
    brake.is_needed = brake.is_needed or call.traits.irreversible
    agreed = call.state.get("agreed")
    with answering(agreed.get("answers", []) if agreed else [], call.lang):
        try:
            outcome = await run_once(real)
        except GraphInterrupt as interrupted:
            outcome = CallOutcome(question_of(interrupted, call.raw))
    _write_for_model(outcome, call)
    return outcome


def _real_args(call: RunningCall) -> Json:
    """Return the arguments with real identifiers in place of the model's numbers.

    Raises Misused if a model may not set an argument or an identifier is unknown, Refused without the permission.
    """
    translation, lang = translation_of(call.tool), call.lang
    written = translation.restored(call.raw["args"])
    if forged := translation.strange(written):
        allowed = ", ".join(translation.schema["properties"]) or "-"
        raise Misused(phrase("tool_forged", lang, names=", ".join(forged), allowed=allowed))
    if call.traits.permission and call.traits.permission not in call.context.permissions:
        raise Refused(phrase("tool_forbidden", lang, tool=call.tool.name))
    try:
        args: Json = call.state["aliases"].restore(written, parameters(call.tool), said_by_user(call.state))
    except AliasError as wrong:
        numbers, given = ", ".join(wrong.numbers[-20:]) or "-", str(wrong.argument)
        # A number may be told again; what looks like an identifier stays hidden.
        given = given if given.isdecimal() and len(given) <= LONGEST_NUMBER else "…"
        raise Misused(phrase("alias_unknown", lang, kind=wrong.kind, given=given, known=numbers)) from None
    return args


def _is_foreign(tool: BaseTool | None, request: ToolCallRequest) -> bool:
    return tool is not None and traits_of(tool).is_foreign(cast(Context, request.runtime.context))


def _told(call: RunningCall, result: ToolResult) -> list[str]:
    """Return what people read or wrote: what a result shows, and what was said before."""
    talk_texts = [
        message.text for message in call.state.get("talk", ()) if isinstance(message, HumanMessage | AIMessage)
    ]
    return [*([result.view.text()] if result.view else []), call.state["heard"]["text"] or "", *talk_texts]


def _write_for_model(outcome: CallOutcome, call: RunningCall) -> None:
    """Write what the model reads: the object with small numbers for long identifiers, else the tool's text."""
    message, traits = outcome.message, call.traits
    result = message.artifact if isinstance(message.artifact, ToolResult) else ToolResult(_parsed(message, call))
    if result.question is not None and not result.question.kind and traits.kind == "general":
        raise ContractError(f"tool {call.tool.name} asks the user: its traits must say kind='selector' or 'breaker'")
    message.artifact = result = replace(result, object=jsonable(result.object))
    if result.object is not None and message.status != "error":
        hidden = call.state["aliases"].hide(result.object, schema_of(traits.result), lambda: _told(call, result))
        message.content = written(hidden)
    elif isinstance(message.content, str) or not message.content:
        # LangChain makes a text of no parts out of an empty list.
        message.content = written(message.content)


def _parsed(message: ToolMessage, call: RunningCall) -> object:
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
    text = result.question.text() if result.question else result.view.text() if result.view else result.taken
    private = PrivateMessage(user=context.user, text=text or message.text)
    message.content, message.artifact = phrase("shown_privately", lang), ToolResult()
    message.additional_kwargs |= notes(seen="")
    return private


def _trouble(request: ToolCallRequest, kind: Trouble, text: str, result: ToolResult | None = None) -> CallOutcome:
    message = answer_to(request.tool_call, result or ToolResult(), written(text))
    message.status, message.additional_kwargs = "error", notes(trouble=kind)
    return CallOutcome(message)
