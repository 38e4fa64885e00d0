"""Tools that a client brings along and runs itself: a call of one ends the turn, and the next message has its result.

Their results are foreign text.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile

from langchain_core.messages.tool import tool_call
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, TypeAdapter

from agents.language.identifiers import MARK
from agents.state.speaker_state import Json, Pending
from agents.toolkit.argument_forms import received
from agents.toolkit.json_schema import as_map, safe_names
from agents.toolkit.result import Answer, Question, ToolResult
from agents.toolkit.traits import CLIENT, traits


@dataclass(frozen=True)
class ClientTool:
    """A tool as a client describes it; `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: Json
    alone: bool = False
    """Whether the client takes one call at a time."""


class ClientResult(BaseModel):
    """The result of a client's tool."""

    model_config = ConfigDict(frozen=True)
    call: str
    """The id of the call, as the client has it."""
    place: int | None = None
    """The place of the call among those of its reply; None if the client does not tell."""
    text: str


RESULTS = TypeAdapter(list[ClientResult])


def client_tools(offered: Sequence[ClientTool], taken: Collection[str]) -> dict[str, BaseTool]:
    """Return a client's tools by the names for models; none of these names is `taken`."""
    tools, names = dict[str, BaseTool](), safe_names([tool.name for tool in offered], "tool")
    for tool in offered:
        own = names[tool.name]
        others = (f"client{number or ''}_{own}"[:64] for number in count())
        name = own if own not in (*taken, *tools) else next(other for other in others if other not in (*taken, *tools))
        tools[name] = _tool(name, tool)
    return tools


def _tool(name: str, offered: ClientTool) -> BaseTool:
    async def call(**args: object) -> Answer:
        client_call = tool_call(name=offered.name, args=received(args), id=None)
        question = Question(offered.name, kind=CLIENT, client=client_call, alone=offered.alone)
        return "", ToolResult(question=question)

    tool = StructuredTool(
        name=name,
        description=offered.description or offered.name,
        args_schema=_unmarked(offered.parameters),
        coroutine=call,
        response_format="content_and_artifact",
    )
    return traits(kind=CLIENT, foreign=True)(tool)


def _unmarked(schema: Json) -> Json:
    """Return a schema without marks of identifiers: a client would get the identifiers behind the numbers."""

    def plain(node: object) -> object:
        if isinstance(node, Mapping):
            return {name: plain(value) for name, value in node.items() if name != MARK}
        return [*map(plain, node)] if isinstance(node, list) else node

    return {"type": "object", "properties": {}, **as_map(plain(schema))}


def waiting_for_client(pending: Sequence[Pending]) -> list[Pending]:
    """Return the calls on the screen that the client is to run; none if the user is asked first."""
    calls = [*takewhile(lambda call: call["kind"] == CLIENT, pending)]
    return calls[:1] if calls and calls[0].get("alone") else calls


def matched(calls: Sequence[Pending], text: str) -> dict[str, str]:
    """Return the results of a message by the ids of their calls; a client with other ids gives the places."""
    results = RESULTS.validate_json(text)
    ids = {call["call"] for call in calls}
    by_id = {result.call: result.text for result in results if result.call in ids}
    places = {result.place: result.text for result in results if result.place is not None}
    by_place = {call["call"]: places[place] for place, call in enumerate(calls) if place in places}
    return by_id or by_place


def written_results(results: Sequence[ClientResult]) -> str:
    """Return results as the text of a message."""
    return json.dumps([result.model_dump(exclude_none=True) for result in results], ensure_ascii=False)
