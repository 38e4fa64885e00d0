"""How old a viewer must be, by what boards of film censors say."""

import re

AGES = {
    **dict.fromkeys(("g", "u", "tv-y", "tv-g"), 0),
    **{"tv-y7": 7, "pg": 8, "tv-pg": 8, "pg-13": 13, "tv-14": 14, "r": 17, "tv-ma": 17, "nc-17": 18},
}
"""How old a viewer must be, by what American and British boards call it."""
_WORDS = re.compile(r"[\s:]+")
_NUMBER = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
OLDEST = 21
"""Years; a greater number is no age."""


def age_of(board: str) -> int | None:
    """Return how old a viewer must be by what a board says ("Rated PG-13", "US:R", "DE:FSK 12", "16+"), in years.

    None if it says nothing of it.
    """
    words = _WORDS.split(board.lower().removeprefix("rated ").strip())
    for word in words[:2]:
        if word in AGES:
            return AGES[word]
    number = _NUMBER.search(board)
    return int(number[0]) if number and int(number[0]) <= OLDEST else None
