"""The policies around a tool call: `ToolPolicies.in_order` is the list. No error of a tool ends a turn.

A policy has LangChain's own form (`wrap_tool_call`): it gets the call and the handler of all policies below it.
"""

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from agents.foreign import contained
from agents.hooks import around
from agents.language.identifiers import AliasError
from agents.language.text.clean import whole
from agents.state.message_notes import notes
from agents.state.speaker_state import Json
from agents.toolkit.call import AroundToolCall, Execute, RunningCall, ToolReply, message_of, refuse_repeated, started
from agents.toolkit.confirmation import labelled, question_before, said_by_user
from agents.toolkit.context import Context, emitter
from agents.toolkit.descriptions import parameters, translation_of
from agents.toolkit.questions.form import reason_of
from agents.toolkit.questions.options import CONFIRM
from agents.toolkit.rescue import add_help
from agents.toolkit.result import Failed, Misused, Refused, ToolResult, TooMany, jsonable, schema_of, written
from agents.toolkit.speaker import Speaker
from agents.toolkit.tool_code import answer_to, answering, question_of, wrapped
from agents.toolkit.tool_search import assistant_help
from agents.toolkit.traits import CLIENT, traits_of
from agents.toolkit.write_once import failed, run_once
from prompts import phrase

TIMEOUT = 60
"""The most seconds of a tool call."""
MOST_NAMED = 40
"""The most tools to name to a model that called an unknown one."""
LONGEST_NUMBER = 4
"""The most digits of a wrong number that the model sees."""
Trouble = Literal["unknown", "arguments", "failed", "refused"]
LOG = logging.getLogger(__name__)


def tool_node(
    speaker: Speaker,
    tools: Sequence[BaseTool],
    further: Sequence[str] = (),
    hooks: Sequence[AroundToolCall] = (),
) -> ToolNode:
    """Return a node that runs a speaker's tools and tells the model errors in words.

    The artifact of each of its messages is the call's `ToolResult`. `further` are the names of the speaker's tools that
    are run elsewhere. The `hooks` are those of plug-ins.
    """
    policies = ToolPolicies(speaker.name, further, hooks).in_order()

    async def run(request: ToolCallRequest, execute: Execute) -> ToolReply:
        return await around(policies, execute)(request)

    return ToolNode([wrapped(tool) for tool in tools], handle_tool_errors=False, awrap_tool_call=run)


@dataclass(frozen=True)
class ToolPolicies:
    """The policies of the calls of a speaker; `further` and `hooks` are those of `tool_node`."""

    speaker: str
    further: Sequence[str] = ()
    hooks: Sequence[AroundToolCall] = ()

    def in_order(self) -> tuple[AroundToolCall, ...]:
        """Return all policies around a tool, the outermost first."""
        return (
            notice,
            rescue,
            self.events,
            privacy,
            origin,
            trouble,
            self.existence,
            time_limit,
            repetition,
            arguments,
            permission,
            identifiers,
            confirmation,
            wording,
            interrupts,
            write_once,
            containment,
            *self.hooks,
        )

    async def events(self, request: ToolCallRequest, handler: Execute) -> ToolReply:
        """Tell the door the beginning of a call, and its end unless it waits for the user."""
        start, emit, begun = started(self.speaker, request.tool_call), emitter(request.runtime), time.perf_counter()
        # A client gets its call when all calls before it are done.
        if request.tool is None or traits_of(request.tool).kind != CLIENT:
            emit(start)
        try:
            reply = await handler(request)
        finally:
            if sources := request.state.get("sources"):
                sources.finish(request.tool_call["id"] or "")
        message = message_of(reply)
        if message.artifact.question is None:
            ms = round((time.perf_counter() - begun) * 1000)
            emit(start.ended(ok=message.status != "error", object=message.text, ms=ms))
        return reply

    async def existence(self, request: ToolCallRequest, handler: Execute) -> ToolReply:
        """Answer a call of an unknown tool with the names of the existing tools."""
        if request.tool is not None:
            return await handler(request)
        name, names = request.tool_call["name"], [tool.name for tool in request.runtime.tools]
        named = sorted(names) if len(names) <= MOST_NAMED else get_close_matches(name, names, n=6, cutoff=0.4)
        tool_names = ", ".join([*named, *sorted(self.further)])
        return _trouble(request, "unknown", phrase("tool_unknown", request.state["lang"], tool=name, known=tool_names))


