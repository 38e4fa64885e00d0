"""Kodi's library: its titles, what was played, what is liked and watched."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Generic, TypeVar

from agents.media import Play, PlayerError, Title
from agents.media.kodi.rows import EPISODE, FILM, SERIES, EpisodeRow, FilmRow, SeriesRow, read_row, read_rows
from agents.media.kodi.rpc import KodiRpc, Params
from agents.media.playback import order_of

LOG = logging.getLogger(__name__)
PAGE = 200
"""Titles in one answer."""
MOST = 20_000
"""Titles of a library that are read."""
LATEST = {"method": "lastplayed", "order": "descending"}
CLOCK = ("System.Date(yyyy-mm-dd)", "System.Time(hh:mm:ss xx)")
"""Kodi's labels for its local time; `xx` is AM or PM where the clock has twelve hours, else nothing."""
_CLOCK = re.compile(r"(\d{4}-\d\d-\d\d) (\d{1,2}):(\d\d):(\d\d)\s*([AaPp]?)")
_ID = re.compile(r"(film|series|episode)-([1-9]\d{0,8})")
Row = TypeVar("Row", FilmRow, SeriesRow, EpisodeRow)
Playable = TypeVar("Playable", FilmRow, EpisodeRow)


@dataclass(frozen=True)
class Source(Generic[Row]):
    """One kind of titles; `name` stands in Kodi's methods, and in lower case in its fields."""

    name: str
    properties: Sequence[str]
    row: type[Row]

    @property
    def field(self) -> str:
        """The name of the id."""
        return f"{self.name.lower()}id"


FILMS = Source("Movie", FILM, FilmRow)
SHOWS = Source("TVShow", SERIES, SeriesRow)
EPISODES = Source("Episode", EPISODE, EpisodeRow)
FIELDS = {"film": FILMS.field, "series": SHOWS.field, "episode": EPISODES.field}
SETTERS = {"film": "SetMovieDetails", "series": "SetTVShowDetails", "episode": "SetEpisodeDetails"}


