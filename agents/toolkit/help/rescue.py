"""Ask for help after a failed tool call, whether or not the model asks for it.

`assistant_help` is called when the tool is unknown, when it fails, and when its arguments are wrong twice in a row.
The question is made of the user's own words (`agents.toolkit.help.query`). The model gets the answer with the problem.
"""

import logging
import time
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from agents.events import ToolEnd, ToolStart
from agents.state.message_notes import notes_of
from agents.toolkit.assistant_help import assistant_help
from agents.toolkit.call import Execute, call_facts
from agents.toolkit.context import ToolState, emitter
from agents.toolkit.help import plain
from agents.toolkit.help.query import help_query
from agents.toolkit.repeats import this_turn
from prompts import phrase

Trouble = Literal["unknown", "arguments", "failed", "refused"]
LONGEST_HELP = 600
"""Characters of help that a model is told with a problem."""
LOG = logging.getLogger(__name__)


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
        return plain(answer.text, LONGEST_HELP) if isinstance(answer, ToolMessage) else ""


def _ends_in_help(message: ToolMessage, state: ToolState) -> bool:
    kind = notes_of(message).get("trouble")
    if kind in (None, "refused") or (kind == "failed" and message.name == assistant_help.name):
        return False
    answers = [answer for answer in this_turn(state) if isinstance(answer, ToolMessage)]
    before = [answer for answer in answers if answer.name == message.name]
    if any(notes_of(answer).get("rescued") for answer in before):
        return False
    return kind != "arguments" or (bool(before) and notes_of(before[-1]).get("trouble") == "arguments")
