"""Limits of rates by the hour, under the name of a user, of a key, or of an address."""

import time
import uuid
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

HOUR = 3600.0
MOST_NAMES = 10_000
"""The most kept names; beyond them, the one that was counted longest ago is dropped."""


@dataclass
class HourlyCount:
    """Admits so many events under each name within an hour; 0: no limit."""

    most: int
    _times: OrderedDict[str, OrderedDict[str, float]] = field(default_factory=OrderedDict)
    """The times of admitted events by name and id, the oldest first."""

    def is_reached(self, name: str) -> bool:
        """Tell whether the limit of a name is reached."""
        times = self._times.get(name, OrderedDict[str, float]())
        while times and time.monotonic() - next(iter(times.values())) > HOUR:
            times.popitem(last=False)
        return 0 < self.most <= len(times)

    def admits(self, name: str, id: str = "") -> bool:
        """Tell whether one more event is admitted under a name, and count it; an admitted id is admitted again."""
        is_full = self.is_reached(name)
        if not self.most or id in self._times.get(name, ()):
            return True
        if not is_full:
            self._times.setdefault(name, OrderedDict())[id or uuid.uuid4().hex] = time.monotonic()
            self._times.move_to_end(name)
        if len(self._times) > MOST_NAMES:
            self._times.popitem(last=False)
        return not is_full


def network_of(address: str) -> str:
    """Return the name for all addresses of one customer: the network of an IPv6 address, else the address."""
    with suppress(ValueError):
        if ip_address(address).version == 6:
            return str(ip_network(f"{address}/64", strict=False))
    return address
