"""The time by rules: here it is told, elsewhere it is not known."""

import pytest

from prompts import table
from tests.support.rules_outcome import PROFILE, Lang, acted
from tests.support.rules_room import Room

ASKED: list[tuple[Lang, str]] = [
    ("en", "What time is it in Tokyo"),
    ("en", "what's the time in New York right now?"),
    ("en", "do you know what time it is in Rome?"),
    ("ru", "Который час в Токио"),
    ("ru", "а сколько сейчас времени в Нью-Йорке?"),
    ("ru", "который час на Камчатке"),
]


@pytest.mark.parametrize(("lang", "text"), ASKED)
@pytest.mark.parametrize("begun", [[], ["show my list"], PROFILE["en"][:1]])
def test_the_time_elsewhere_is_not_made_up(lang: Lang, text: str, begun: list[str]) -> None:
    """Nobody is told the time here, or a help page, in place of the time in another town."""
    room = Room(lang)
    for line in begun:
        room.says(line)
    assert room.says(text).startswith(table("rules", lang)["time_here"])
    assert acted(room) == []


@pytest.mark.parametrize(
    ("lang", "text"), [("en", "what time is it"), ("en", "what time is it now?"), ("ru", "сколько времени")]
)
def test_the_time_here_is_told(lang: Lang, text: str) -> None:
    """The question without another place is what the clock answers."""
    assert "18:24" in Room(lang).says(text)
