"""Count the turns that each user has begun of late. The count is of this process; a restart begins anew."""

import time
from collections import deque
from dataclasses import dataclass, field

HOUR = 3600.0
MOST_USERS = 10_000
"""Users whose turns are remembered; of more, those who have been quiet for an hour are dropped."""


@dataclass
class TurnCount:
    """Admit so many turns of a user within an hour; 0: all of them."""

    most: int
    _turns: dict[str, deque[tuple[float, str]]] = field(default_factory=dict)
    """By user: when each turn was admitted, and its key."""

    def admits(self, user: str, key: str) -> bool:
        """Tell whether a turn may begin, and count it; one that was admitted before is."""
        if not self.most:
            return True
        now = time.monotonic()
        turns = self._turns.setdefault(user, deque())
        while turns and now - turns[0][0] > HOUR:
            turns.popleft()
        if any(admitted == key for _, admitted in turns):
            return True
        if len(turns) >= self.most:
            return False
        turns.append((now, key))
        if len(self._turns) > MOST_USERS:
            self._turns = {name: recent for name, recent in self._turns.items() if now - recent[-1][0] <= HOUR}
        return True
