"""A user's settings: the time zone, the language, and the effect of a new message on an answer in progress."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Self, cast, get_args
from zoneinfo import ZoneInfo, available_timezones

from langgraph.store.base import BaseStore, Item, Result, SearchOp

from agents.memory.store import namespace_of
from prompts import languages

LOCAL_TIME = Path("/etc/localtime")


Busy = Literal["interrupt", "queue", "steer"]
"""The effect of a message that comes during the answer to the one before: it ends the answer, waits for its end, or
joins it after the running tools."""


@dataclass(frozen=True)
class Preferences:
    """The settings of a user; None for a setting that the user has not made."""

    zone: ZoneInfo | None = None
    lang: str | None = None
    busy: Busy = "interrupt"

    @classmethod
    async def of(cls, store: BaseStore | None, user: str) -> Self:
        """Return the settings of a user as they are stored."""
        return cls.read((await store.abatch([cls.query(user)]))[0] if store else [])

    @staticmethod
    def query(user: str) -> SearchOp:
        """Return the search for the settings of a user."""
        return SearchOp(namespace_of(user, "settings"))

    @classmethod
    def read(cls, rows: Result) -> Self:
        """Return the settings that a search has found."""
        items = cast("Sequence[Item]", rows)
        values = {item.key: item.value for item in items}
        zone, lang = values.get("zone", {}).get("zone"), values.get("language", {}).get("lang")
        # Stored values are checked like any input: an unknown name could lead anywhere.
        busy: Busy = values.get("busy", {}).get("mode", cls.busy)
        return cls(
            ZoneInfo(zone) if zone in _zones() else None,
            lang if lang in languages() else None,
            busy if busy in get_args(Busy) else cls.busy,
        )

    async def save(self, store: BaseStore | None, user: str) -> None:
        """Store the settings that have a value here; None leaves a setting as it was."""
        if store is not None and self.zone is not None:
            await store.aput(namespace_of(user, "settings"), "zone", {"zone": self.zone.key})
        if store is not None and self.lang is not None:
            await store.aput(namespace_of(user, "settings"), "language", {"lang": self.lang})


async def zone_of_user(store: BaseStore | None, user: str) -> ZoneInfo:
    """Return a user's time zone; without one the machine's."""
    return (await Preferences.of(store, user)).zone or machine_zone()


def machine_zone() -> ZoneInfo:
    """Return the machine's time zone, or UTC if the machine names none."""
    zones = _zones()
    names = (os.environ.get("TZ", "").removeprefix(":"), os.path.realpath(LOCAL_TIME).rpartition("zoneinfo/")[2])
    return ZoneInfo(next((name for name in names if name in zones), "UTC"))


@cache
def _zones() -> frozenset[str]:
    # The list needs a walk through 600 files, which takes longer than the other bookkeeping of a turn.
    return frozenset(available_timezones())
