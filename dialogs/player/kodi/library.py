"""Kodi's library over JSON-RPC 2.0: its titles, what was played, what is liked and watched."""

import base64
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from typing import Annotated, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, SecretStr, ValidationError

from agents.language.text.clean import clean
from agents.sources.web.fetcher import Fetcher, NotFetched
from dialogs.player.players import Code, Kind, Play, Player, PlayerError, Title, age_of

METHOD_NOT_FOUND = -32601
Params = Mapping[str, object]
LOG = logging.getLogger(__name__)
PAGE = 200
"""Titles in one answer."""
MOST_TITLES = 20_000
LONGEST_NAME = 300
LONGEST_PLOT = 4_000
MOST_GENRES = 20
LIKED = 8
"""The least rating of one's own, of 10, that says that somebody likes a title."""
NAMES: Mapping[Kind, str] = {"film": "Movie", "series": "TVShow", "episode": "Episode"}
"""What Kodi calls a kind of titles in its methods, and in lower case in its fields."""
ALWAYS = ("title", "originaltitle", "plot", "rating", "userrating", "playcount")
PLAYED = ("lastplayed", "runtime", "resume", "file")
PROPERTIES: Mapping[Kind, Sequence[str]] = {
    "film": (*ALWAYS, *PLAYED, "genre", "year", "mpaa"),
    "series": (*ALWAYS, "genre", "year", "mpaa", "episode", "watchedepisodes"),
    "episode": (*ALWAYS, *PLAYED, "season", "episode", "firstaired", "tvshowid"),
}
"""What Kodi is asked to tell of a title."""
LATEST_FIRST = {"method": "lastplayed", "order": "descending"}
CLOCK = ("System.Date(yyyy-mm-dd)", "System.Time(hh:mm:ss xx)")
"""Kodi's labels for its local time; `xx` is AM or PM where the clock has twelve hours, else nothing."""
_CLOCK = re.compile(r"(\d{4}-\d\d-\d\d) (\d{1,2}):(\d\d):(\d\d)\s*([AaPp]?)")
_ID = re.compile(r"(film|series|episode)-([1-9]\d{0,8})")
Read = TypeVar("Read", bound=BaseModel)


class _Error(BaseModel):
    code: int
    message: Annotated[str, Field(max_length=1_000)] = ""


class _Response(BaseModel):
    jsonrpc: Literal["2.0"]
    id: int
    error: _Error | None = None
    result: object = None


@dataclass(frozen=True)
class KodiRpc:
    """Kodi's web server at `url` (such as `http://tv.lan:8080`); the fetcher sets how long an answer may take."""

    url: str
    fetcher: Fetcher
    user: str = ""
    password: SecretStr | None = None
    _ids: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    async def call(self, method: str, params: Params | None = None, *, refused: Code = "unreachable") -> object:
        """Return the result of a method.

        Raises:
            PlayerError: `refused` if Kodi does not do it; "unreachable" if it does not answer.
        """
        id = next(self._ids)
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        try:
            answer = await self.fetcher.answer(f"{self.url.rstrip('/')}/jsonrpc", body=request, headers=self._headers())
            response = _Response.model_validate(answer)
        except NotFetched as fault:
            raise self.unreachable(str(fault)) from fault
        except ValidationError:
            raise self.unreachable("its answer is no JSON-RPC 2.0") from None
        if response.id != id:
            raise self.unreachable("it answered another request")
        if response.error is None:
            return response.result
        if response.error.code == METHOD_NOT_FOUND or refused == "unreachable":
            raise self.unreachable(f"{method} was refused with {response.error.code}; is it older than Kodi 18?")
        raise PlayerError(refused)

    def unreachable(self, reason: str) -> PlayerError:
        """Return the error to raise, which tells the operator why there is no good answer, and what to look at."""
        hint = "check KODI_USER and KODI_PASSWORD" if reason.endswith(" 401") else "check KODI_URL, and Kodi"
        return PlayerError("unreachable", reason=f"Kodi at {self.url}: {reason}; {hint}")

    def _headers(self) -> dict[str, str]:
        # Kodi may close a connection that was kept just when the next request is sent on it.
        headers = {"Connection": "close"}
        if self.password is not None:
            pair = f"{self.user}:{self.password.get_secret_value()}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers


def _text(value: object, longest: int = LONGEST_NAME) -> str:
    return " ".join(clean(value[: 2 * longest]).split())[:longest] if isinstance(value, str) else ""


def _genres(value: object) -> tuple[str, ...]:
    names = map(_text, value[:MOST_GENRES]) if isinstance(value, list) else ()
    return tuple(dict.fromkeys(name.lower() for name in names if name))


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and 0 <= value < 1_000_000 else 0


