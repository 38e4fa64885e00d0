"""Find calls that a turn has made before: a model that goes in a circle makes the same one again and again."""

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool

from agents.toolkit.bound_tools import meant
from agents.toolkit.call import Call
from agents.toolkit.context import ToolState
from agents.toolkit.result import Refused
from agents.toolkit.traits import traits_of
from prompts import phrase


def refuse_repeated(call: Call, tools: Mapping[str, BaseTool]) -> None:
    """Refuse a call that was made in this turn already, and is not to be run again.

    A write that was done, and a read that tells the same until something is written, are run once; a write also
    again after the same tool has written something else, since that sets it back. A read of the world outside
    (`volatile`), a question to the user, and a call that failed may answer otherwise the next time: they are run
    `limits.same_calls` times.

    Raises:
        Refused: tells the model so.
    """
    traits, same = call.traits, _signature(call.raw)
    done = failed = 0
    for earlier, answer in _before(call):
        if _signature(earlier) == same:
            done, failed = (done, failed + 1) if answer is not None and answer.status == "error" else (done + 1, failed)
        elif (traits.effect == "read" or earlier["name"] == call.tool.name) and _wrote(earlier, answer, tools):
            done = failed = 0
    # What the user chooses may be another thing each time.
    once = traits.kind == "general" and not (traits.effect == "read" and traits.volatile)
    if (once and done > 0) or done + failed >= call.context.limits.same_calls:
        raise Refused(phrase("tool_repeated", call.lang, tool=call.tool.name))


def this_turn(state: ToolState) -> list[AnyMessage]:
    """Return the replies with calls, and the results, since the user or the speaker last said something."""

    def is_working(message: AnyMessage) -> bool:
        if message.id == state["heard"]["id"]:
            # What the user says may be the result of a tool that asked them.
            return False
        return isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(message.tool_calls))

    return [*takewhile(is_working, reversed(state.get("talk", ())))][::-1]


def _before(call: Call) -> list[tuple[ToolCall, ToolMessage | None]]:
    """Return the calls of the turn before this one, each with its result; those of the same reply have none yet."""
    messages = this_turn(call.state)
    answers = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    calls = [entry for message in messages if isinstance(message, AIMessage) for entry in message.tool_calls]
    places = [place for place, entry in enumerate(calls) if entry["id"] == call.raw["id"]]
    earlier: Sequence[ToolCall] = calls[: places[-1]] if places else calls
    return [(meant(entry), answers.get(entry["id"] or "")) for entry in earlier]


def _wrote(call: ToolCall, answer: ToolMessage | None, tools: Mapping[str, BaseTool]) -> bool:
    tool = tools.get(call["name"])
    is_done = answer is not None and answer.status != "error"
    return is_done and tool is not None and traits_of(tool).effect == "write"


def _signature(call: ToolCall) -> str:
    return json.dumps([call["name"], call["args"]], sort_keys=True, default=str)