@dataclass(frozen=True)
class KodiLibrary:
    """The library of a Kodi; see `agents.media.Player`."""

    rpc: KodiRpc

    async def titles(self) -> Sequence[Title]:
        """Return all films and series."""
        films, shows = await self._all(FILMS), await self._all(SHOWS)
        return [*(row.as_title() for row in films), *(row.as_title() for row in shows)]

    async def title(self, id: str) -> Title:
        """Return one title. Raises PlayerError."""
        return (await self.title_and_file(id))[0]

    async def title_and_file(self, id: str) -> tuple[Title, str]:
        """Return a title and the path of its file, which a series has not. Raises PlayerError."""
        match kind_of(id):
            case "film":
                film = await self._one(FILMS, id)
                return film.as_title(), film.file
            case "series":
                return (await self._one(SHOWS, id)).as_title(), ""
            case _:
                episode = await self._one(EPISODES, id)
                return episode.as_title(await self.title(f"series-{episode.tvshowid}")), episode.file

    async def episodes(self, series: str) -> Sequence[Title]:
        """Return the episodes of a series, the specials last. Raises PlayerError."""
        title = await self.title(series)
        if title.kind != "series":
            return []
        rows = await self._all(EPISODES, key_of(series))
        return sorted((row.as_title(title) for row in rows), key=order_of)

    async def history(self, since: datetime, until: datetime) -> Sequence[Play]:
        """Return what was played last in a span of time; Kodi notes when a title stops, and only the last time."""
        zone = await self._zone()
        films = await self._played(FILMS, since, until, zone)
        episodes = await self._played(EPISODES, since, until, zone)
        shows = {id: await self.title(f"series-{id}") for id in {row.tvshowid for row, _ in episodes}}
        plays = [Play(title=row.as_title(), at=at) for row, at in films]
        plays += [Play(title=row.as_title(shows[row.tvshowid]), at=at) for row, at in episodes]
        return sorted(plays, key=lambda play: play.at, reverse=True)

    async def set_liked(self, id: str, liked: bool) -> Title:
        """Rate a title with 10, or take the rating away. Raises PlayerError."""
        title = await self.title(id)
        if title.liked != liked:
            await self._set(id, {"userrating": 10 if liked else 0})
        return await self.title(id)

    async def set_watched(self, id: str, watched: bool) -> Title:
        """Set the play count to 1 or 0. Raises PlayerError."""
        title = await self.title(id)
        for each in await self.episodes(id) if title.kind == "series" else [title]:
            if each.watched != watched:
                await self._set(each.id, {"playcount": int(watched)})
        return await self.title(id)

    async def _set(self, id: str, values: Params) -> None:
        await self.rpc.call(f"VideoLibrary.{SETTERS[kind_of(id)]}", {**key_of(id), **values})

    async def _one(self, source: Source[Row], id: str) -> Row:
        params = {**key_of(id), "properties": source.properties}
        answer = await self.rpc.call(f"VideoLibrary.Get{source.name}Details", params, refused="no_title")
        details = answer.get(f"{source.name.lower()}details") if isinstance(answer, Mapping) else None
        if row := read_row(details, source.row):
            return row
        raise PlayerError("no_title")

    async def _all(self, source: Source[Row], params: Params | None = None) -> list[Row]:
        rows: list[Row] = []
        for start in range(0, MOST, PAGE):
            page, total = await self._page(source, start, params or {})
            rows += page
            if start + PAGE >= total:
                return rows
        LOG.warning("Kodi has more than %s titles of one kind; the others are left out", MOST)
        return rows

    async def _played(
        self, source: Source[Playable], since: datetime, until: datetime, zone: timezone
    ) -> list[tuple[Playable, datetime]]:
        """Return what was played in a span of time, the latest first."""
        played: list[tuple[Playable, datetime]] = []
        for start in range(0, MOST, PAGE):
            page, total = await self._page(source, start, {"sort": LATEST})
            times = [(row, row.played_at(zone)) for row in page]
            played += [(row, at) for row, at in times if at and since <= at < until]
            if start + PAGE >= total or any(at is None or at < since for _, at in times):
                break
        return played

    async def _page(self, source: Source[Row], start: int, params: Params) -> tuple[list[Row], int]:
        """Return a page of rows, and how many rows there are in all."""
        limits = {"start": start, "end": start + PAGE}
        method = f"VideoLibrary.Get{source.name}s"
        answer = await self.rpc.call(method, {"properties": source.properties, "limits": limits, **params})
        total = number_in(answer, "limits", "total")
        return read_rows(answer, f"{source.name.lower()}s", source.row), total

    async def _zone(self) -> timezone:
        """Return the time zone that Kodi's clock shows now."""
        labels = await self.rpc.call("XBMC.GetInfoLabels", {"labels": CLOCK})
        shown = " ".join(str(labels.get(name)) for name in CLOCK) if isinstance(labels, Mapping) else ""
        if (part := _CLOCK.match(shown)) is None:
            raise self.rpc.unreachable("its clock shows no time")
        day, hour, minute, second, half = part.groups()
        hours = int(hour) % 12 + 12 * (half.lower() == "p") if half else int(hour)
        local = datetime.fromisoformat(f"{day} {hours:02}:{minute}:{second}").replace(tzinfo=UTC)
        quarters = round((local - datetime.now(UTC)) / timedelta(minutes=15))
        return timezone(timedelta(minutes=15) * quarters)


def kind_of(id: str) -> str:
    """Return what an id names: a film, a series or an episode. Raises PlayerError."""
    if match := _ID.fullmatch(id):
        return match[1]
    raise PlayerError("no_title")


def key_of(id: str) -> dict[str, int]:
    """Return the parameter by which Kodi knows a title. Raises PlayerError."""
    return {FIELDS[kind_of(id)]: int(id.rpartition("-")[2])}


def number_in(answer: object, *names: str) -> int:
    """Return a whole number of an answer; 0 if it has none."""
    for name in names:
        answer = answer.get(name) if isinstance(answer, Mapping) else None
    return answer if isinstance(answer, int) else 0