Text = Annotated[str, BeforeValidator(_text)]
Number = Annotated[float, BeforeValidator(_number)]


class Resume(BaseModel):
    """Where a title was left; seconds."""

    position: Number = 0
    total: Number = 0


class Row(BaseModel):
    """A film, a series or an episode as Kodi has it. A wrong value counts as a missing one; 0 and "" mean missing."""

    id: int = Field(ge=1, strict=True, validation_alias=AliasChoices("movieid", "episodeid", "tvshowid"))
    tvshowid: Number = 0
    title: Text = ""
    originaltitle: Text = ""
    plot: Annotated[str, BeforeValidator(lambda value: _text(value, LONGEST_PLOT))] = ""
    genre: Annotated[tuple[str, ...], BeforeValidator(_genres)] = ()
    year: Number = 0
    firstaired: Text = ""
    mpaa: Text = ""
    rating: Number = 0
    userrating: Number = 0
    playcount: Number = 0
    lastplayed: Text = ""
    runtime: Number = 0
    resume: Resume = Resume()
    file: str = Field(default="", max_length=4_000)
    season: Number = 0
    episode: Number = 0
    """The number of an episode; of a series, how many episodes it has."""
    watchedepisodes: Number = 0

    def as_title(self, kind: Kind, series: Title | None = None) -> Title:
        """Return the row as a title; an episode has age and genres of its series."""
        id = f"{kind}-{self.id}"
        title = Title(
            id=id,
            name=self.title or self.originaltitle or id,
            kind=kind,
            other_names=(self.originaltitle,) if self.originaltitle not in ("", self.title) else (),
            year=int(self.year) or None,
            genres=self.genre,
            rating=round(min(self.rating, 10), 1) or None,
            age=age_of(self.mpaa),
            duration=round(self.runtime or self.resume.total) or None,
            plot=self.plot,
            position=0 if self.playcount else int(self.resume.position),
            watched=0 < self.episode <= self.watchedepisodes if kind == "series" else self.playcount > 0,
            liked=self.userrating >= LIKED,
        )
        return self._as_episode(title, series) if series else title

    def _as_episode(self, title: Title, series: Title) -> Title:
        year = self.firstaired[:4]
        return replace(
            title,
            name=self.title or f"{series.name} {self.season:g}x{self.episode:02g}",
            year=int(year) if year.isdecimal() else series.year,
            genres=series.genres,
            rating=title.rating or series.rating,
            age=series.age,
            series=series.id,
            series_name=series.name,
            season=int(self.season),
            episode=int(self.episode),
        )

    def played_at(self, zone: timezone) -> datetime | None:
        """Return when it was played last; None if it was not."""
        try:
            return datetime.fromisoformat(self.lastplayed).replace(tzinfo=zone)
        except ValueError:
            return None


