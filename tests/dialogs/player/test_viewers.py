"""The age limits of many rating boards."""

import pytest

from dialogs.player.players import age_of


@pytest.mark.parametrize(
    ("board", "age"),
    [
        ("Rated PG-13", 13),
        ("Rated R for violence in 12 scenes", 17),
        ("US:R", 17),
        ("UK:U", 0),
        ("G", 0),
        ("TV-14", 14),
        ("tv-y7", 7),
        ("DE:FSK 12", 12),
        ("FSK 0", 0),
        ("16+", 16),
        ("12A", 12),
        ("", None),
        ("Not Rated", None),
        ("NR", None),
        ("1984", None),
        ("99", None),
        ("X" * 10_000, None),
    ],
)
def test_what_a_board_says_is_an_age_or_nothing(board: str, age: int | None) -> None:
    """An unknown rating is no age, so that a limit refuses it."""
    assert age_of(board) == age
