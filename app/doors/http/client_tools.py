"""Tools that a client runs itself: their descriptions and their results."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from agents.language.text.clean import DEEPEST, is_shallow, safe_json
from agents.toolkit.client_tools import ClientResult, ClientTool
from agents.toolkit.result import LONGEST_OBJECT, written
from app.doors.http.exchange import first_fault, unsupported

MOST_TOOLS = 128
LONGEST_TOOLS = 200_000
"""Characters of a client's descriptions of its tools."""
LONGEST_RESULTS = 100_000
"""Characters of all results of one message."""


class SentTool(BaseModel):
    """A tool as a client describes it."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    description: str | None = None
    parameters: dict[str, Any] | None = None


SENT_TOOLS = TypeAdapter(list[SentTool])


def described_tools(
    tools: Sequence[Mapping[str, Any]], choice: object = None, *, alone: bool = False
) -> list[ClientTool]:
    """Return a client's tools; none for the choice "none". `alone`: the client takes one call at a time.

    Raises:
        HttpRefusal: the tools are too many or too large, two have one name, or one is not a function.
    """
    if choice == "none":
        return []
    if len(tools) > MOST_TOOLS or not is_shallow(tools) or len(safe_json(tools)) > LONGEST_TOOLS:
        raise unsupported(
            f"There may be {MOST_TOOLS} tools, with {LONGEST_TOOLS} characters and {DEEPEST} levels.", "tools"
        )
    if other := next((tool for tool in tools if (tool.get("type") or "function") != "function"), None):
        raise unsupported(f"Tools of the type {other['type']!r} are not run here; functions are called.", "tools")
    try:
        sent = SENT_TOOLS.validate_python([tool.get("function", tool) for tool in tools])
    except ValidationError as fault:
        raise unsupported(f"tools{first_fault(fault)[1]}", "tools") from None
    if len({tool.name for tool in sent}) < len(sent):
        raise unsupported("Two tools have the same name.", "tools")
    return [ClientTool(tool.name, tool.description or "", tool.parameters or {}, alone) for tool in sent]


def bounded_results(results: Sequence[tuple[str, str]], calls: Sequence[str] = ()) -> list[ClientResult]:
    """Return bounded results of (call id, text) pairs; `calls` are the ids in the order of the reply's calls."""
    longest = min(LONGEST_OBJECT, LONGEST_RESULTS // max(len(results), 1))
    places = {call: place for place, call in enumerate(calls)}
    return [ClientResult(call=call, place=places.get(call), text=written(text, longest)) for call, text in results]
