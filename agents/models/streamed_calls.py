"""The tool calls of a reply while it streams: their pieces told apart, then checked as whole JSON."""

import json
import re
import secrets
import string
from dataclasses import dataclass, field

from langchain_core.messages.tool import ToolCall, ToolCallChunk

from agents.errors import BrokenReply

_HALF = re.compile("[\ud800-\udfff]")


@dataclass
class _Call:
    """A tool call while its pieces come."""

    name: str
    id: str | None
    index: int | str | None
    args: list[str] = field(default_factory=list)

    def continues(self, piece: ToolCallChunk) -> bool:
        """Whether a piece belongs to this call: some servers repeat its name and id, some number all calls 0."""
        if not piece["name"] and not piece["id"]:
            return True
        if piece["index"] != self.index or (piece["id"] or self.id) != self.id:
            return False
        return not piece["name"] or (piece["name"] == (self.name or piece["name"]) and not _is_json("".join(self.args)))


class StreamedCalls:
    """Takes the pieces of tool calls. Servers number all calls 0, leave numbers and ids out, or repeat names."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, piece: ToolCallChunk) -> None:
        """Add a piece to the call that it continues, or begin a call with it."""
        numbered = [call for call in self._calls if piece["index"] is not None and call.index == piece["index"]]
        earlier = numbered or self._calls
        call = earlier[-1] if earlier else None
        if call is None or not call.continues(piece):
            call = _Call(piece["name"] or "", piece["id"], piece["index"])
            self._calls.append(call)
        call.id, call.name = call.id or piece["id"], call.name or piece["name"] or ""
        call.args.append(piece["args"] or "")

    @property
    def given_ids(self) -> list[str | None]:
        """The ids that the provider gave to the calls."""
        return [call.id for call in self._calls]

    def complete(self) -> list[ToolCall]:
        """Return the calls.

        Raises:
            BrokenReply: a call has no name, or arguments that are not a JSON object.
        """
        return [_tool_call(call) for call in self._calls]


def whole_characters(text: str) -> str:
    """Return the text with halves of characters replaced: no file or terminal takes them."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tool_call(call: _Call) -> ToolCall:
    try:
        args = json.loads("".join(call.args) or "{}")
    except json.JSONDecodeError:
        raise BrokenReply(f"arguments of {call.name!r} are not JSON") from None
    if not call.name or not isinstance(args, dict):
        raise BrokenReply(f"call of {call.name!r} is not a name with a JSON object")
    args = json.loads(whole_characters(json.dumps(args, ensure_ascii=False)))
    return ToolCall(name=call.name, args=args, id=_call_id(), type="tool_call")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def _call_id() -> str:
    """Return an id for a tool call in place of the provider's: some leave it out, some give one id again and again.

    The ledger of done work goes by it. Nine letters and digits are the form that every provider takes back.
    """
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(9))
