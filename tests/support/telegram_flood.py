"""Telegram's flood control: limits of a bot's calls, to one chat and in all."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

COUNTED = ("send", "edit", "delete", "setMessageReaction")
"""Name prefixes of the counted methods."""


@dataclass
class Bucket:
    """A token bucket: so many calls at once, and then so many a second."""

    size: float
    a_second: float
    left: float = field(init=False)
    at: float | None = None

    def __post_init__(self) -> None:
        self.left = self.size

    def wait(self, now: float) -> float:
        """Take one call; return 0, or the seconds until a call is free."""
        self.left = min(self.size, self.left + (now - (now if self.at is None else self.at)) * self.a_second)
        self.at = now
        if self.left >= 1:
            self.left -= 1
            return 0.0
        return (1 - self.left) / self.a_second


@dataclass
class Flood:
    """The limits of a bot; after too many calls Telegram refuses the chat, or the whole bot, for a while."""

    private: tuple[float, float] = (5, 1)
    """Calls to a private chat at once, and then a second."""
    group: tuple[float, float] = (20, 1 / 3)
    bot: tuple[float, float] = (30, 30)
    clock: Callable[[], float] = time.monotonic
    least: float = 1.0
    """Seconds that a refusal lasts at least."""
    _buckets: dict[int, Bucket] = field(default_factory=dict)
    _until: dict[int, float] = field(default_factory=dict)

    def retry_after(self, method: str, chat: int) -> int | None:
        """Return the seconds of a call's refusal; None if it may go on."""
        if not method.startswith(COUNTED):
            return None
        now = self.clock()
        waits = [self._wait(0, self.bot, now), self._wait(chat, self.private if chat > 0 else self.group, now)]
        return math.ceil(max(waits)) or None

    def _wait(self, key: int, limits: tuple[float, float], now: float) -> float:
        """Return the seconds for which the bot (0) or a chat is refused."""
        if (until := self._until.get(key, 0.0)) > now:
            return until - now
        wait = self._buckets.setdefault(key, Bucket(*limits)).wait(now)
        if wait:
            self._until[key] = now + max(self.least, wait)
            return max(self.least, wait)
        return 0.0
