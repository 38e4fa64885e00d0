"""How tools that write are run: done once, and honest about what was cut off; see `agents.memory.ledger`."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from agents.context import Context
from agents.events.views import stored_view
from agents.memory.ledger import Busy, Doubtful
from agents.memory.ledger_table import How, Write
from agents.toolkit.guard import accepted, check
from agents.toolkit.result import Outcome, Refused
from agents.toolkit.traits import Traits, traits_of
from prompts import phrase

HARMLESS = (Refused, ToolInvocationError, GraphBubbleUp)
"""What a tool that has written nothing raises."""
Reply = ToolMessage | Command[Any]
Execute = Callable[[ToolCallRequest], Awaitable[Reply]]


async def carry_out(request: ToolCallRequest, tool: BaseTool, execute: Execute) -> Reply:
    """Run a tool; one that writes only if it has not done the same before, else return what it answered then.

    Raises:
        Refused: the state of things forbids the write, or nobody knows whether it took effect before.
    """
    found, args = traits_of(tool), accepted(tool, request.tool_call["args"])
    ledger = cast(Context, request.runtime.context).ledger
    if found.effect == "read" or args is None:
        return await execute(request)
    if ledger is None or found.kind != "general" or (found.repeatable and not found.key):
        await check(request, tool, args)
        return await execute(request)
    fresh: list[Reply] = []

    async def perform() -> str | None:
        fresh.append(await execute(request))
        return _kept(fresh[0])

    try:
        write = _write(request, found, args)
        kept = await ledger.once(write, perform, ready=lambda: check(request, tool, args), harmless=HARMLESS)
    except Doubtful:
        raise Refused(phrase("write_unknown", request.state["lang"], tool=tool.name)) from None
    except Busy:
        raise Refused(phrase("write_busy", request.state["lang"], tool=tool.name)) from None
    return fresh[0] if fresh else _again(kept or "", request)


def failed(tool: BaseTool, lang: str) -> str:
    """Tell the model that a tool raised, or took too long."""
    found = traits_of(tool)
    harmless = found.effect == "read" or found.repeatable or found.transaction
    return phrase("tool_failed" if harmless else "write_unknown", lang, tool=tool.name)


def _write(request: ToolCallRequest, found: Traits, args: Mapping[str, Any]) -> Write:
    context, call, state = cast(Context, request.runtime.context), request.tool_call, request.state
    message, [first, *_] = state["heard"]["id"], state["messages"][-1].tool_calls
    # Not every provider gives each call an id of its own, so that the arguments are in every key.
    if found.key:
        named: list[Any] = [call["name"], context.user, {name: args.get(name) for name in found.key}]
    else:
        named = [call["name"], context.thread, message, call["id"], args]
    digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()
    how: How = "transaction" if found.transaction else "again" if found.repeatable else "once"
    return Write(
        key=digest,
        thread=context.thread,
        user=context.user,
        message=message,
        reply=f"{message} {first['id']}",
        how=how,
        lasts=found.again_after.total_seconds() if found.key else 0,
    )


def _kept(answer: Reply) -> str | None:
    """Write an answer down; None if nothing was written: the tool reports an error, or asks the user first."""
    update = dict(answer.update or {}) if isinstance(answer, Command) else {"messages": [answer]}
    [message] = update.pop("messages")
    outcome = message.artifact if isinstance(message.artifact, Outcome) else None
    if message.status == "error" or (outcome and outcome.question):
        return None
    kept = {
        "content": message.content,
        "update": update,
        "outcome": outcome and {"object": outcome.object, "view": outcome.view and outcome.view.body()},
    }
    return json.dumps(to_jsonable_python(kept, fallback=str))


def _again(kept: str, request: ToolCallRequest) -> Reply:
    """Return an answer that was given before, to this call."""
    found, call = json.loads(kept), request.tool_call
    message = ToolMessage(found["content"], tool_call_id=call["id"], name=call["name"])
    if outcome := found["outcome"]:
        message.artifact = Outcome(outcome["object"], outcome["view"] and stored_view(outcome["view"]))
    if not found["update"]:
        return message
    return Command(update={**found["update"], "messages": [message]})
