"""The present time, and the time zone of the user, for tools."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from agents.memory.preferences import zone_of_user
from agents.toolkit.runtime import Runtime


def present(runtime: Runtime) -> datetime:
    """Return the present time by the clock that rings, to the second."""
    return datetime.fromtimestamp(int(runtime.context.now()), UTC)


async def zone_of(runtime: Runtime) -> ZoneInfo:
    """Return the user's time zone as it is now; a tool of this turn may have set it."""
    return await zone_of_user(runtime.store, runtime.context.user)
