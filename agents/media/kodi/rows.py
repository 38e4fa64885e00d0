"""Films, series and episodes as Kodi has them, read into titles; what is no such row is left out."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from agents.language.text.clean import clean
from agents.media import Title
from agents.media.ages import age_of

LOG = logging.getLogger(__name__)
LIKED = 8
"""The least rating of one's own, of 10, that says that somebody likes a title."""
LONGEST = 300
"""Characters of a name."""
LONGEST_PLOT = 4_000
BOTH = ("title", "originaltitle", "plot", "rating", "userrating", "playcount")
PLAYED = ("lastplayed", "runtime", "resume", "file")
FILM = (*BOTH, *PLAYED, "genre", "year", "mpaa")
SERIES = (*BOTH, "genre", "year", "mpaa", "episode", "watchedepisodes")
EPISODE = (*BOTH, *PLAYED, "season", "episode", "firstaired", "tvshowid", "showtitle")
"""The properties that are asked of Kodi."""


def _text(value: object, longest: int = LONGEST) -> str:
    return " ".join(clean(value[: 2 * longest]).split())[:longest] if isinstance(value, str) else ""


def _plot(value: object) -> str:
    return _text(value, LONGEST_PLOT)


def _texts(value: object) -> list[str]:
    return [text for item in value[:20] if (text := _text(item))] if isinstance(value, list) else []


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and 0 <= value < 1_000_000 else 0


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
Number = Annotated[float, BeforeValidator(_number)]
Id = Annotated[int, Field(ge=1, strict=True)]


class Resume(BaseModel):
    """Where a title was left; seconds."""

    position: Number = 0
    total: Number = 0


class _Row(BaseModel):
    """What films, series and episodes have in common."""

    title: Text = ""
    originaltitle: Text = ""
    plot: Annotated[str, BeforeValidator(_plot)] = ""
    rating: Number = 0
    userrating: Number = 0
    playcount: Number = 0

    @property
    def other_names(self) -> tuple[str, ...]:
        return (self.originaltitle,) if self.originaltitle not in ("", self.title) else ()

    @property
    def score(self) -> float | None:
        """The rating, which Kodi has as 0 where there is none."""
        return round(min(self.rating, 10), 1) or None


class _Playable(_Row):
    lastplayed: Text = ""
    runtime: Number = 0
    resume: Resume = Resume()
    file: str = Field(default="", max_length=4_000)

    @property
    def duration(self) -> int | None:
        return round(self.runtime or self.resume.total) or None

    @property
    def position(self) -> int:
        return 0 if self.playcount else int(self.resume.position)

    def played_at(self, zone: tzinfo) -> datetime | None:
        """Return when it was played last; None if it was not."""
        try:
            return datetime.fromisoformat(self.lastplayed).replace(tzinfo=zone)
        except ValueError:
            return None


class FilmRow(_Playable):
    """A film."""

    movieid: Id
    genre: Texts = []
    year: Number = 0
    mpaa: Text = ""

    def as_title(self) -> Title:
        """Return the film as a title."""
        return Title(
            id=f"film-{self.movieid}",
            name=self.title or self.originaltitle or f"film-{self.movieid}",
            kind="film",
            other_names=self.other_names,
            year=int(self.year) or None,
            genres=genres_of(self.genre),
            rating=self.score,
            age=age_of(self.mpaa),
            duration=self.duration,
            plot=self.plot,
            position=self.position,
            watched=self.playcount > 0,
            liked=self.userrating >= LIKED,
        )


class SeriesRow(_Row):
    """A series."""

    tvshowid: Id
    genre: Texts = []
    year: Number = 0
    mpaa: Text = ""
    episode: Number = 0
    """How many episodes it has."""
    watchedepisodes: Number = 0

    def as_title(self) -> Title:
        """Return the series as a title."""
        return Title(
            id=f"series-{self.tvshowid}",
            name=self.title or self.originaltitle or f"series-{self.tvshowid}",
            kind="series",
            other_names=self.other_names,
            year=int(self.year) or None,
            genres=genres_of(self.genre),
            rating=self.score,
            age=age_of(self.mpaa),
            plot=self.plot,
            watched=0 < self.episode <= self.watchedepisodes,
            liked=self.userrating >= LIKED,
        )


class EpisodeRow(_Playable):
    """An episode; age and genres are those of its series."""

    episodeid: Id
    tvshowid: Id
    showtitle: Text = ""
    season: Number = 0
    episode: Number = 0
    firstaired: Text = ""

    def as_title(self, series: Title) -> Title:
        """Return the episode as a title."""
        year = self.firstaired[:4]
        return Title(
            id=f"episode-{self.episodeid}",
            name=self.title or f"{series.name} {self.season:g}x{self.episode:02g}",
            kind="episode",
            other_names=self.other_names,
            year=int(year) if year.isdecimal() else series.year,
            genres=series.genres,
            rating=self.score or series.rating,
            age=series.age,
            duration=self.duration,
            plot=self.plot,
            series=series.id,
            series_name=series.name,
            season=int(self.season),
            episode=int(self.episode),
            position=self.position,
            watched=self.playcount > 0,
            liked=self.userrating >= LIKED,
        )


Read = TypeVar("Read", bound=BaseModel)


def read_rows(answer: object, name: str, kind: type[Read]) -> list[Read]:
    """Return the rows of a list in an answer; what is no such row is left out."""
    entries = answer.get(name) if isinstance(answer, Mapping) else None
    rows = [row for entry in (entries if isinstance(entries, list) else []) if (row := read_row(entry, kind))]
    return rows


def read_row(entry: object, kind: type[Read]) -> Read | None:
    """Return a row of an answer; None if it is none."""
    try:
        return kind.model_validate(entry)
    except ValidationError as fault:
        LOG.warning("Kodi returned a row that is no %s (%s faults)", kind.__name__, fault.error_count())
        return None


def genres_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return genres in lower case, each once."""
    return tuple(dict.fromkeys(name.lower() for name in names))
