"""Run each write once, and report a write whose outcome is unknown; see `agents.memory.ledger`."""

import hashlib
import json
from collections.abc import Mapping

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolInvocationError
from pydantic_core import to_jsonable_python

from agents.events.views import stored_view
from agents.memory.ledger import Doubtful, How, Write, WriteBusy
from agents.state.speaker_state import Json
from agents.toolkit.call import CallOutcome, RunningCall
from agents.toolkit.result import Refused, ToolResult
from agents.toolkit.traits import traits_of
from agents.toolkit.undo import write_of
from prompts import phrase

HARMLESS = (Refused, ToolInvocationError, GraphBubbleUp)
"""Errors of a tool that has written nothing."""


async def run_once(call: RunningCall) -> CallOutcome:
    """Run a tool; for a write that was done before, return its former answer instead.

    Raises Refused if the state check forbids the write, or nobody knows whether it took effect before.
    """
    traits, args, ledger = call.traits, call.accepted, call.context.ledger
    if traits.effect == "read" or args is None:
        return await call.run()
    for done in call.state.get("done", []):
        if (done["tool"], done["args"]) == (call.raw["name"], args):
            return CallOutcome(ToolMessage(done["text"], tool_call_id=call.raw["id"], name=call.raw["name"]), {})
    if ledger is None or traits.kind != "general" or (traits.repeatable and not traits.key):
        await _check_state(call, args)
        outcome = await call.run()
        await _note(call, args, outcome)
        return outcome
    write, fresh = _write(call, args), list[CallOutcome]()

    async def perform() -> str | None:
        fresh.append(await call.run())
        if not traits.transaction:
            # Before the outcome: a write that is known to be done can be taken back.
            await _note(call, args, fresh[0], write.key)
        return _stored(fresh[0])

    try:
        text = await ledger.once(write, perform, ready=lambda: _check_state(call, args), harmless=HARMLESS)
    except (Doubtful, WriteBusy) as failure:
        name = "write_busy" if isinstance(failure, WriteBusy) else "write_unknown"
        raise Refused(phrase(name, call.lang, tool=call.tool.name)) from None
    outcome = fresh[0] if fresh else _again(text or "", call)
    if traits.transaction and (fresh or not traits.key):
        # The tool had the file's write lock until now. A write with a key may have been done for an earlier message.
        await _note(call, args, outcome, write.key)
    return outcome


def failed(tool: BaseTool, lang: str) -> str:
    """Tell the model that a tool raised, or took too long."""
    traits = traits_of(tool)
    harmless = traits.effect == "read" or traits.repeatable or traits.transaction
    return phrase("tool_failed" if harmless else "write_unknown", lang, tool=tool.name)


async def _check_state(call: RunningCall, args: Json) -> None:
    if call.traits.check and (problem := await call.traits.check(args, call.runtime)):
        raise Refused(problem)


async def _note(call: RunningCall, args: Json, outcome: CallOutcome, key: str = "") -> None:
    """Enter a write that was done in the undo log, unless the tool does it itself; `key` is that of the ledger.

    Nobody can take an undo back.
    """
    undo = call.context.undo
    if undo is None or call.traits.items or not outcome.is_done or "undoing" in outcome.update:
        return
    data = to_jsonable_python(outcome.result.object, fallback=str)
    record = {"key": key, "args": args, "object": data, "text": outcome.message.text}
    await undo.note(write_of(call.runtime), record)


def _write(call: RunningCall, args: Mapping[str, object]) -> Write:
    context, traits, name = call.context, call.traits, call.raw["name"]
    message = call.state["heard"]["id"]
    # Not every provider gives each call an id of its own, so the arguments are in every key.
    if traits.key:
        parts: list[object] = [name, context.user, {each: args.get(each) for each in traits.key}]
    else:
        parts = [name, context.thread, message, call.raw["id"], args]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    how: How = "transaction" if traits.transaction else "again" if traits.repeatable else "once"
    return Write(
        key=digest,
        thread=context.thread,
        user=context.user,
        message=message,
        reply=f"{message} {call.state['reply']}",
        how=how,
        lasts=traits.again_after.total_seconds() if traits.key else 0,
    )


def _stored(outcome: CallOutcome) -> str | None:
    if not outcome.is_done:
        return None
    result = outcome.message.artifact if isinstance(outcome.message.artifact, ToolResult) else None
    stored = {
        "content": outcome.message.content,
        "update": outcome.update,
        "outcome": result and {"object": result.object, "view": result.view and result.view.body()},
    }
    return json.dumps(to_jsonable_python(stored, fallback=str))


def _again(text: str, call: RunningCall) -> CallOutcome:
    stored = json.loads(text)
    message = ToolMessage(stored["content"], tool_call_id=call.raw["id"], name=call.raw["name"])
    if result := stored["outcome"]:
        message.artifact = ToolResult(result["object"], result["view"] and stored_view(result["view"]))
    return CallOutcome(message, stored["update"])
