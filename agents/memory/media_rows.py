"""What was played, how far, and what is liked: by profile, which one or several users have."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.memory.connection import Connection, Row, T, Work
from agents.memory.schema import Tables

TABLES = Tables(
    "media",
    (
        """
CREATE TABLE media_viewers (
    user TEXT NOT NULL, device TEXT NOT NULL, profile TEXT NOT NULL, age INTEGER, PRIMARY KEY (user, device));
CREATE TABLE media_plays (
    profile TEXT NOT NULL, at_ms INTEGER NOT NULL, title TEXT NOT NULL, PRIMARY KEY (profile, at_ms));
CREATE TABLE media_marks (
    profile TEXT NOT NULL, title TEXT NOT NULL, position INTEGER NOT NULL DEFAULT 0,
    watched INTEGER NOT NULL DEFAULT 0, liked INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (profile, title));
CREATE TABLE media_playback (
    profile TEXT PRIMARY KEY, title TEXT NOT NULL, state TEXT NOT NULL, position INTEGER NOT NULL,
    since_ms INTEGER NOT NULL, volume INTEGER NOT NULL, off_at_end INTEGER NOT NULL);
""",
    ),
)
OF_PROFILE = ("media_plays", "media_marks", "media_playback")
VIEWER = "SELECT profile, age FROM media_viewers WHERE user = ? AND device IN ('', ?) ORDER BY device DESC"
MARK = """
INSERT INTO media_marks (profile, title, {column}) VALUES (?, ?, ?)
ON CONFLICT (profile, title) DO UPDATE SET {column} = excluded.{column}
"""
LATEST = "SELECT title, max(at_ms) FROM media_plays WHERE profile = ? AND at_ms >= ? AND at_ms < ? GROUP BY title"
Column = Literal["position", "watched", "liked"]


@dataclass(frozen=True)
class Mark:
    """What a profile has to do with a title; `position` counts seconds."""

    position: int = 0
    watched: bool = False
    liked: bool = False


NO_MARK = Mark()


@dataclass(frozen=True)
class PlaybackRow:
    """What a profile plays, as it stood at `since_ms`; the title is an id, empty if nothing plays."""

    title: str = ""
    state: Literal["playing", "paused", "stopped"] = "stopped"
    position: int = 0
    """Milliseconds from the start of the title."""
    since_ms: int = 0
    volume: int = 50
    off_at_end: bool = False


class MediaRows:
    """The tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def write(self, work: Work[T]) -> T:
        """Do `work` in a transaction; return what it returns."""
        return await self._connection.write(work)

    async def viewer(self, user: str, device: str) -> Row | None:
        """Return the profile and the age limit of a user who speaks through the door of a device, if they have one."""
        rows = await self._connection.execute(VIEWER, (user, device))
        return rows[0] if rows else None

    async def viewers(self) -> list[Row]:
        """Return user, device (empty: every one), profile and age limit of all viewers."""
        return await self._connection.execute(
            "SELECT user, device, profile, age FROM media_viewers ORDER BY user, device"
        )

    async def set_viewer(self, user: str, device: str, profile: str, age: int | None) -> None:
        """Say which profile a user has through every door, or through that of one device alone."""
        sql, values = "INSERT OR REPLACE INTO media_viewers VALUES (?, ?, ?, ?)", (user, device, profile, age)
        await self.write(lambda db: db.execute(sql, values).rowcount)

    async def remove_viewer(self, user: str) -> bool:
        """Say that a user has no profile; False if they had none."""
        sql = "DELETE FROM media_viewers WHERE user = ?"
        return await self.write(lambda db: db.execute(sql, (user,)).rowcount) > 0

    async def erase(self, users: Sequence[str]) -> None:
        """Remove what the profiles of these users hold, but for those that somebody else has as well.

        Who has which profile, and the age limit, are the operator's words and stay.
        """

        def work(db: sqlite3.Connection) -> None:
            rows = db.execute("SELECT user, profile FROM media_viewers").fetchall()
            profiles = {*users, *(profile for user, profile in rows if user in users)}
            profiles -= {profile for user, profile in rows if user not in users}
            for table in OF_PROFILE:
                db.executemany(f"DELETE FROM {table} WHERE profile = ?", [(profile,) for profile in profiles])

        await self.write(work)


def marks_of(db: sqlite3.Connection, profile: str) -> dict[str, Mark]:
    """Return the marks of a profile by title."""
    rows = db.execute("SELECT title, position, watched, liked FROM media_marks WHERE profile = ?", (profile,))
    return {title: Mark(position, bool(watched), bool(liked)) for title, position, watched, liked in rows}


def set_mark(db: sqlite3.Connection, profile: str, title: str, column: Column, value: int) -> None:
    """Set one part of a mark."""
    db.execute(MARK.format(column=column), (profile, title, value))


def playback_of(db: sqlite3.Connection, profile: str) -> PlaybackRow:
    """Return what a profile plays."""
    row = db.execute("SELECT * FROM media_playback WHERE profile = ?", (profile,)).fetchone()
    if row is None:
        return PlaybackRow()
    _, title, state, position, since_ms, volume, off = row
    return PlaybackRow(title, state, position, since_ms, volume, bool(off))


def set_playback(db: sqlite3.Connection, profile: str, row: PlaybackRow) -> None:
    """Write what a profile plays."""
    values = (profile, row.title, row.state, row.position, row.since_ms, row.volume, row.off_at_end)
    db.execute("INSERT OR REPLACE INTO media_playback VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def add_play(db: sqlite3.Connection, profile: str, title: str, at_ms: int) -> None:
    """Note that a title was begun at a time."""
    db.execute("INSERT OR REPLACE INTO media_plays VALUES (?, ?, ?)", (profile, at_ms, title))


def plays_of(db: sqlite3.Connection, profile: str, since_ms: int, until_ms: int) -> list[Row]:
    """Return titles with the time when they were begun last in a span of time, the latest first."""
    return sorted(db.execute(LATEST, (profile, since_ms, until_ms)).fetchall(), key=lambda row: -row[1])
