"""Who watches: the profile and the age limit of a user, both trusted values that the operator sets."""

import re
from dataclasses import dataclass

from dialogs.player.players import PlayerError, Title

AGES = {
    **dict.fromkeys(("g", "u", "tv-y", "tv-g"), 0),
    **{"tv-y7": 7, "pg": 8, "tv-pg": 8, "pg-13": 13, "tv-14": 14, "r": 17, "tv-ma": 17, "nc-17": 18},
}
"""How old a viewer must be, by what American and British boards call it."""
OLDEST_LIMIT = 21
"""Years; a greater number is no age."""
_WORDS = re.compile(r"[\s:]+")
_NUMBER = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


@dataclass(frozen=True)
class Viewer:
    """A profile as one user has it; `age` is the oldest that a title may be meant for, None without a limit."""

    profile: str
    age: int | None = None

    def check(self, title: Title) -> None:
        """Raise PlayerError ("age_limit", "not_rated") if the viewer may not see a title."""
        if self.age is None:
            return
        if title.age is None:
            raise PlayerError("not_rated", title)
        if title.age > self.age:
            raise PlayerError("age_limit", title)


def age_of(board: str) -> int | None:
    """Return how old a viewer must be by what a board says ("Rated PG-13", "US:R", "DE:FSK 12", "16+"), in years.

    Returns None if the board says nothing of an age.
    """
    words = _WORDS.split(board.lower().removeprefix("rated ").strip())
    for word in words[:2]:
        if word in AGES:
            return AGES[word]
    number = _NUMBER.search(board)
    return int(number[0]) if number and int(number[0]) <= OLDEST_LIMIT else None
