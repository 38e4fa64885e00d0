"""The dialog of the shop as it is shipped, its opaque identifiers marked or not."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, cast, get_type_hints

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, create_model

from agents.language.identifiers import MARK
from agents.toolkit.result import schema_of
from agents.toolkit.speaker import Speakers
from agents.toolkit.traits import traits_of, with_traits
from dialogs.orders import dialog
from dialogs.orders.store import SERVE
from tests.support.changed_speakers import changed
from tests.support.compiled import discovered

TOOLS: Mapping[str, BaseTool] = {tool.name: tool for tool in dialog.tools}
DESK = "orders"
ENTRY = dialog.tool
OPERATOR = {"*": frozenset({SERVE})}
"""Everybody may act for every customer."""


@cache
def desk(*, marked: bool) -> Speakers:
    """Return the application's speakers, with identifiers as numbers or as they are."""
    speakers, _ = discovered()
    tools = list(TOOLS.values()) if marked else [unmarked(tool) for tool in TOOLS.values()]
    return changed(speakers, DESK, tools=tools)


def unmarked(tool: BaseTool) -> BaseTool:
    """Return a tool that takes and gives identifiers as they are."""
    function, facts = cast(StructuredTool, tool).coroutine, traits_of(tool)
    assert function is not None  # all of these tools are asynchronous
    # What an annotation says beside the type is left out, the marks among it.
    hints = get_type_hints(function)
    own = cast(type[BaseModel], tool.args_schema).model_fields
    fields: dict[str, Any] = {name: (hints[name], ... if own[name].is_required() else None) for name in own}
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
