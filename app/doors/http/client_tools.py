"""Tools that a client runs itself: how it describes them, how it is asked for a call, how it brings the results."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.events import ToolRequest
from agents.language.text.clean import safe_json
from agents.toolkit.client_tools import ClientResult, ClientTool
from agents.toolkit.result import LONGEST_OBJECT, written
from app.doors.http.exchange import BETWEEN, HttpRefusal

MOST_TOOLS = 128
LONGEST_TOOLS = 200_000
"""Characters of what a client says of its tools."""
LONGEST_RESULTS = 100_000
"""Characters of all results of one message."""
CallId = Annotated[str, Field(max_length=200)]


class SentTool(BaseModel):
    """A tool as a client describes it."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class SentFunction(BaseModel):
    """The function of a call."""

    model_config = ConfigDict(extra="allow")
    name: Annotated[str, Field(max_length=128)]
    arguments: str = ""


class SentCall(BaseModel):
    """A call as a client keeps it."""

    model_config = ConfigDict(extra="allow")
    id: CallId = ""
    type: str = "function"
    function: SentFunction

    def words(self) -> str:
        """Return what was called, always in the same words."""
        try:
            args = json.loads(self.function.arguments or "{}")
        except (ValueError, RecursionError):
            args = self.function.arguments
        return f"{self.function.name}({json.dumps(args, sort_keys=True, ensure_ascii=False)})"


def described_tools(
    tools: Sequence[Mapping[str, Any]], choice: object = None, *, alone: bool = False
) -> list[ClientTool]:
    """Return a client's tools; none where it chooses none. `alone`: it takes one call at a time.

    Raises:
        HttpRefusal: there are too many or too large ones, two have one name, or one is no function.
    """
    if choice == "none":
        return []
    if len(tools) > MOST_TOOLS or len(safe_json(tools)) > LONGEST_TOOLS:
        raise _refusal(f"There may be {MOST_TOOLS} tools, with {LONGEST_TOOLS} characters in all.")
    if other := next((tool for tool in tools if tool.get("type", "function") != "function"), None):
        raise _refusal(f"Tools of the type {other['type']!r} are not run here; functions are called.")
    try:
        sent = [SentTool.model_validate(tool.get("function", tool)) for tool in tools]
    except ValidationError as fault:
        raise _refusal(fault.errors()[0]["msg"]) from None
    if len({tool.name for tool in sent}) < len(sent):
        raise _refusal("Two tools have the same name.")
    return [ClientTool(tool.name, tool.description or "", tool.parameters or {}, alone) for tool in sent]


def _refusal(message: str) -> HttpRefusal:
    return HttpRefusal(422, message, "unsupported_value", "tools")


def bounded_results(results: Sequence[tuple[str, str]], calls: Sequence[str] = ()) -> list[ClientResult]:
    """Return results, each given with the id of its call; `calls` are the ids that their reply has for the client."""
    longest = min(LONGEST_OBJECT, LONGEST_RESULTS // max(len(results), 1))
    places = {call: place for place, call in enumerate(calls)}
    return [ClientResult(call=call, place=places.get(call), text=written(text, longest)) for call, text in results]


def sent_call(request: ToolRequest) -> SentCall:
    """Return a call as chat completions have it."""
    return SentCall(id=request.id, function=SentFunction(name=request.name, arguments=safe_json(request.args)))


def said_and_called(text: str, calls: Sequence[SentCall]) -> str:
    """Return an answer with its calls: two answers with other calls are not the same one."""
    return BETWEEN.join(filter(None, (text, *(call.words() for call in calls))))
