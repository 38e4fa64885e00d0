"""The embedded library: a folder of media files, or a catalogue, and a playback in the database.

It has no screen: a title "plays" as long as it lasts. All that is kept survives a restart.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from agents.media import Play, Playback, PlayerError, Title
from agents.media.playback import brought_up, episodes_of
from agents.memory.media_rows import (
    NO_MARK,
    Mark,
    MediaRows,
    PlaybackRow,
    add_play,
    marks_of,
    plays_of,
    set_mark,
    set_playback,
)


@dataclass(frozen=True)
class Holding:
    """A title of a library, and its file; a series has none."""

    title: Title
    path: Path | None = None
    has_file: bool = True
    """Whether it can only be played from its file."""


@dataclass
class Library:
    """The titles of an installation and the players on them: one for each profile.

    `scan` returns all titles, episodes too; it is called again for what is older than `fresh` seconds. `now` tells the
    Unix time in seconds.
    """

    rows: MediaRows
    scan: Callable[[], Sequence[Holding]]
    now: Callable[[], float] = time.time
    fresh: float = 60
    _holdings: Mapping[str, Holding] = field(default_factory=dict)
    _scanned: float | None = None

    def of(self, profile: str) -> "LibraryPlayer":
        """Return the player of a profile."""
        return LibraryPlayer(self, profile)

    async def holdings(self) -> Mapping[str, Holding]:
        """Return all titles by their ids."""
        clock = time.monotonic()
        if self._scanned is None or clock - self._scanned > self.fresh:
            scanned = await asyncio.to_thread(self.scan)
            self._holdings, self._scanned = {holding.title.id: holding for holding in scanned}, clock
        return self._holdings


Work = Callable[[sqlite3.Connection, PlaybackRow], PlaybackRow]


@dataclass(frozen=True)
class LibraryPlayer:
    """A profile's player on the library; see `agents.media.Player`."""

    library: Library
    profile: str

    async def titles(self) -> Sequence[Title]:
        """Return all films and series."""
        return [title for title in (await self._marked()).values() if title.kind != "episode"]

    async def title(self, id: str) -> Title:
        """Return one title. Raises PlayerError."""
        if title := (await self._marked()).get(id):
            return title
        raise PlayerError("no_title")

    async def episodes(self, series: str) -> Sequence[Title]:
        """Return the episodes of a series. Raises PlayerError."""
        marked = await self._marked()
        if series not in marked:
            raise PlayerError("no_title")
        return episodes_of(series, marked)

    async def history(self, since: datetime, until: datetime) -> Sequence[Play]:
        """Return what was played in a span of time and is still there, each title once."""
        marked = await self._marked()
        span = (round(since.timestamp() * 1000), round(until.timestamp() * 1000))
        plays = await self.library.rows.write(lambda db: plays_of(db, self.profile, *span))
        times = ((title, datetime.fromtimestamp(at_ms / 1000, UTC)) for title, at_ms in plays)
        return [Play(title=marked[title], at=at) for title, at in times if title in marked]

    async def now(self) -> Playback:
        """Return what plays."""
        return await self._change(lambda _, row: row)

    async def play(self, id: str, position: int = 0) -> Playback:
        """Play a title. Raises PlayerError."""
        holding = (await self.library.holdings()).get(id)
        if holding is None:
            raise PlayerError("no_title")
        if holding.title.kind == "series":
            raise PlayerError("not_playable", holding.title)
        path = holding.path
        if holding.has_file and (path is None or not await asyncio.to_thread(path.is_file)):
            raise PlayerError("missing_file", holding.title)

        def work(db: sqlite3.Connection, row: PlaybackRow) -> PlaybackRow:
            now_ms = self._now_ms()
            if row.title != id:
                self._leave(db, row)
                add_play(db, self.profile, id, now_ms)
            return replace(row, title=id, state="playing", position=position * 1000, since_ms=now_ms, off_at_end=False)

        return await self._change(work)

    async def pause(self) -> Playback:
        """Pause. Raises PlayerError."""
        return await self._change(lambda _, row: replace(self._playing(row), state="paused"))

    async def resume(self) -> Playback:
        """Go on. Raises PlayerError."""
        return await self._change(lambda _, row: replace(self._playing(row), state="playing", since_ms=self._now_ms()))

    async def stop(self) -> Playback:
        """Stop, and keep the position. Raises PlayerError."""

        def work(db: sqlite3.Connection, row: PlaybackRow) -> PlaybackRow:
            self._leave(db, self._playing(row))
            return replace(row, title="", state="stopped", position=0, off_at_end=False)

        return await self._change(work)

    async def set_volume(self, percent: int) -> Playback:
        """Set the volume."""
        return await self._change(lambda _, row: replace(row, volume=percent))

    async def set_off_at_end(self, off: bool) -> Playback:
        """Say whether playback stops at the end of the title. Raises PlayerError."""
        return await self._change(lambda _, row: replace(self._playing(row), off_at_end=off))

    async def set_liked(self, id: str, liked: bool) -> Title:
        """Like a title, or not. Raises PlayerError."""
        await self.title(id)
        await self.library.rows.write(lambda db: set_mark(db, self.profile, id, "liked", liked))
        return await self.title(id)

    async def set_watched(self, id: str, watched: bool) -> Title:
        """Mark a title as watched, or not; its position comes back with "not". Raises PlayerError."""
        title = await self.title(id)
        ids = [episode.id for episode in await self.episodes(id)] if title.kind == "series" else [id]

        def work(db: sqlite3.Connection) -> None:
            for each in ids:
                set_mark(db, self.profile, each, "watched", watched)

        await self.library.rows.write(work)
        return await self.title(id)

    async def _marked(self) -> dict[str, Title]:
        """Return all titles as the profile has them."""
        holdings, now_ms = await self.library.holdings(), self._now_ms()
        titles = {id: holding.title for id, holding in holdings.items()}

        def work(db: sqlite3.Connection) -> Mapping[str, Mark]:
            brought_up(db, self.profile, titles, now_ms)
            return marks_of(db, self.profile)

        marks = await self.library.rows.write(work)
        marked = {id: _with_mark(title, marks.get(id, NO_MARK)) for id, title in titles.items()}
        for title in [title for title in marked.values() if title.kind == "series"]:
            episodes = episodes_of(title.id, marked)
            marked[title.id] = replace(title, watched=bool(episodes) and all(it.watched for it in episodes))
        return marked

    async def _change(self, work: Work) -> Playback:
        holdings, now_ms = await self.library.holdings(), self._now_ms()
        titles = {id: holding.title for id, holding in holdings.items()}

        def changed(db: sqlite3.Connection) -> PlaybackRow:
            before = brought_up(db, self.profile, titles, now_ms)
            after = work(db, before)
            if after != before:
                set_playback(db, self.profile, after)
            return after

        row = await self.library.rows.write(changed)
        title = (await self._marked()).get(row.title)
        if title is None:
            return Playback(state="stopped", volume=row.volume)
        return Playback(
            state=row.state, volume=row.volume, title=title, position=row.position // 1000, off_at_end=row.off_at_end
        )

    def _playing(self, row: PlaybackRow) -> PlaybackRow:
        if not row.title:
            raise PlayerError("nothing_plays")
        return row

    def _leave(self, db: sqlite3.Connection, row: PlaybackRow) -> None:
        if row.title:
            set_mark(db, self.profile, row.title, "position", row.position // 1000)

    def _now_ms(self) -> int:
        return round(self.library.now() * 1000)


def _with_mark(title: Title, mark: Mark) -> Title:
    position = 0 if mark.watched else mark.position
    return replace(title, position=position, watched=mark.watched, liked=mark.liked)
