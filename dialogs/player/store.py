"""The history, the positions and the marks of profiles. One or several users share a profile."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, TypeVar

from agents.memory.connection import Connection, Session, Tables
from dialogs.player.players import State, Viewer

Result = TypeVar("Result")
TABLES = Tables(
    "player",
    {
        "make_media": """
        CREATE TABLE IF NOT EXISTS media_viewers (
            user TEXT NOT NULL, device TEXT NOT NULL, profile TEXT NOT NULL, age INTEGER, PRIMARY KEY (user, device));
        CREATE TABLE IF NOT EXISTS media_plays (
            profile TEXT NOT NULL, at_ms INTEGER NOT NULL, title TEXT NOT NULL, PRIMARY KEY (profile, at_ms));
        CREATE TABLE IF NOT EXISTS media_marks (
            profile TEXT NOT NULL, title TEXT NOT NULL, position INTEGER NOT NULL DEFAULT 0,
            watched INTEGER NOT NULL DEFAULT 0, liked INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (profile, title));
        CREATE TABLE IF NOT EXISTS media_playback (
            profile TEXT PRIMARY KEY, title TEXT NOT NULL, state TEXT NOT NULL, position INTEGER NOT NULL,
            since_ms INTEGER NOT NULL, volume INTEGER NOT NULL, off_at_end INTEGER NOT NULL);
        """,
    },
)
OF_PROFILE = ("media_plays", "media_marks", "media_playback")
OWN_DEVICE = "terminal"
"""At this door, each user has a profile of their own without an operator's command."""
MARK = """
INSERT INTO media_marks (profile, title, {column}) VALUES (?, ?, ?)
ON CONFLICT (profile, title) DO UPDATE SET {column} = excluded.{column}
"""
PLAY = """
INSERT INTO media_playback (profile, title, state, position, since_ms, volume, off_at_end)
VALUES (:profile, :title, :state, :position, :since_ms, :volume, :off_at_end)
ON CONFLICT (profile) DO UPDATE SET title = excluded.title, state = excluded.state, position = excluded.position,
since_ms = excluded.since_ms, volume = excluded.volume, off_at_end = excluded.off_at_end
"""
ADD_PLAY = """
INSERT INTO media_plays VALUES (?, ?, ?) ON CONFLICT (profile, at_ms) DO UPDATE SET title = excluded.title
"""
SET_VIEWER = """
INSERT INTO media_viewers (user, device, profile, age) VALUES (:user, :device, :profile, :age)
ON CONFLICT (user, device) DO UPDATE SET profile = excluded.profile, age = excluded.age
"""
LATEST = """
SELECT title FROM media_plays WHERE profile = ? AND at_ms >= ? AND at_ms < ?
GROUP BY title ORDER BY max(at_ms) DESC
"""


@dataclass(frozen=True)
class Mark:
    """A profile's mark on a title; `position` counts seconds, and is 0 for a watched title."""

    position: int = 0
    watched: bool = False
    liked: bool = False


@dataclass(frozen=True)
class PlaybackRow:
    """A profile's playback at `since_ms`; the title is an id, empty if nothing plays."""

    title: str = ""
    state: State = "stopped"
    position: int = 0
    """Milliseconds from the start of the title."""
    since_ms: int = 0
    volume: int = 50
    off_at_end: bool = False


class ProfileRows:
    """The rows of one profile, within a transaction."""

    def __init__(self, database: Session, profile: str, now_ms: int) -> None:
        self._database, self._profile, self.now_ms = database, profile, now_ms

    def marks(self) -> Mapping[str, Mark]:
        """Return the marks by title."""
        rows = self._database.execute(
            "SELECT title, position, watched, liked FROM media_marks WHERE profile = ?", (self._profile,)
        )
        return {
            title: Mark(0 if watched else position, bool(watched), bool(liked))
            for title, position, watched, liked in rows
        }

    def mark(self, title: str, column: Literal["position", "watched", "liked"], value: int) -> None:
        """Set one part of a title's mark."""
        self._database.execute(MARK.format(column=column), (self._profile, title, value))

    def playback(self) -> PlaybackRow:
        """Return the playback of the profile."""
        sql = "SELECT title, state, position, since_ms, volume, off_at_end FROM media_playback WHERE profile = ?"
        row = self._database.execute(sql, (self._profile,)).fetchone()
        if row is None:
            return PlaybackRow()
        title, state, position, since_ms, volume, off_at_end = row
        return PlaybackRow(title, state, position, since_ms, volume, bool(off_at_end))

    def play(self, row: PlaybackRow) -> None:
        """Write the playback of the profile."""
        self._database.execute(PLAY, {"profile": self._profile, **asdict(row)})

    def add_play(self, title: str, at_ms: int) -> None:
        """Note that a title was begun at a time."""
        self._database.execute(ADD_PLAY, (self._profile, at_ms, title))

    def plays(self, since_ms: int, until_ms: int) -> list[str]:
        """Return the titles that were begun in a span of time, the latest first."""
        return [title for (title,) in self._database.execute(LATEST, (self._profile, since_ms, until_ms))]


class MediaStore:
    """The tables of the player; `now` tells the Unix time in seconds."""

    def __init__(self, connection: Connection, now: Callable[[], float] = time.time) -> None:
        self._connection, self.now = connection, now

    async def of(self, profile: str, work: Callable[[ProfileRows], Result]) -> Result:
        """Do `work` on the rows of a profile in one transaction; return its result."""
        now_ms = round(self.now() * 1000)
        return await self._connection.write(lambda database: work(ProfileRows(database, profile, now_ms)))

    async def viewer(self, user: str, device: str) -> Viewer | None:
        """Return the profile and the limit of a user at a device's door; None without a profile."""
        sql = "SELECT profile, age FROM media_viewers WHERE user = ? AND device IN ('', ?) ORDER BY device DESC"
        rows = await self._connection.read(lambda database: database.execute(sql, (user, device)).fetchall())
        if rows:
            return Viewer(*rows[0])
        return Viewer(user) if device == OWN_DEVICE else None

    async def viewers(self) -> list[tuple[str, str, str, int | None]]:
        """Return user, device (empty: every one), profile and age limit of all viewers."""
        sql = "SELECT user, device, profile, age FROM media_viewers ORDER BY user, device"
        return await self._connection.read(lambda database: database.execute(sql).fetchall())

    async def set_viewer(self, user: str, device: str, profile: str, age: int | None) -> None:
        """Give a user a profile, through every door or through one device's door alone."""
        values = {"user": user, "device": device, "profile": profile, "age": age}
        await self._connection.write(lambda database: database.execute(SET_VIEWER, values).rowcount)

    async def remove_viewer(self, user: str) -> bool:
        """Take a user's profile away; return False if they had none."""
        sql = "DELETE FROM media_viewers WHERE user = ?"
        return await self._connection.write(lambda database: database.execute(sql, (user,)).rowcount) > 0

    async def erase(self, users: Collection[str]) -> None:
        """Remove the rows of these users' profiles, except for profiles that other users have as well.

        The profiles' assignments and age limits are the operator's, and stay.
        """

        def work(database: Session) -> None:
            rows = database.execute("SELECT user, profile FROM media_viewers").fetchall()
            profiles = {*users, *(profile for user, profile in rows if user in users)}
            profiles -= {profile for user, profile in rows if user not in users}
            for table in OF_PROFILE:
                database.executemany(f"DELETE FROM {table} WHERE profile = ?", [(profile,) for profile in profiles])

        await self._connection.write(work)
