"""The embedded library: a folder of media files, or a small catalogue, and a playback in the database.

It has no screen: a title "plays" for its length. Each access brings the playback up to the present, so that it
survives a restart.
"""

import asyncio
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from dialogs.player.players import MediaPlayer, Playback, PlayerError, State, Title
from dialogs.player.store import Mark, MediaStore, PlaybackRow, ProfileRows

FRESH_SECONDS = 60
"""The seconds for which a read folder counts as fresh."""
Change = Callable[[ProfileRows, PlaybackRow], PlaybackRow]
"""Takes the rows of a profile and its playback; returns the changed playback."""
CATALOGUE = Path(__file__).with_name("catalogue.toml")


@dataclass
class Library:
    """The titles of an installation, without any profile's marks; `scan` returns all titles."""

    store: MediaStore
    scan: Callable[[], Sequence[Title]]
    _titles: Mapping[str, Title] = field(default_factory=dict)
    _scanned: float | None = None

    async def titles(self) -> Mapping[str, Title]:
        """Return all titles by their ids."""
        clock = time.monotonic()
        if self._scanned is None or clock - self._scanned > FRESH_SECONDS:
            scanned = await asyncio.to_thread(self.scan)
            self._titles, self._scanned = {title.id: title for title in scanned}, clock
        return self._titles


@dataclass(frozen=True)
class LibraryPlayer(MediaPlayer):
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

    async def history(self, since: datetime, until: datetime) -> Sequence[Title]:
        """Return the titles played in a span of time that still exist, each once."""
        titles = await self._titles()
        span = (round(since.timestamp() * 1000), round(until.timestamp() * 1000))
        ids = await self.library.store.of(self.profile, lambda rows: rows.plays(*span))
        return [titles[id] for id in ids if id in titles]

    async def now(self) -> Playback:
        """See `Player`."""
        return await self._change(lambda _, row: row)

    async def play(self, id: str, position: int = 0) -> Playback:
        """See `Player`."""
        title = await self.title(id)
        if title.kind == "series":
            raise PlayerError("not_playable", title)
        if title.file and not await asyncio.to_thread(Path(title.file).is_file):
            raise PlayerError("missing_file", title)

        def change(rows: ProfileRows, row: PlaybackRow) -> PlaybackRow:
            if row.title != id:
                _keep_position(rows, row)
                rows.add_play(id, rows.now_ms)
            return PlaybackRow(id, "playing", position * 1000, rows.now_ms, row.volume)

        return await self._change(change)

    async def set_state(self, state: State) -> Playback:
        """See `Player`."""

        def change(rows: ProfileRows, row: PlaybackRow) -> PlaybackRow:
            if state != "stopped":
                return replace(_playing(row), state=state, since_ms=rows.now_ms)
            _keep_position(rows, _playing(row))
            return PlaybackRow(volume=row.volume)

        return await self._change(change)

    async def set_volume(self, percent: int) -> Playback:
        """See `Player`."""
        return await self._change(lambda _, row: replace(row, volume=percent))

    async def set_off_at_end(self, off: bool) -> Playback:
        """See `Player`."""
        return await self._change(lambda _, row: replace(_playing(row), off_at_end=off))

    async def mark(self, id: str, *, liked: bool | None = None, watched: bool | None = None) -> Title:
        """See `Player`; a title that gets the mark "not watched" gets its old position back."""
        title = await self.title(id)
        ids = [episode.id for episode in await self.episodes(id)] if title.kind == "series" else [id]

        def work(rows: ProfileRows) -> None:
            if liked is not None:
                rows.mark(id, "liked", liked)
            if watched is not None:
                for each in ids:
                    rows.mark(each, "watched", watched)

        await self.library.store.of(self.profile, work)
        return await self.title(id)

    async def _titles(self) -> Mapping[str, Title]:
        titles = await self.library.titles()

        def work(rows: ProfileRows) -> Mapping[str, Title]:
            brought_up(rows, titles)
            return marked(titles, rows.marks())

        return await self.library.store.of(self.profile, work)

    async def _change(self, change: Change) -> Playback:
        titles = await self.library.titles()

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


def brought_up(rows: ProfileRows, titles: Mapping[str, Title]) -> PlaybackRow:
    """Bring a profile's playback up to the present, and return it.

    Each title that has ended meanwhile is marked as watched; then the next episode plays, or nothing.
    """
    row = rows.playback()
    while (end_ms := _end_of(row, titles)) is not None and end_ms <= rows.now_ms:
        rows.mark(row.title, "watched", 1)
        rows.mark(row.title, "position", 0)
        title = titles[row.title]
        later = [] if row.off_at_end else [it for it in episodes_of(title.series, titles) if it.order > title.order]
        if later:
            row = PlaybackRow(later[0].id, "playing", 0, end_ms, row.volume)
            rows.add_play(row.title, end_ms)
        else:
            row = PlaybackRow(volume=row.volume)
        rows.play(row)
    if row.state != "playing":
        return row
    return replace(row, position=row.position + max(rows.now_ms - row.since_ms, 0), since_ms=rows.now_ms)


def marked(titles: Mapping[str, Title], marks: Mapping[str, Mark]) -> Mapping[str, Title]:
    """Return titles with their marks; a series is watched when all its episodes are."""
    titles = {id: replace(title, **asdict(marks.get(id, Mark()))) for id, title in titles.items()}
    watched: dict[str, bool] = {}
    for title in titles.values():
        if title.series:
            watched[title.series] = watched.get(title.series, True) and title.watched
    return {
        id: replace(title, watched=watched.get(id, False)) if title.kind == "series" else title
        for id, title in titles.items()
    }


def episodes_of(series: str, titles: Mapping[str, Title]) -> list[Title]:
    """Return the episodes of a series in their order."""
    return sorted((it for it in titles.values() if series and it.series == series), key=lambda it: it.order)


def _end_of(row: PlaybackRow, titles: Mapping[str, Title]) -> int | None:
    """Return the time at which a title ends by itself, in Unix ms; None if it is paused, or its length is unknown."""
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


@cache
def catalogue_titles() -> tuple[Title, ...]:
    """Return the titles of the catalogue; they play without a file."""
    entries = tomllib.loads(CATALOGUE.read_text("utf-8"))["titles"]
    return tuple(title for entry in entries for title in _titles(**entry))


def _titles(*, name: str, genres: Sequence[str], seasons: Sequence[Any] = (), **facts: Any) -> Iterator[Title]:
    id = "".join(letter for letter in name.lower() if letter.isalnum())
    title = Title(id=id, name=name, genres=tuple(genres), **facts)
    yield title
    for season, part in enumerate(seasons, 1):
        for number, episode_name in enumerate(part["episodes"], 1):
            yield replace(
                title,
                id=f"{id}-{season}-{number}",
                name=episode_name,
                kind="episode",
                duration=part["duration"],
                series=id,
                series_name=title.name,
                season=season,
                episode=number,
            )