async def notice(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Show the user a tool's notice beside the answer."""
    reply = await handler(request)
    if isinstance(view := message_of(reply).artifact.view, Notice):
        emitter(request.runtime)(view)
    return reply


async def rescue(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Ask help for a failed call; the call of help passes the policies below, too."""
    reply = await handler(request)
    own = (tool for tool in request.runtime.tools if tool.name == assistant_help.name)
    await add_help(request, message_of(reply), handler, next(own, assistant_help))
    return reply


async def privacy(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Replace a private result where others read along; the user alone gets it."""
    reply = await handler(request)
    message, context, lang = message_of(reply), _context(request), request.state["lang"]
    result: ToolResult = message.artifact
    is_private = request.tool is not None and traits_of(request.tool).private
    is_consent = result.question is not None and result.question.kind == CONFIRM
    if is_private and context.is_shared and message.status != "error" and not is_consent:
        text = result.question.text() if result.question else result.view.text() if result.view else result.taken
        emitter(request.runtime)(PrivateMessage(user=context.user, text=text or message.text))
        message.content, message.artifact = phrase("shown_privately", lang), ToolResult()
        message.additional_kwargs |= notes(seen="")
    return reply


async def origin(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Mark a result with foreign text."""
    reply = await handler(request)
    is_foreign = request.tool is not None and traits_of(request.tool).is_foreign(_context(request))
    if is_foreign or request.tool_call["id"] in request.state.get("outside", ()):
        message_of(reply).additional_kwargs |= notes(foreign=True)
    return reply


async def trouble(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Tell the model an error in words."""
    name, lang = request.tool_call["name"], request.state["lang"]
    try:
        return await handler(request)
    except GraphBubbleUp:
        raise
    except Refused as refusal:
        kind: Trouble = "arguments" if isinstance(refusal, Misused) else "refused"
        return _trouble(request, kind, str(refusal), ToolResult(view=refusal.view))
    except TooMany as crowd:
        text = phrase("choice_too_many", lang, tool=name, count=crowd.count, most=MOST_ENTRIES)
        return _trouble(request, "refused", text)
    except Failed as failure:
        return _trouble(request, "failed", failed(_tool(request), lang), ToolResult(view=failure.view))
    except ToolInvocationError as wrong:
        details = wrong.filtered_errors or wrong.source.errors()
        problem = "; ".join(f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)
        reply = _trouble(request, "arguments", phrase("tool_arguments", lang, tool=name, problem=problem))
        labels = [labelled(str(next(iter(detail["loc"]), "")), _tool(request), request.state) for detail in details]
        unfit = (f"{label}: {reason_of(detail, lang)}" for label, detail in zip(labels, details, strict=True))
        reply.additional_kwargs |= notes(unfit="; ".join(dict.fromkeys(unfit)))
        return reply
    except Exception:
        LOG.exception("tool %s failed", name)
        return _trouble(request, "failed", failed(_tool(request), lang))


async def time_limit(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Give up a call that takes too long."""
    async with asyncio.timeout(TIMEOUT):
        return await handler(request)


async def repetition(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Refuse a call that was made in this turn already."""
    refuse_repeated(RunningCall(request, handler), {tool.name: tool for tool in request.runtime.tools})
    return await handler(request)


async def arguments(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Translate the arguments to the tool's own form; refuse those that a model may not set."""
    translation = translation_of(_tool(request))
    written = translation.restored(request.tool_call["args"])
    if forged := translation.strange(written):
        allowed = ", ".join(translation.schema["properties"]) or "-"
        raise Misused(phrase("tool_forged", request.state["lang"], names=", ".join(forged), allowed=allowed))
    return await handler(_with_args(request, written))


async def permission(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Refuse a tool for which the user lacks the permission."""
    needed = traits_of(_tool(request)).permission
    if needed and needed not in _context(request).permissions:
        raise Refused(phrase("tool_forbidden", request.state["lang"], tool=request.tool_call["name"]))
    return await handler(request)


async def identifiers(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Put real identifiers in place of the model's numbers; refuse unknown ones."""
    args, state = request.tool_call["args"], request.state
    try:
        real: Json = state["aliases"].restore(args, parameters(_tool(request)), said_by_user(state))
    except AliasError as wrong:
        numbers, given = ", ".join(wrong.numbers[-20:]) or "-", str(wrong.argument)
        # A number may be shown again; a text that looks like an identifier stays hidden.
        given = given if given.isdecimal() and len(given) <= LONGEST_NUMBER else "…"
        raise Misused(phrase("alias_unknown", state["lang"], kind=wrong.kind, given=given, known=numbers)) from None
    return await handler(_with_args(request, real))


async def confirmation(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Ask the user before a call that they may not want."""
    call = request.tool_call
    made = {it["id"]: it["args"] for it in request.state["messages"][0].tool_calls}
    if question := await question_before(RunningCall(request, handler), made.get(call["id"], call["args"])):
        return answer_to(call, ToolResult(question=question))
    return await handler(request)


async def wording(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Write the result for the model: the object with small numbers for long identifiers, else the tool's text."""
    reply = await handler(request)
    message, tool, state = message_of(reply), _tool(request), request.state
    traits = traits_of(tool)
    result = message.artifact if isinstance(message.artifact, ToolResult) else ToolResult(_parsed(message, tool))
    if result.question is not None and not result.question.kind and traits.kind == "general":
        raise ContractError(f"tool {tool.name} asks the user: its traits must say kind='selector' or 'breaker'")
    message.artifact = result = replace(result, object=jsonable(result.object))
    if result.object is not None and message.status != "error":
        hidden = state["aliases"].hide(result.object, schema_of(traits.result), lambda: _told(request, result))
        message.content = written(hidden)
    else:
        # LangChain makes a text of no parts out of an empty list.
        is_text = isinstance(message.content, str) or not message.content
        message.content = written(message.content) if is_text else whole(message.content)
    return reply


async def interrupts(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Make a question of an `interrupt()` within the tool; once the user has answered, it returns the answer."""
    agreed = request.state.get("agreed")
    with answering(agreed.get("answers", []) if agreed else [], request.state["lang"]):
        try:
            return await handler(request)
        except GraphInterrupt as interrupted:
            return question_of(interrupted, request.tool_call)


async def write_once(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Do each write once; after an irreversible one, the turn may stop before a model is asked again."""
    call = RunningCall(request, handler)
    call.context.stop_request.is_needed |= call.traits.irreversible
    return (await run_once(call)).reply()


async def containment(request: ToolCallRequest, handler: Execute) -> ToolReply:
    """Let a tool or a hook raise exceptions only, and not `SystemExit`."""
    with contained():
        return await handler(request)


def _context(request: ToolCallRequest) -> Context:
    return cast(Context, request.runtime.context)


def _tool(request: ToolCallRequest) -> BaseTool:
    """Return the tool of a call, which exists."""
    assert request.tool is not None  # `existence` answers the other calls
    return request.tool


def _with_args(request: ToolCallRequest, args: Json) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": args})


def _told(request: ToolCallRequest, result: ToolResult) -> list[str]:
    """Return texts that people have read or written: a result's view, and the messages before."""
    state = request.state
    talk_texts = [message.text for message in state.get("talk", ()) if isinstance(message, HumanMessage | AIMessage)]
    return [*([result.view.text()] if result.view else []), state["heard"]["text"] or "", *talk_texts]


def _parsed(message: ToolMessage, tool: BaseTool) -> object:
    try:
        return json.loads(message.text) if traits_of(tool).result is not None else None
    except ValueError:
        return None


def _trouble(request: ToolCallRequest, kind: Trouble, text: str, result: ToolResult | None = None) -> ToolMessage:
    message = answer_to(request.tool_call, result or ToolResult(), written(text))
    message.status, message.additional_kwargs = "error", notes(trouble=kind)
    return message
