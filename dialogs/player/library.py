"""The embedded library: a folder of media files, or a small catalogue, and a playback in the database.

It has no screen: a title "plays" as long as it lasts. Whoever looks brings the playback up to the present, so that all
that is kept survives a restart.
"""

import asyncio
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from dialogs.player.players import Kind, Play, Playback, Player, PlayerError, Players, State, Title
from dialogs.player.store import Mark, MediaStore, PlaybackRow, ProfileRows

FRESH_SECONDS = 60
"""How old what was read of a folder may be."""
Change = Callable[[ProfileRows, PlaybackRow], PlaybackRow]
"""Takes what is kept of a profile and what plays; returns what plays after the change."""
FILE = Path(__file__).with_name("catalogue.toml")


@dataclass(frozen=True)
class Holding:
    """A title of a library, and its file; a series has none."""

    title: Title
    path: Path | None = None
    has_file: bool = True
    """Whether it can only be played from its file."""


@dataclass
class Library(Players):
    """The titles of an installation, and a player on them for each profile; `scan` returns all titles."""

    store: MediaStore
    scan: Callable[[], Sequence[Holding]]
    fresh: float = FRESH_SECONDS
    _holdings: Mapping[str, Holding] = field(default_factory=dict)
    _scanned: float | None = None

    def of(self, profile: str) -> "LibraryPlayer":
        """Return the player of a profile."""
        return LibraryPlayer(self, profile)

    async def file(self, title: Title) -> str | None:
        """See `Players`; a title of the catalogue needs no file."""
        holding = (await self.holdings())[title.id]
        return str(holding.path) if holding.path else None if holding.has_file else ""

    async def holdings(self) -> Mapping[str, Holding]:
        """Return all titles by their ids."""
        clock = time.monotonic()
        if self._scanned is None or clock - self._scanned > self.fresh:
            scanned = await asyncio.to_thread(self.scan)
            self._holdings, self._scanned = {holding.title.id: holding for holding in scanned}, clock
        return self._holdings


@dataclass(frozen=True)
class LibraryPlayer(Player):
    """A profile's player on the library; see `Player`."""

    library: Library
    profile: str

    async def titles(self) -> Sequence[Title]:
        """See `Player`."""
        return [title for title in (await self._titles()).values() if title.kind != "episode"]

    async def title(self, id: str) -> Title:
        """See `Player`."""
        if title := (await self._titles()).get(id):
            return title
        raise PlayerError("no_title")

    async def episodes(self, series: str) -> Sequence[Title]:
        """See `Player`."""
        titles = await self._titles()
        if series not in titles:
            raise PlayerError("no_title")
        return episodes_of(series, titles)

    async def history(self, since: datetime, until: datetime) -> Sequence[Play]:
        """Return what was played in a span of time and is still there, each title once."""
        titles = await self._titles()
        span = (round(since.timestamp() * 1000), round(until.timestamp() * 1000))
        plays = await self.library.store.of(self.profile, lambda rows: rows.plays(*span))
        times = ((title, datetime.fromtimestamp(at_ms / 1000, UTC)) for title, at_ms in plays)
        return [Play(title=titles[title], at=at) for title, at in times if title in titles]

    async def now(self) -> Playback:
        """See `Player`."""
        return await self._change(lambda _, row: row)

    async def play(self, id: str, position: int = 0) -> Playback:
        """See `Player`."""
        holding = (await self.library.holdings()).get(id)
        if holding is None:
            raise PlayerError("no_title")
        if holding.title.kind == "series":
            raise PlayerError("not_playable", holding.title)
        path = holding.path
        if holding.has_file and (path is None or not await asyncio.to_thread(path.is_file)):
            raise PlayerError("missing_file", holding.title)

        def change(rows: ProfileRows, row: PlaybackRow) -> PlaybackRow:
            if row.title != id:
                _keep_position(rows, row)
                rows.add_play(id, rows.now_ms)
            volume, position_ms = row.volume, position * 1000
            return PlaybackRow(id, "playing", position_ms, rows.now_ms, volume)

        return await self._change(change)

    async def pause(self) -> Playback:
        """See `Player`."""
        return await self._set_state("paused")

    async def resume(self) -> Playback:
        """See `Player`."""
        return await self._set_state("playing")

    async def stop(self) -> Playback:
        """See `Player`."""

        def change(rows: ProfileRows, row: PlaybackRow) -> PlaybackRow:
            _keep_position(rows, _playing(row))
            return PlaybackRow(volume=row.volume)

        return await self._change(change)

    async def set_volume(self, percent: int) -> Playback:
        """See `Player`."""
        return await self._change(lambda _, row: replace(row, volume=percent))

    async def set_off_at_end(self, off: bool) -> Playback:
        """See `Player`."""
        return await self._change(lambda _, row: replace(_playing(row), off_at_end=off))

    async def set_liked(self, id: str, liked: bool) -> Title:
        """See `Player`."""
        await self.title(id)
        await self.library.store.of(self.profile, lambda rows: rows.mark(id, "liked", liked))
        return await self.title(id)

    async def set_watched(self, id: str, watched: bool) -> Title:
        """See `Player`; what is marked as not watched has its old position again."""
        title = await self.title(id)
        ids = [episode.id for episode in await self.episodes(id)] if title.kind == "series" else [id]

        def work(rows: ProfileRows) -> None:
            for each in ids:
                rows.mark(each, "watched", watched)

        await self.library.store.of(self.profile, work)
        return await self.title(id)

    async def _set_state(self, state: State) -> Playback:
        return await self._change(lambda rows, row: replace(_playing(row), state=state, since_ms=rows.now_ms))

    async def _titles(self) -> Mapping[str, Title]:
        titles = await self._plain_titles()

        def work(rows: ProfileRows) -> Mapping[str, Title]:
            brought_up(rows, titles)
            return marked(titles, rows.marks())

        return await self.library.store.of(self.profile, work)

    async def _change(self, change: Change) -> Playback:
        titles = await self._plain_titles()

        def work(rows: ProfileRows) -> Playback:
            before = brought_up(rows, titles)
            row = change(rows, before)
            if row != before:
                rows.play(row)
            title = marked(titles, rows.marks()).get(row.title)
            if title is None:
                return Playback(state="stopped", volume=row.volume)
            position = row.position // 1000
            return Playback(
                state=row.state, volume=row.volume, title=title, position=position, off_at_end=row.off_at_end
            )

        return await self.library.store.of(self.profile, work)

    async def _plain_titles(self) -> Mapping[str, Title]:
        return {id: holding.title for id, holding in (await self.library.holdings()).items()}


