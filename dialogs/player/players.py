"""The interface of media players: a library with a screen, for viewers with age limits. Tests hold each kind to the
same behaviours.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["film", "series", "episode"]
State = Literal["playing", "paused", "stopped"]
Code = Literal[
    "no_title",
    "missing_file",
    "not_playable",
    "not_started",
    "nothing_plays",
    "unreachable",
    "age_limit",
    "not_rated",
]
"""The reasons of a refusal. `README.md` explains each code."""
AGES = {
    **dict.fromkeys(("g", "u", "tv-y", "tv-g"), 0),
    **{"tv-y7": 7, "pg": 8, "tv-pg": 8, "pg-13": 13, "tv-14": 14, "r": 17, "tv-ma": 17, "nc-17": 18},
}
"""The least age of a viewer, by the marks of American and British boards."""
OLDEST_LIMIT = 21
"""The highest age limit in years; a larger number is not an age."""
_WORDS = re.compile(r"[\s:]+")
_NUMBER = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


@dataclass(frozen=True, kw_only=True)
class Title:
    """A film, a series or an episode of one, with the marks of a profile."""

    id: str
    """The id within the player, for as long as the library has the title."""
    name: str
    kind: Kind = "film"
    other_names: tuple[str, ...] = ()
    """Its other names, such as those in other languages."""
    year: int | None = None
    genres: tuple[str, ...] = ()
    """English words in lower case ("animation", "comedy"); an episode has its series' genres."""
    rating: float | None = None
    """The rating, from 0 to 10."""
    age: int | None = None
    """The least age of a viewer, in years; 0 for everybody, None if it is not rated."""
    duration: int | None = None
    """The length in seconds; None for a series, and if it is unknown."""
    plot: str = ""
    file: str = ""
    """The path of its file; empty for a series, and for titles without a file."""
    series: str = ""
    """The id of the series; empty unless this is an episode."""
    series_name: str = ""
    season: int | None = None
    """The number of the season, from 1; 0 for specials. None unless this is an episode."""
    episode: int | None = None
    """Its number within the season, from 1."""
    position: int = 0
    """Seconds from the start to the place where the viewer left it; 0 if it was not begun, or was seen to its end."""
    watched: bool = False
    """Whether it was seen to its end, or marked as watched. A series: all of its episodes."""
    liked: bool = False

    @property
    def order(self) -> tuple[bool, int, int]:
        """The sort key of a series' episodes; specials come last."""
        return self.season == 0, self.season or 0, self.episode or 0


@dataclass(frozen=True, kw_only=True)
class Playback:
    """The present state of the screen."""

    state: State
    volume: int
    """The volume in per cent, from 0 to 100."""
    title: Title | None = None
    """The playing title; None if nothing plays (`state` is then "stopped")."""
    position: int = 0
    """The position in seconds from the start."""
    off_at_end: bool = False
    """Whether playback stops when this title ends, instead of going on with the next episode."""


class PlayerError(Exception):
    """The player refuses: `code` is the reason. `title` is the one in question; `reason` is for the operator."""

    def __init__(self, code: Code, title: Title | None = None, reason: str = "") -> None:
        super().__init__(code)
        self.code, self.title, self.reason = code, title, reason


class MediaPlayer(ABC):
    """A library and its screen, for one profile: likes, positions and watched titles are that profile's.

    Every method raises `PlayerError("unreachable")` if the player does not answer, and `PlayerError("no_title")` for an
    unknown id. Methods that steer playback raise `PlayerError("nothing_plays")` if nothing plays.
    """

    @abstractmethod
    async def titles(self) -> Sequence[Title]:
        """Return all films and series, without the episodes."""

    @abstractmethod
    async def title(self, id: str) -> Title:
        """Return a film, a series or an episode."""

    @abstractmethod
    async def episodes(self, series: str) -> Sequence[Title]:
        """Return the episodes of a series, by season and number; a film has none."""

    @abstractmethod
    async def history(self, since: datetime, until: datetime) -> Sequence[Title]:
        """Return the titles played from `since` until before `until`, the latest first; both are in the user's zone."""

    @abstractmethod
    async def now(self) -> Playback:
        """Return the present playback."""

    @abstractmethod
    async def play(self, id: str, position: int = 0) -> Playback:
        """Play a film or an episode from `position` (seconds) in place of the playing title; return the new playback.

        When an episode ends, the next one of its series begins. A new title ends an earlier `off_at_end`.

        Raises:
            PlayerError: "not_playable", "missing_file", "not_started".
        """

    @abstractmethod
    async def set_state(self, state: State) -> Playback:
        """Pause the playing title, go on with it, or stop it and keep its position."""

    @abstractmethod
    async def set_volume(self, percent: int) -> Playback:
        """Set the volume, from 0 to 100; it can be set while nothing plays."""

    @abstractmethod
    async def set_off_at_end(self, off: bool) -> Playback:
        """Set whether playback stops at the end of the playing title."""

    @abstractmethod
    async def mark(self, id: str, *, liked: bool | None = None, watched: bool | None = None) -> Title:
        """Mark a title as liked, or as watched (a series: all its episodes), or as neither; return the marked title.

        None leaves a mark as it is.
        """


@dataclass(frozen=True)
class Players:
    """The players of this installation."""

    of: Callable[[str], MediaPlayer]
    """Returns the player of a profile. The profile's name is a trusted value: no model and no user sets it."""


@dataclass(frozen=True)
class Viewer:
    """A profile for one user; `age` is the highest age mark of titles for the user, None without a limit."""

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
    """Return a board's age mark in years ("Rated PG-13", "US:R", "DE:FSK 12", "16+").

    Returns None if the mark names no age.
    """
    words = _WORDS.split(board.lower().removeprefix("rated ").strip())
    for word in words[:2]:
        if word in AGES:
            return AGES[word]
    number = _NUMBER.search(board)
    return int(number[0]) if number and int(number[0]) <= OLDEST_LIMIT else None
