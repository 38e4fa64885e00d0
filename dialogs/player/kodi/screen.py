"""What Kodi shows now, and what it plays after that."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from dialogs.player.kodi.library import Number, Text, key_of, number_in, read, value_in
from dialogs.player.kodi.rpc import KodiRpc
from dialogs.player.players import PlayerError

OTHER = "other"
"""The id of a video that is not in the library."""
KINDS = {"movie": "film", "episode": "episode"}
PATIENCE = 15
"""Seconds in which a title must have begun or stopped."""
STEP = 0.2
"""Seconds between two looks at the screen."""


class Clock(BaseModel):
    """A time as Kodi puts it."""

    hours: Number = 0
    minutes: Number = 0
    seconds: Number = 0

    def __int__(self) -> int:
        return int(self.hours * 3600 + self.minutes * 60 + self.seconds)


def clock(seconds: int) -> dict[str, int]:
    """Return a time as Kodi wants it."""
    return {"hours": seconds // 3600, "minutes": seconds // 60 % 60, "seconds": seconds % 60, "milliseconds": 0}


class _Item(BaseModel):
    id: int = 0
    type: Text = ""
    label: Text = ""


def _place(value: object) -> int:
    return value if isinstance(value, int) else -1


Place = Annotated[int, BeforeValidator(_place)]


class _Facts(BaseModel):
    time: Clock = Clock()
    totaltime: Clock = Clock()
    speed: Place = 0
    playlistid: Place = -1
    position: Place = -1
    repeat: Text = "off"


PROPERTIES = tuple(_Facts.model_fields)


@dataclass(frozen=True)
class Screen:
    """What plays; times in seconds."""

    player: int
    id: str
    """Of the title; `OTHER` if the library does not have it."""
    label: str
    position: int
    duration: int
    """0 until Kodi has opened the file."""
    is_paused: bool
    playlist: int
    place: int
    """The index in the list that plays; negative while there is none."""
    repeats: bool

    @property
    def is_settled(self) -> bool:
        """Whether Kodi has opened the file, and knows its place in the list."""
        return self.duration > 0 and self.place >= 0


@dataclass(frozen=True)
class KodiScreen:
    """The screen of a Kodi."""

    rpc: KodiRpc

    async def shown(self) -> Screen | None:
        """Return what plays; None if no video does. Raises PlayerError."""
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

    async def until(self, is_so: Callable[[Screen | None], bool]) -> Screen | None:
        """Wait until something is shown, at most `PATIENCE` seconds; return what is shown then."""
        for _ in range(round(PATIENCE / STEP)):
            if is_so(screen := await self.shown()):
                break
            await asyncio.sleep(STEP)
        return screen

    async def act(self, method: str, screen: Screen, **params: object) -> object:
        """Do something with what is shown. Raises PlayerError ("nothing_plays" if it is over)."""
        return await self.rpc.call(method, {"playerid": screen.player, **params}, refused="nothing_plays")

    async def is_last(self, screen: Screen) -> bool:
        """Tell whether nothing follows in the list, and it does not begin again."""
        return not screen.repeats and (screen.place < 0 or screen.place + 1 >= await self._size(screen))

    async def line_up(self, screen: Screen, ids: Sequence[str]) -> None:
        """Let these titles follow what is shown, and nothing else; outside a list nothing can. Raises PlayerError."""
        if screen.repeats:
            await self.act("Player.SetRepeat", screen, repeat="off")
        if screen.place < 0:
            return
        playlist = {"playlistid": screen.playlist}
        for place in range(await self._size(screen) - 1, screen.place, -1):
            await self.rpc.call("Playlist.Remove", {**playlist, "position": place}, refused="nothing_plays")
        if ids:
            await self.rpc.call("Playlist.Add", {**playlist, "item": [key_of(id) for id in ids]}, refused="no_title")

    async def _size(self, screen: Screen) -> int:
        if screen.playlist < 0:
            return 0
        params = {"playlistid": screen.playlist, "properties": ["size"]}
        return number_in(await self.rpc.call("Playlist.GetProperties", params), "size")

    async def _screen(self, player: int) -> Screen | None:
        params = {"playerid": player}
        answer = await self.rpc.call("Player.GetItem", params, refused="nothing_plays")
        shown = await self.rpc.call(
            "Player.GetProperties", {**params, "properties": PROPERTIES}, refused="nothing_plays"
        )
        item = read(value_in(answer, "item"), _Item)
        facts = read(shown, _Facts)
        if item is None or facts is None:
            return None
        is_known = item.type in KINDS and item.id > 0
        return Screen(
            player=player,
            id=f"{KINDS[item.type]}-{item.id}" if is_known else OTHER,
            label=item.label,
            position=int(facts.time),
            duration=int(facts.totaltime),
            is_paused=facts.speed == 0,
            playlist=facts.playlistid,
            place=facts.position,
            repeats=facts.repeat != "off",
        )
