"""The desk of a shop: its sixteen tools, with opaque identifiers marked or not, and the dialog that has them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast, get_type_hints

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, create_model

from agents.identifiers import MARK
from agents.speaker import Speaker, Speakers
from agents.state import SUPERVISOR
from agents.toolkit.result import schema_of
from agents.toolkit.traits import traits_of, with_traits
from app.composition import SUPERVISOR_TOOLS
from tests.support.shop.reads import READS
from tests.support.shop.writes import WRITES

TOOLS: Mapping[str, BaseTool] = {tool.name: tool for tool in [*READS, *WRITES]}
# A prompt is found by its speaker's name, so the desk goes by the name of a dialog that has one.
DESK = "planner"
ENTRY = "serve_customers"


def desk(*, marked: bool) -> Speakers:
    """Return the supervisor and the dialog that serves customers."""
    tools = list(TOOLS.values()) if marked else [unmarked(tool) for tool in TOOLS.values()]
    description = "Used for orders: looking up, cancelling, changing, returning and exchanging."
    serving = Speaker(name=DESK, tool=ENTRY, description=description, tools=tools, observers=("supervisor", "finished"))
    return Speakers(Speaker(name=SUPERVISOR, tools=SUPERVISOR_TOOLS), {DESK: serving})


def unmarked(tool: BaseTool) -> BaseTool:
    """Return a tool that takes and gives identifiers as they are."""
    function, facts = cast(StructuredTool, tool).coroutine, traits_of(tool)
    assert function is not None  # all of these tools are asynchronous
    # What an annotation says beside the type is left out, the marks among it.
    hints = get_type_hints(function)
    fields: dict[str, Any] = {name: (hints[name], ...) for name in cast(type[BaseModel], tool.args_schema).model_fields}
    plain = StructuredTool.from_function(
        coroutine=function,
        name=tool.name,
        description=tool.description,
        args_schema=create_model(tool.name, __config__=ConfigDict(arbitrary_types_allowed=True), **fields),
        infer_schema=False,
        response_format=tool.response_format,
    )
    return with_traits(plain, replace(facts, result=_without_marks(schema_of(facts.result)) or None))


def _without_marks(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {name: _without_marks(value) for name, value in schema.items() if name != MARK}
    return [_without_marks(value) for value in schema] if isinstance(schema, list) else schema
