"""The queue of a process's turns: it limits waiting and running turns, and chooses the next one."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SHARE = 10
"""The divisor of all turns of a process for the turns of one user, who always has one at least."""


@dataclass
class TurnQueue:
    """Gives turns their places: waiting users take turns, and the first turn of each user comes first."""

    at_once: int = 500
    """The most turns that run at the same time."""
    most_waiting: int = 500
    """The most turns beyond the running ones, which wait."""
    running: int = 0
    _taken: Counter[str] = field(default_factory=Counter)
    """The number of accepted turns by user, waiting or running."""
    _waiting: dict[str, deque["asyncio.Future[None]"]] = field(default_factory=dict)
    """The places of waiting turns by user, the next one first."""

    @property
    def waiting(self) -> int:
        """The number of turns that wait for a place."""
        return sum(map(len, self._waiting.values()))

    def is_full(self, user: str) -> bool:
        """Tell whether the queue takes no further turn of a user."""
        most = self.at_once + self.most_waiting
        return self._taken.total() >= most or self._taken[user] >= max(1, most // SHARE)

    @contextmanager
    def taken(self, user: str) -> Iterator[None]:
        """Count a turn as accepted during the block."""
        self._taken[user] += 1
        try:
            yield
        finally:
            # The subtraction also drops counts of zero.
            self._taken -= Counter((user,))

    @contextmanager
    def place(self, user: str) -> Iterator["asyncio.Future[None]"]:
        """Yield a place, a future that is done when the turn may run; a cancelled one waits no more."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(place)
        self._pass_on()
        try:
            yield place
        finally:
            if place.done() and not place.cancelled():
                self.running -= 1
            elif user in self._waiting:
                self._drop(user, place)
            self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting and self.running < self.at_once:
            user = next(iter(self._waiting))
            places = self._waiting.pop(user)
            place = places.popleft()
            if places:
                self._waiting[user] = places
            if not place.done():
                self.running += 1
                place.set_result(None)

    def _drop(self, user: str, place: "asyncio.Future[None]") -> None:
        places = deque(other for other in self._waiting[user] if other is not place)
        if places:
            self._waiting[user] = places
        else:
            del self._waiting[user]