def brought_up(rows: ProfileRows, titles: Mapping[str, Title]) -> PlaybackRow:
    """Bring a profile's playback up to the present, and return it.

    Each title that has ended meanwhile is marked as watched; then the next episode plays, or nothing.
    """
    row = rows.playback()
    while (end_ms := _end_of(row, titles)) is not None and end_ms <= rows.now_ms:
        rows.mark(row.title, "watched", 1)
        rows.mark(row.title, "position", 0)
        following = None if row.off_at_end else _episode_after(titles[row.title], titles)
        if following:
            row = PlaybackRow(following.id, "playing", 0, end_ms, row.volume)
            rows.add_play(following.id, end_ms)
        else:
            row = PlaybackRow(volume=row.volume)
        rows.play(row)
    if row.state != "playing":
        return row
    return replace(row, position=row.position + max(rows.now_ms - row.since_ms, 0), since_ms=rows.now_ms)


def marked(titles: Mapping[str, Title], marks: Mapping[str, Mark]) -> Mapping[str, Title]:
    """Return titles with their marks; a series is watched when all its episodes are."""
    titles = {id: _with_mark(title, marks.get(id, Mark())) for id, title in titles.items()}
    seen: dict[str, bool] = {}
    for title in titles.values():
        if title.series:
            seen[title.series] = seen.get(title.series, True) and title.watched
    return {
        id: replace(title, watched=seen.get(id, False)) if title.kind == "series" else title
        for id, title in titles.items()
    }


def episodes_of(series: str, titles: Mapping[str, Title]) -> list[Title]:
    """Return the episodes of a series in their order."""
    return sorted((it for it in titles.values() if series and it.series == series), key=lambda it: it.order)


def _episode_after(title: Title, titles: Mapping[str, Title]) -> Title | None:
    return next((it for it in episodes_of(title.series, titles) if it.order > title.order), None)


def _end_of(row: PlaybackRow, titles: Mapping[str, Title]) -> int | None:
    """Return when a title ends by itself, in Unix milliseconds; None if it does not, or its length is unknown."""
    title = titles.get(row.title)
    if row.state != "playing" or title is None or not title.duration:
        return None
    return row.since_ms + title.duration * 1000 - row.position


def _playing(row: PlaybackRow) -> PlaybackRow:
    if not row.title:
        raise PlayerError("nothing_plays")
    return row


def _keep_position(rows: ProfileRows, row: PlaybackRow) -> None:
    if row.title:
        rows.mark(row.title, "position", row.position // 1000)


def _with_mark(title: Title, mark: Mark) -> Title:
    position = 0 if mark.watched else mark.position
    return replace(title, position=position, watched=mark.watched, liked=mark.liked)


class Season(BaseModel):
    """The episodes of one season, which last equally long, in seconds."""

    duration: int
    episodes: list[str]


class Entry(BaseModel):
    """A film, or a series with its seasons."""

    name: str
    kind: Kind = "film"
    year: int
    genres: tuple[str, ...]
    rating: float
    age: int
    duration: int | None = None
    seasons: list[Season] = []


@cache
def catalogue_titles() -> tuple[Holding, ...]:
    """Return the titles of the catalogue; they are played without a file."""
    entries = TypeAdapter(list[Entry]).validate_python(tomllib.loads(FILE.read_text("utf-8"))["titles"])
    return tuple(Holding(title, has_file=False) for entry in entries for title in _titles(entry))


def _titles(entry: Entry) -> Iterator[Title]:
    id = "".join(letter for letter in entry.name.lower() if letter.isalnum())
    title = Title(id=id, **entry.model_dump(exclude={"seasons"}))
    yield title
    for season, part in enumerate(entry.seasons, 1):
        for number, name in enumerate(part.episodes, 1):
            yield replace(
                title,
                id=f"{id}-{season}-{number}",
                name=name,
                kind="episode",
                duration=part.duration,
                series=id,
                series_name=title.name,
                season=season,
                episode=number,
            )
