"""Run each write once, and report a write whose outcome is unknown; see `agents.memory.ledger`."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from agents.events.views import stored_view
from agents.memory.ledger import Busy, Doubtful
from agents.memory.ledger_table import How, Write
from agents.state.talk import Json
from agents.toolkit.context import Context
from agents.toolkit.guard import accepted, check_state
from agents.toolkit.result import Refused, ToolResult
from agents.toolkit.runtime import Runtime
from agents.toolkit.traits import Traits, traits_of
from agents.toolkit.undo import write_of
from prompts import phrase

HARMLESS = (Refused, ToolInvocationError, GraphBubbleUp)
"""What a tool that has written nothing raises."""
ToolReply = ToolMessage | Command[str]
Execute = Callable[[ToolCallRequest], Awaitable[ToolReply]]


async def run_once(request: ToolCallRequest, tool: BaseTool, execute: Execute) -> ToolReply:
    """Run a tool; one that writes only if it has not done the same before, else return what it answered then.

    Raises:
        Refused: the state of things forbids the write, or nobody knows whether it took effect before.
    """
    traits, args = traits_of(tool), accepted(tool, request.tool_call["args"])
    if traits.effect == "read" or args is None:
        return await execute(request)
    ledger = cast(Context, request.runtime.context).ledger
    if ledger is None or traits.kind != "general" or (traits.repeatable and not traits.key):
        await check_state(request, tool, args)
        answer = await execute(request)
        await _note(request, tool, args, answer)
        return answer
    write, fresh = _write(request, traits, args), list[ToolReply]()

    async def perform() -> str | None:
        fresh.append(await execute(request))
        if not traits.transaction:
            # Before the outcome: a write that is known to be done can be taken back.
            await _note(request, tool, args, fresh[0], write.key)
        return _stored(fresh[0])

    try:
        text = await ledger.once(write, perform, ready=lambda: check_state(request, tool, args), harmless=HARMLESS)
    except Doubtful:
        raise Refused(phrase("write_unknown", request.state["lang"], tool=tool.name)) from None
    except Busy:
        raise Refused(phrase("write_busy", request.state["lang"], tool=tool.name)) from None
    answer = fresh[0] if fresh else _again(text or "", request)
    if traits.transaction and (fresh or not traits.key):
        # The tool had the file's write lock until now. What a key tells to be done may be of an earlier message.
        await _note(request, tool, args, answer, write.key)
    return answer


async def _note(request: ToolCallRequest, tool: BaseTool, args: Json, answer: ToolReply, key: str = "") -> None:
    """Enter a write that was done in the undo log, unless the tool enters its changes itself.

    `key` is that of the write in the ledger.
    """
    runtime = cast(Runtime, request.runtime)
    if runtime.context.undo is None or traits_of(tool).items:
        return
    update = answer.update or {} if isinstance(answer, Command) else {"messages": [answer]}
    message = next(message for message in update["messages"] if isinstance(message, ToolMessage))
    outcome = message.artifact if isinstance(message.artifact, ToolResult) else ToolResult()
    if message.status == "error" or outcome.question:
        return
    record = {
        "key": key,
        "args": args,
        "object": to_jsonable_python(outcome.object, fallback=str),
        "text": message.text,
    }
    await runtime.context.undo.note(write_of(runtime), record)


def failed(tool: BaseTool, lang: str) -> str:
    """Tell the model that a tool raised, or took too long."""
    traits = traits_of(tool)
    harmless = traits.effect == "read" or traits.repeatable or traits.transaction
    return phrase("tool_failed" if harmless else "write_unknown", lang, tool=tool.name)


def _write(request: ToolCallRequest, traits: Traits, args: Mapping[str, object]) -> Write:
    context, call, state = cast(Context, request.runtime.context), request.tool_call, request.state
    message, [first, *_] = state["heard"]["id"], state["messages"][-1].tool_calls
    # Not every provider gives each call an id of its own, so that the arguments are in every key.
    if traits.key:
        parts: list[object] = [call["name"], context.user, {name: args.get(name) for name in traits.key}]
    else:
        parts = [call["name"], context.thread, message, call["id"], args]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    how: How = "transaction" if traits.transaction else "again" if traits.repeatable else "once"
    return Write(
        key=digest,
        thread=context.thread,
        user=context.user,
        message=message,
        reply=f"{message} {first['id']}",
        how=how,
        lasts=traits.again_after.total_seconds() if traits.key else 0,
    )


def _stored(answer: ToolReply) -> str | None:
    """Write an answer down; None if nothing was written: the tool reports an error, or asks the user first."""
    update = dict(answer.update or {}) if isinstance(answer, Command) else {"messages": [answer]}
    [message] = update.pop("messages")
    outcome = message.artifact if isinstance(message.artifact, ToolResult) else None
    if message.status == "error" or (outcome and outcome.question):
        return None
    stored = {
        "content": message.content,
        "update": update,
        "outcome": outcome and {"object": outcome.object, "view": outcome.view and outcome.view.body()},
    }
    return json.dumps(to_jsonable_python(stored, fallback=str))


def _again(text: str, request: ToolCallRequest) -> ToolReply:
    """Return an answer that was given before, to this call."""
    stored, call = json.loads(text), request.tool_call
    message = ToolMessage(stored["content"], tool_call_id=call["id"], name=call["name"])
    if outcome := stored["outcome"]:
        message.artifact = ToolResult(outcome["object"], outcome["view"] and stored_view(outcome["view"]))
    if not stored["update"]:
        return message
    return Command(update={**stored["update"], "messages": [message]})
