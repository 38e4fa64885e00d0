"""How often something may happen within an hour: under the name of a user, of a key, or of an address."""

import time
import uuid
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

HOUR = 3600.0
MOST_NAMES = 10_000
"""Names that are remembered; beyond them, the one that was counted longest ago is dropped."""


@dataclass
class HourlyCount:
    """Admit so much under each name within an hour; 0: all of it."""

    most: int
    _times: OrderedDict[str, OrderedDict[str, float]] = field(default_factory=OrderedDict)
    """By name and id, the oldest first: when it was admitted."""

    def is_reached(self, name: str) -> bool:
        """Tell whether nothing more is admitted under a name."""
        times = self._times.get(name, OrderedDict[str, float]())
        while times and time.monotonic() - next(iter(times.values())) > HOUR:
            times.popitem(last=False)
        return 0 < self.most <= len(times)

    def admits(self, name: str, id: str = "") -> bool:
        """Tell whether one more is admitted under a name, and count it; what has the id of an admitted one is."""
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
    """Return what stands for all addresses that one can choose from: of IPv6 the network that one customer has."""
    with suppress(ValueError):
        if ip_address(address).version == 6:
            return str(ip_network(f"{address}/64", strict=False))
    return address
