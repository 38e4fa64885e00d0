"""The time zone in which a user lives: the one that was told, else the machine's."""

import os
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from langgraph.store.base import BaseStore

from agents.memory.store import namespace_of

LOCAL_TIME = Path("/etc/localtime")


async def keep_zone(store: BaseStore | None, user: str, name: str) -> None:
    """Remember a user's time zone by its name."""
    if store is not None:
        await store.aput(namespace_of(user, "settings"), "zone", {"zone": name})


async def zone_of_user(store: BaseStore | None, user: str) -> ZoneInfo:
    """Return a user's time zone, the machine's if the user has told none."""
    found = await store.aget(namespace_of(user, "settings"), "zone") if store else None
    return ZoneInfo(found.value["zone"]) if found else machine_zone()


def machine_zone() -> ZoneInfo:
    """Return the machine's time zone, UTC if it does not say which."""
    known = _known()
    names = (os.environ.get("TZ", "").removeprefix(":"), str(LOCAL_TIME.resolve()).rpartition("zoneinfo/")[2])
    return ZoneInfo(next((name for name in names if name in known), "UTC"))


@cache
def _known() -> frozenset[str]:
    # The list is made by a walk through 600 files, which takes longer than the rest of a turn's bookkeeping.
    return frozenset(available_timezones())
