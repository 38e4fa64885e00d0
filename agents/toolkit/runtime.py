"""What a tool is given beside its arguments, and what it can learn from that."""

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from langchain_core.tools import InjectedToolArg
from langgraph.prebuilt import ToolRuntime
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from agents.memory.preferences import zone_of_user
from agents.toolkit.context import Context, ToolState


class _PassedOn(InjectedToolArg):
    """Hands the runtime to a tool as it is.

    LangChain serialises the checked arguments of every call and then uses only their names. Without this the whole
    state would be written out each time, and every tool would build a schema of the state.
    """

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        nothing = core_schema.plain_serializer_function_ser_schema(lambda _: None)
        return core_schema.is_instance_schema(ToolRuntime, serialization=nothing)


Runtime = Annotated[ToolRuntime[Context, ToolState], _PassedOn()]
"""`runtime.context` is the turn's `Context` (user, thread, device …), `runtime.state` a `ToolState` with `lang`,
`runtime.store` the user's long-term memory, `runtime.tool_call_id` the id of this call.

A parameter of this type is set by the system; no model sees it.
"""


def present(runtime: Runtime) -> datetime:
    """Return the present time by the clock that rings, to the second."""
    return datetime.fromtimestamp(int(runtime.context.now()), UTC)


async def zone_of(runtime: Runtime) -> ZoneInfo:
    """Return the user's time zone as it is now; a tool of this turn may have set it."""
    return await zone_of_user(runtime.store, runtime.context.user)
