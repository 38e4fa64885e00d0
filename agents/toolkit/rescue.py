"""Ask for help after a failed tool call, whether or not the model asks for it.

`assistant_help` is called when the tool is unknown, when it fails, and when its arguments are wrong twice in a row.
The question is made of the user's own words (`agents.toolkit.help_query`). The model gets the answer with the problem.
"""

import logging
import time
from dataclasses import dataclass
from typing import Literal, TypedDict

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from agents.events import ToolEnd, ToolStart
from agents.state.message_notes import notes, notes_of
from agents.state.talk import Json
from agents.toolkit.assistant_help import assistant_help
from agents.toolkit.context import ToolState, emitter
from agents.toolkit.help import plain
from agents.toolkit.help_query import help_query
from agents.toolkit.repeats import this_turn
from agents.toolkit.result import ToolResult, written
from agents.toolkit.write_once import Execute
from prompts import phrase

Trouble = Literal["unknown", "arguments", "failed", "refused"]
LONGEST_ANSWER = 600
"""Characters of help that a model is told with a problem."""
LOG = logging.getLogger(__name__)


class CallFacts(TypedDict):
    """What the events of a tool call have in common."""

    speaker: str
    tool: str
    args: Json
    id: str


def call_facts(speaker: str, call: ToolCall) -> CallFacts:
    """Return what the events of a call have in common."""
    return {"speaker": speaker, "tool": call["name"], "args": call["args"], "id": call["id"] or ""}


def trouble(request: ToolCallRequest, kind: Trouble, text: str, result: ToolResult | None = None) -> ToolMessage:
    """Return what a model is told when its call came to nothing."""
    call = request.tool_call
    return ToolMessage(
        written(text),
        tool_call_id=call["id"],
        name=call["name"],
        status="error",
        artifact=result or ToolResult(),
        additional_kwargs=notes(trouble=kind),
    )


@dataclass(frozen=True)
class Rescue:
    """Ask `help` for a speaker whose tool call came to nothing."""

    speaker: str
    help: BaseTool

    async def __call__(self, request: ToolCallRequest, message: ToolMessage, execute: Execute) -> None:
        """Add to the message what help says, if its trouble is to end there; once for a tool in a turn.

        The call of `assistant_help` is told as a tool's of its own.
        """
        lang = request.state["lang"]
        if not _ends_in_help(message, request.state) or not (query := await help_query(request)):
            return
        call = ToolCall(name=self.help.name, args={"query": query}, id=request.tool_call["id"], type="tool_call")
        facts = call_facts(self.speaker, {**call, "id": f"{call['id']}-help"})
        emit = emitter(request.runtime)
        emit(ToolStart(**facts))
        begun = time.perf_counter()
        text = await self._text(request.override(tool_call=call, tool=self.help), execute)
        ms = round((time.perf_counter() - begun) * 1000)
        shown = text or phrase("tool_failed", lang, tool=call["name"])
        emit(ToolEnd(**facts, ok=bool(text), object=shown, ms=ms))
        if text:
            message.content = f"{message.text}\n{phrase('tool_help', lang, answer=text)}"
            notes_of(message)["rescued"] = text

    async def _text(self, request: ToolCallRequest, execute: Execute) -> str:
        try:
            answer = await execute(request)
        except Exception:
            LOG.exception("tool %s failed", self.help.name)
            return ""
        return plain(answer.text, LONGEST_ANSWER) if isinstance(answer, ToolMessage) else ""


def _ends_in_help(message: ToolMessage, state: ToolState) -> bool:
    kind = notes_of(message).get("trouble")
    if kind in (None, "refused") or (kind == "failed" and message.name == assistant_help.name):
        return False
    answers = [answer for answer in this_turn(state) if isinstance(answer, ToolMessage)]
    before = [answer for answer in answers if answer.name == message.name]
    if any(notes_of(answer).get("rescued") for answer in before):
        return False
    return kind != "arguments" or (bool(before) and notes_of(before[-1]).get("trouble") == "arguments")
