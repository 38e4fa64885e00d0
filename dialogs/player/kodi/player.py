"""Kodi as a player: its screen, and its list of titles.

It plays a list: a title, and of a series the episodes after it. It goes on with the list, or stops at its end, without
this application.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from dialogs.player.kodi.library import KodiLibrary, Text, key_of, number_in, read, value_in
from dialogs.player.players import Playback, PlayerError, State, Title
from dialogs.player.store import MediaStore, PlaybackRow

OTHER = "other"
"""The id of a video that is not in the library."""
KINDS = {"movie": "film", "episode": "episode"}
LOOKS, STEP = 75, 0.2
"""The most looks at the screen until a title has begun or stopped, and the seconds between two looks."""
PROFILE = "kodi"
"""The owner of the wish to stop after a film. The wish is kept here, because Kodi has no place for it."""
FOLLOWING = 100
"""The most episodes in the list behind one."""
LIKE_ITS_DISK = ("smb://", "nfs://")
"""The kinds of addresses whose files Kodi reads like those on its own disk."""
PROPERTIES = ("time", "totaltime", "speed", "playlistid", "position", "repeat")


def clock(seconds: int) -> dict[str, int]:
    """Return a time in Kodi's form."""
    return {"hours": seconds // 3600, "minutes": seconds // 60 % 60, "seconds": seconds % 60, "milliseconds": 0}


def _seconds(value: object) -> int:
    units = {"hours": 3600, "minutes": 60, "seconds": 1}
    return sum(max(number_in(value, unit), 0) * size for unit, size in units.items())


Seconds = Annotated[int, BeforeValidator(_seconds)]


class KodiScreen(BaseModel):
    """The playing title, in Kodi's `PROPERTIES`."""

    player: int
    id: str
    """The id of the title; `OTHER` if the library does not have it."""
    label: Text = ""
    position: Seconds = Field(default=0, validation_alias="time")
    duration: Seconds = Field(default=0, validation_alias="totaltime")
    """The length in seconds; 0 until Kodi has opened the file."""
    speed: int = 0
    """The speed; 0 while the title is paused."""
    playlist: int = Field(default=-1, validation_alias="playlistid")
    place: int = Field(default=-1, validation_alias="position")
    """The index in the playing list; negative if there is none."""
    repeat: str = "off"


@dataclass(frozen=True)
class KodiPlayer(KodiLibrary):
    """See `dialogs.player.Player`."""

    store: MediaStore

    async def history(self, since: datetime, until: datetime) -> Sequence[Title]:
        """Return the titles played in a span of time, and the one that plays now."""
        titles, playing = await super().history(since, until), (await self.now()).title
        if playing is None or playing.id == OTHER or not since <= datetime.now(UTC) < until:
            return titles
        return [playing, *(title for title in titles if title.id != playing.id)]

    async def now(self) -> Playback:
        """Return the present playback; a video that is not in the library has the id `OTHER`."""
        screen, volume = await self.shown(), await self._volume()
        if screen is None:
            return Playback(state="stopped", volume=volume)
        is_other = screen.id == OTHER
        title = Title(id=OTHER, name=screen.label, kind="film") if is_other else await self.title(screen.id)
        return Playback(
            state="playing" if screen.speed else "paused",
            volume=volume,
            title=replace(title, duration=screen.duration or title.duration),
            position=screen.position,
            off_at_end=await self._is_off_at_end(screen),
        )

    async def play(self, id: str, position: int = 0) -> Playback:
        """Play a title, and line up the episodes after it."""
        title = await self.title(id)
        if title.kind == "series":
            raise PlayerError("not_playable", title)
        if await self._is_gone(title.file):
            raise PlayerError("missing_file", title)
        before = await self.shown()
        if before and before.id == id:
            await self.act("Player.Seek", before, value={"time": clock(position)})
            await self.act("Player.PlayPause", before, play=True)
        else:
            options = {"resume": clock(position) if position else False}
            await self.rpc.call("Player.Open", {"item": key_of(id), "options": options}, refused="no_title")
        # Until then, Kodi has not opened the file, or does not know its place in the list.
        screen = await self.until(lambda it: bool(it and it.id == id and it.duration > 0 and it.place >= 0))
        if screen is None or screen.id != id:
            raise PlayerError("not_started", title)
        await self._line_up(screen, await self._after(title))
        await self._note(screen, off=False)
        return replace(await self.now(), position=position)

    async def set_state(self, state: State) -> Playback:
        """See `Player`; Kodi keeps the position of a stopped title."""
        if state == "stopped":
            await self.act("Player.Stop", await self._playing())
            await self.until(lambda screen: screen is None)
        else:
            await self.act("Player.PlayPause", await self._playing(), play=state == "playing")
        return await self.now()

    async def set_volume(self, percent: int) -> Playback:
        """Set the volume; a muted sound comes back."""
        await self.rpc.call("Application.SetVolume", {"volume": percent})
        await self.rpc.call("Application.SetMute", {"mute": False})
        return await self.now()

    async def set_off_at_end(self, off: bool) -> Playback:
        """Take the later titles out of Kodi's list, or put the later episodes in again."""
        screen = await self._playing()
        later = [] if off or screen.id == OTHER else await self._after(await self.title(screen.id))
        await self._line_up(screen, later)
        # In the meantime, the title may have ended, and the last one of the list begun.
        await self._note(await self._playing(), off=off)
        return await self.now()

    async def _playing(self) -> KodiScreen:
        if screen := await self.shown():
            return screen
        raise PlayerError("nothing_plays")

    async def _volume(self) -> int:
        answer = await self.rpc.call("Application.GetProperties", {"properties": ["volume", "muted"]})
        return 0 if value_in(answer, "muted") is True else number_in(answer, "volume")

    async def _after(self, title: Title) -> list[str]:
        if not title.series:
            return []
        later = [it.id for it in await self.episodes(title.series) if it.order > title.order]
        return later[:FOLLOWING]

    async def _is_gone(self, file: str) -> bool:
        """Tell whether Kodi does not find a file. For some addresses Kodi does not tell."""
        if not file or ("://" in file and not file.startswith(LIKE_ITS_DISK)):
            return False
        try:
            params = {"file": file, "media": "video"}
            answer = await self.rpc.call("Files.GetFileDetails", params, refused="missing_file")
        except PlayerError as error:
            if error.code != "missing_file":
                raise
            # Kodi has no facts about files outside its sources, but plays them.
            return False
        details = value_in(answer, "filedetails")
        return isinstance(details, Mapping) and "id" not in details

    async def _is_off_at_end(self, screen: KodiScreen) -> bool:
        row = await self.store.of(PROFILE, lambda rows: rows.playback())
        return row.off_at_end and row.title == screen.id and await self._is_last(screen)

    async def _note(self, screen: KodiScreen, *, off: bool) -> None:
        row = PlaybackRow(title=screen.id, state="playing", off_at_end=off)
        await self.store.of(PROFILE, lambda rows: rows.play(row))

    async def shown(self) -> KodiScreen | None:
        """Return the screen with the playing video; None if no video plays. Raises PlayerError."""
        players = await self.rpc.call("Player.GetActivePlayers")
        ids = [
            number_in(player, "playerid")
            for player in (players if isinstance(players, list) else [])
            if value_in(player, "type") == "video"
        ]
        try:
            return await self._screen(ids[0]) if ids else None
        except PlayerError as error:
            if error.code == "nothing_plays":
                return None
            raise

    async def until(self, is_so: Callable[[KodiScreen | None], bool]) -> KodiScreen | None:
        """Wait a while until `is_so` holds for the screen; return the last screen."""
        for _ in range(LOOKS):
            if is_so(screen := await self.shown()):
                break
            await asyncio.sleep(STEP)
        return screen

    async def act(self, method: str, screen: KodiScreen, **params: object) -> object:
        """Call a method on the shown title. Raises PlayerError ("nothing_plays" if it is over)."""
        return await self.rpc.call(method, {"playerid": screen.player, **params}, refused="nothing_plays")

    async def _is_last(self, screen: KodiScreen) -> bool:
        """Tell whether the list ends here and does not begin again."""
        return screen.repeat == "off" and (screen.place < 0 or screen.place + 1 >= await self._size(screen))

    async def _line_up(self, screen: KodiScreen, ids: Sequence[str]) -> None:
        """Let only these titles follow the shown one; outside a list none can follow. Raises PlayerError."""
        if screen.repeat != "off":
            await self.act("Player.SetRepeat", screen, repeat="off")
        if screen.place < 0:
            return
        playlist = {"playlistid": screen.playlist}
        for place in range(await self._size(screen) - 1, screen.place, -1):
            await self.rpc.call("Playlist.Remove", {**playlist, "position": place}, refused="nothing_plays")
        if ids:
            await self.rpc.call("Playlist.Add", {**playlist, "item": [key_of(id) for id in ids]}, refused="no_title")

    async def _size(self, screen: KodiScreen) -> int:
        if screen.playlist < 0:
            return 0
        params = {"playlistid": screen.playlist, "properties": ["size"]}
        return number_in(await self.rpc.call("Playlist.GetProperties", params), "size")

    async def _screen(self, player: int) -> KodiScreen | None:
        params = {"playerid": player}
        answer = await self.rpc.call("Player.GetItem", params, refused="nothing_plays")
        shown = await self.rpc.call(
            "Player.GetProperties", {**params, "properties": PROPERTIES}, refused="nothing_plays"
        )
        item = value_in(answer, "item")
        kind, id = KINDS.get(str(value_in(item, "type"))), number_in(item, "id")
        facts = {"player": player, "id": f"{kind}-{id}" if kind and id > 0 else OTHER, "label": value_in(item, "label")}
        return read({**shown, **facts}, KodiScreen) if isinstance(shown, Mapping) else None
