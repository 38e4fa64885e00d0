"""A playback without a screen of its own: time passes, a title ends, the next episode begins."""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace

from agents.media import Title
from agents.memory.media_rows import PlaybackRow, add_play, playback_of, set_mark, set_playback


def moved_on(row: PlaybackRow, now_ms: int) -> PlaybackRow:
    """Return a playback at another time, as long as its title has not ended."""
    if row.state != "playing":
        return row
    return replace(row, position=row.position + max(now_ms - row.since_ms, 0), since_ms=now_ms)


def brought_up(db: sqlite3.Connection, profile: str, titles: Mapping[str, Title], now_ms: int) -> PlaybackRow:
    """Bring a profile's playback up to the present, and return it.

    Each title that has ended meanwhile is marked as watched; then the next episode plays, or nothing.
    """
    row = playback_of(db, profile)
    while (end_ms := _end_of(row, titles)) is not None and end_ms <= now_ms:
        set_mark(db, profile, row.title, "watched", 1)
        set_mark(db, profile, row.title, "position", 0)
        following = None if row.off_at_end else after(titles[row.title], titles)
        row = replace(row, title=following.id if following else "", position=0, since_ms=end_ms, off_at_end=False)
        if following:
            add_play(db, profile, following.id, end_ms)
        else:
            row = replace(row, state="stopped")
        set_playback(db, profile, row)
    return moved_on(row, now_ms)


def after(title: Title, titles: Mapping[str, Title]) -> Title | None:
    """Return the episode that follows another one; None if there is none."""
    later = [it for it in episodes_of(title.series, titles) if order_of(it) > order_of(title)] if title.series else []
    return later[0] if later else None


def episodes_of(series: str, titles: Mapping[str, Title]) -> list[Title]:
    """Return the episodes of a series in their order, the specials last."""
    return sorted((it for it in titles.values() if series and it.series == series), key=order_of)


def order_of(episode: Title) -> tuple[bool, int, int]:
    """Return what episodes are ordered by."""
    return episode.season == 0, episode.season or 0, episode.episode or 0


def _end_of(row: PlaybackRow, titles: Mapping[str, Title]) -> int | None:
    """Return when a title ends by itself, in Unix milliseconds; None if it does not, or nobody knows."""
    title = titles.get(row.title)
    if row.state != "playing" or title is None or not title.duration:
        return None
    return row.since_ms + title.duration * 1000 - row.position