@dataclass(frozen=True)
class KodiLibrary(Player):
    """The library of a Kodi; see `Player`."""

    rpc: KodiRpc

    async def titles(self) -> Sequence[Title]:
        """See `Player`."""
        return [row.as_title(kind) for kind in ("film", "series") for row in await self._all(kind)]

    async def title(self, id: str) -> Title:
        """See `Player`."""
        return (await self.title_and_file(id))[0]

    async def title_and_file(self, id: str) -> tuple[Title, str]:
        """Return a title and the path of its file; a series has none. Raises PlayerError."""
        kind = kind_of(id)
        params = {**key_of(id), "properties": PROPERTIES[kind]}
        answer = await self.rpc.call(f"VideoLibrary.Get{NAMES[kind]}Details", params, refused="no_title")
        row = read(value_in(answer, f"{NAMES[kind].lower()}details"), Row)
        if row is None:
            raise PlayerError("no_title")
        series = await self.title(f"series-{row.tvshowid:g}") if kind == "episode" else None
        return row.as_title(kind, series), row.file

    async def episodes(self, series: str) -> Sequence[Title]:
        """See `Player`."""
        title = await self.title(series)
        if title.kind != "series":
            return []
        rows = await self._all("episode", key_of(series))
        return sorted((row.as_title("episode", title) for row in rows), key=lambda it: it.order)

    async def history(self, since: datetime, until: datetime) -> Sequence[Play]:
        """Return what was played last in a span of time; Kodi notes when a title stops, and only the last time."""
        zone = await self._zone()
        films = await self._played("film", since, until, zone)
        episodes = await self._played("episode", since, until, zone)
        shows = {id: await self.title(f"series-{id:g}") for id in {row.tvshowid for row, _ in episodes}}
        plays = [Play(title=row.as_title("film"), at=at) for row, at in films]
        plays += [Play(title=row.as_title("episode", shows[row.tvshowid]), at=at) for row, at in episodes]
        return sorted(plays, key=lambda play: play.at, reverse=True)

    async def set_liked(self, id: str, liked: bool) -> Title:
        """Rate a title with 10, or take the rating away."""
        title = await self.title(id)
        if title.liked != liked:
            await self._set(id, {"userrating": 10 if liked else 0})
        return await self.title(id)

    async def set_watched(self, id: str, watched: bool) -> Title:
        """Set the play count to 1 or 0."""
        title = await self.title(id)
        for each in await self.episodes(id) if title.kind == "series" else [title]:
            if each.watched != watched:
                await self._set(each.id, {"playcount": int(watched)})
        return await self.title(id)

    async def _set(self, id: str, values: Params) -> None:
        await self.rpc.call(f"VideoLibrary.Set{NAMES[kind_of(id)]}Details", {**key_of(id), **values})

    async def _all(
        self, kind: Kind, params: Params | None = None, is_over: Callable[[Sequence[Row]], bool] = lambda page: False
    ) -> list[Row]:
        """Return all rows, or those until a page after which it `is_over`."""
        rows: list[Row] = []
        for start in range(0, MOST_TITLES, PAGE):
            page, total = await self._page(kind, start, params or {})
            rows += page
            if start + PAGE >= total or is_over(page):
                return rows
        LOG.warning("Kodi has more than %s titles of one kind; the others are left out", MOST_TITLES)
        return rows

    async def _played(self, kind: Kind, since: datetime, until: datetime, zone: timezone) -> list[tuple[Row, datetime]]:
        def is_over(page: Sequence[Row]) -> bool:
            return any((at := row.played_at(zone)) is None or at < since for row in page)

        rows = await self._all(kind, {"sort": LATEST_FIRST}, is_over)
        return [(row, at) for row in rows if (at := row.played_at(zone)) and since <= at < until]

    async def _page(self, kind: Kind, start: int, params: Params) -> tuple[list[Row], int]:
        """Return a page of rows, and how many rows there are in all."""
        limits = {"start": start, "end": start + PAGE}
        method = f"VideoLibrary.Get{NAMES[kind]}s"
        answer = await self.rpc.call(method, {"properties": PROPERTIES[kind], "limits": limits, **params})
        entries = value_in(answer, f"{NAMES[kind].lower()}s")
        rows = [read(entry, Row) for entry in (entries if isinstance(entries, list) else [])]
        return [row for row in rows if row], number_in(answer, "limits", "total")

    async def _zone(self) -> timezone:
        """Return the time zone that Kodi's clock shows now."""
        labels = await self.rpc.call("XBMC.GetInfoLabels", {"labels": CLOCK})
        part = _CLOCK.match(" ".join(str(value_in(labels, name)) for name in CLOCK))
        if part is None:
            raise self.rpc.unreachable("its clock shows no time")
        day, hour, minute, second, half = part.groups()
        hours = int(hour) % 12 + 12 * (half.lower() == "p") if half else int(hour)
        local = datetime.fromisoformat(f"{day} {hours:02}:{minute}:{second}").replace(tzinfo=UTC)
        quarters = round((local - datetime.now(UTC)) / timedelta(minutes=15))
        return timezone(timedelta(minutes=15) * quarters)


def kind_of(id: str) -> Kind:
    """Return what an id names. Raises PlayerError."""
    match = _ID.fullmatch(id)
    kind = next((kind for kind in NAMES if match and kind == match[1]), None)
    if kind is None:
        raise PlayerError("no_title")
    return kind


def key_of(id: str) -> dict[str, int]:
    """Return the parameter by which Kodi knows a title. Raises PlayerError."""
    return {f"{NAMES[kind_of(id)].lower()}id": int(id.rpartition("-")[2])}


def read(entry: object, kind: type[Read]) -> Read | None:
    """Return a part of an answer as a model; None, with a word to the operator, if it does not fit."""
    try:
        return kind.model_validate(entry)
    except ValidationError as fault:
        LOG.warning("Kodi returned a row that is no %s (%s faults)", kind.__name__, fault.error_count())
        return None


def value_in(answer: object, name: str) -> object:
    """Return a part of an answer; None if it has no such part."""
    return answer.get(name) if isinstance(answer, Mapping) else None


def number_in(answer: object, *names: str) -> int:
    """Return a whole number of an answer; 0 if it has none."""
    for name in names:
        answer = value_in(answer, name)
    return answer if isinstance(answer, int) else 0
