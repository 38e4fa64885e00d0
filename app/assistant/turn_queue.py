"""How many turns a process takes on, how many of them run at the same time, and whose is next."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SHARE = 10
"""A user may have one turn in so many of all that a process takes on, and one at least."""


@dataclass
class TurnQueue:
    """Let turns run: of the users that wait each has one in turn, and of one user's the first comes first."""

    at_once: int = 500
    """Turns that run at the same time."""
    most_waiting: int = 500
    """Turns beyond them that are taken on, and wait."""
    running: int = 0
    _taken: Counter[str] = field(default_factory=Counter)
    """By user: turns that were taken on, whatever they wait for."""
    _waiting: dict[str, deque["asyncio.Future[None]"]] = field(default_factory=dict)
    """By user, the next one first: the places of turns that wait."""

    @property
    def waiting(self) -> int:
        """How many turns wait until they may run."""
        return sum(map(len, self._waiting.values()))

    def is_full(self, user: str) -> bool:
        """Tell whether no further turn of a user is taken on."""
        most = self.at_once + self.most_waiting
        return self._taken.total() >= most or self._taken[user] >= max(1, most // SHARE)

    @contextmanager
    def taken(self, user: str) -> Iterator[None]:
        """Count a turn as taken on during the block."""
        self._taken[user] += 1
        try:
            yield
        finally:
            # What has come to nothing is dropped.
            self._taken -= Counter((user,))

    @contextmanager
    def place(self, user: str) -> Iterator["asyncio.Future[None]"]:
        """Yield a place, which is done when the turn may run; a place that is cancelled waits no more."""
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
