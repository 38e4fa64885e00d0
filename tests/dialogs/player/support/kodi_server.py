"""A Kodi on this machine that is none: JSON-RPC over the titles of `media_folder`, and a screen with a simulated clock.

What it answers is what Kodi 20.1 answered to the same requests; the slow test holds it against Kodi's own schema.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.sources.web.fetcher import Fetcher
from tests.dialogs.player.support.media_folder import EPISODES, FILMS, MINUTE, SERIES, YEAR
from tests.support.http_service import Answer, Asked, Service

Row = dict[str, Any]
VIDEO = 1
"""The number of the video player, and of its list."""


class Refused(Exception):
    """Answered as an error of JSON-RPC."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _films() -> dict[int, Row]:
    rows = enumerate(FILMS.items(), 1)
    return {id: _row(name, year, genre, rating, mpaa=mpaa) for id, (name, (year, mpaa, genre, rating)) in rows}


def _row(title: str, year: int, genre: str, rating: float, **facts: object) -> Row:
    marks = {"playcount": 0, "userrating": 0, "lastplayed": "", "resume": {"position": 0, "total": 0}}
    names = {"title": title, "label": title, "originaltitle": title, "plot": "", "year": year, "genre": [genre]}
    return {**names, **marks, "rating": rating, "runtime": MINUTE, "file": f"/media/{title}.mkv", **facts}


def _episodes() -> dict[int, Row]:
    return {
        id: _row(
            name, YEAR, "", 0, season=season, episode=number, tvshowid=1, showtitle=SERIES, firstaired=f"{YEAR}-01-01"
        )
        for id, ((season, number), name) in enumerate(EPISODES.items(), 1)
    }


@dataclass
class KodiServer(Service):
    """Its library, and its screen: `queue` holds what plays and what follows."""

    movie: dict[int, Row] = field(default_factory=_films)
    episode: dict[int, Row] = field(default_factory=_episodes)
    tvshow: dict[int, Row] = field(default_factory=lambda: {1: _row(SERIES, YEAR, "Adventure", 7.1, mpaa="TV-14")})
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    lost: set[str] = field(default_factory=set)
    """Titles whose files are gone."""
    password: str = ""
    """With the user, in base64; empty: everybody is let in."""
    starts: bool = True
    unknown: dict[int, Row] = field(default_factory=dict)
    """Videos that are not in the library."""
    queue: list[tuple[str, int]] = field(default_factory=list)
    place: int = 0
    position: float = 0
    speed: int = 0
    outside: bool = False
    """Whether what plays is not of the list."""
    repeat: str = "off"
    volume: int = 50
    muted: bool = False

    def answer_to(self, asked: Asked) -> Answer:
        """Answer a call, or refuse it."""
        if self.password and asked.headers.get("authorization") != f"Basic {self.password}":
            return Answer("", 401)
        call = asked.body
        method: Callable[..., Any] | None = getattr(self, f"_{call['method'].replace('.', '_').lower()}", None)
        head = {"jsonrpc": "2.0", "id": call["id"]}
        try:
            if method is None:
                raise Refused(-32601)
            return Answer({**head, "result": method(**call["params"])})
        except (Refused, TypeError, KeyError) as wrong:
            code = wrong.code if isinstance(wrong, Refused) else -32602
            return Answer({**head, "error": {"code": code, "message": "Invalid params."}})

    def pass_time(self, seconds: float) -> None:
        """Let time pass on the screen."""
        self.now += timedelta(seconds=seconds)
        if self.queue and self.speed:
            self.position += seconds
            if self.position >= MINUTE:
                self._row_shown().update(playcount=1, resume={"position": 0, "total": 0})
                self._leave()
                self.place, self.position = self.place + 1, 0
                if self.place >= len(self.queue):
                    self.queue = []

    def _row_shown(self) -> Row:
        kind, id = self.queue[self.place]
        row: Row = getattr(self, kind)[id]
        return row

    def _leave(self) -> None:
        self._row_shown()["lastplayed"] = f"{self.now:%Y-%m-%d %H:%M:%S}"

    def _details(self, kind: str, id: int, properties: list[str]) -> Row:
        row: Row = getattr(self, kind)[id]
        if kind == "tvshow":
            watched = sum(row["playcount"] > 0 for row in self.episode.values())
            row = {**row, "episode": len(self.episode), "watchedepisodes": watched}
        return {f"{kind}id": id, "label": row["label"], **{name: row[name] for name in properties}}

    def _list(self, kind: str, properties: list[str], limits: Row, sort: Row | None = None) -> Row:
        rows = [self._details(kind, id, properties) for id in getattr(self, kind)]
        if sort:
            rows.sort(key=lambda row: row[sort["method"]], reverse=sort["order"] == "descending")
        start, end = limits["start"], min(limits["end"], len(rows))
        return {"limits": {"start": start, "end": end, "total": len(rows)}, f"{kind}s": rows[start:end]}

    def _set(self, kind: str, id: int, values: Row) -> str:
        if set(values) - {"playcount", "userrating"}:
            raise Refused(-32602)
        getattr(self, kind)[id].update(values)
        return "OK"

    def _videolibrary_getmovies(self, **params: Any) -> Row:
        return self._list("movie", **params)

    def _videolibrary_gettvshows(self, **params: Any) -> Row:
        return self._list("tvshow", **params)

    def _videolibrary_getepisodes(self, tvshowid: int = 1, **params: Any) -> Row:
        return self._list("episode", **params)

    def _videolibrary_getmoviedetails(self, movieid: int, properties: list[str]) -> Row:
        return {"moviedetails": self._details("movie", movieid, properties)}

    def _videolibrary_gettvshowdetails(self, tvshowid: int, properties: list[str]) -> Row:
        return {"tvshowdetails": self._details("tvshow", tvshowid, properties)}

    def _videolibrary_getepisodedetails(self, episodeid: int, properties: list[str]) -> Row:
        return {"episodedetails": self._details("episode", episodeid, properties)}

    def _videolibrary_setmoviedetails(self, movieid: int, **values: Any) -> str:
        return self._set("movie", movieid, values)

    def _videolibrary_settvshowdetails(self, tvshowid: int, **values: Any) -> str:
        return self._set("tvshow", tvshowid, values)

    def _videolibrary_setepisodedetails(self, episodeid: int, **values: Any) -> str:
        return self._set("episode", episodeid, values)

    def _files_getfiledetails(self, file: str, media: str) -> Row:
        name = file.removeprefix("/media/").removesuffix(".mkv")
        there = {"type": "movie", "id": 1} if name not in self.lost else {"type": "unknown"}
        return {"filedetails": {"label": name, **there}}

    def _application_getproperties(self, properties: list[str]) -> Row:
        return {name: {"volume": self.volume, "muted": self.muted}[name] for name in properties}

    def _application_setvolume(self, volume: int) -> int:
        self.volume = volume
        return volume

    def _application_setmute(self, mute: bool) -> bool:
        self.muted = mute
        return mute

    def _player_getactiveplayers(self) -> list[Row]:
        return [{"playerid": VIDEO, "playertype": "internal", "type": "video"}] if self.queue else []

    def _player_getitem(self, playerid: int) -> Row:
        kind, id = self._shown(playerid)
        return {"item": {"id": id, "label": self._row_shown()["label"], "type": kind}}

    def _player_getproperties(self, playerid: int, properties: list[str]) -> Row:
        self._shown(playerid)
        shown = {"time": _clock(self.position), "totaltime": _clock(MINUTE), "speed": self.speed}
        shown |= {"playlistid": VIDEO, "position": -1 if self.outside else self.place, "repeat": self.repeat}
        return {name: shown[name] for name in properties}

    def _player_open(self, item: Mapping[str, int], options: Row) -> str:
        ((field_name, id),) = item.items()
        kind = field_name.removesuffix("id")
        getattr(self, kind)[id]
        if self.starts:
            if self.queue:
                self._player_stop(VIDEO)
            self.queue, self.place, self.speed = [(kind, id)], 0, 1
            self.position = _seconds(options["resume"]) if options["resume"] else 0
        return "OK"

    def _player_seek(self, playerid: int, value: Row) -> Row:
        self._shown(playerid)
        self.position = _seconds(value["time"])
        return {"percentage": self.position / MINUTE * 100, "time": value["time"], "totaltime": _clock(MINUTE)}

    def _player_playpause(self, playerid: int, play: bool) -> Row:
        self._shown(playerid)
        self.speed = int(play)
        return {"speed": self.speed}

    def _player_setrepeat(self, playerid: int, repeat: str) -> str:
        self._shown(playerid)
        self.repeat = repeat
        return "OK"

    def _player_stop(self, playerid: int) -> str:
        self._shown(playerid)
        self._row_shown()["resume"] = {"position": int(self.position), "total": MINUTE}
        self._leave()
        self.queue = []
        return "OK"

    def _playlist_getproperties(self, playlistid: int, properties: list[str]) -> Row:
        return {"size": len(self.queue)}

    def _playlist_remove(self, playlistid: int, position: int) -> str:
        if not self.place < position < len(self.queue):
            raise Refused(-32602)
        del self.queue[position]
        return "OK"

    def _playlist_add(self, playlistid: int, item: list[Mapping[str, int]]) -> str:
        self.queue += [(name.removesuffix("id"), id) for each in item for name, id in each.items()]
        return "OK"

    def _shown(self, player: int) -> tuple[str, int]:
        if not self.queue or player != VIDEO:
            raise Refused(-32100)
        return self.queue[self.place]


class Recorder(Fetcher):
    """Keeps requests and answers; those of a `server` are carried without a connection, which is faster."""

    def __init__(self, calls: list[tuple[Any, Any]], server: KodiServer | None = None) -> None:
        super().__init__()
        self.calls, self.server = calls, server

    async def answer(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> object:
        """Return the answer."""
        asked = json.loads(json.dumps(body))
        if self.server is None:
            answer = await super().answer(url, params=params, body=body, headers=headers)
        else:
            answer = json.loads(json.dumps(self.server.answer_to(Asked("POST", url, {}, asked)).body))
        self.calls.append((asked, answer))
        return answer


def _clock(seconds: float) -> Row:
    return {"hours": 0, "minutes": int(seconds) // 60, "seconds": int(seconds) % 60, "milliseconds": 0}


def _seconds(clock: Row) -> int:
    return int(clock["hours"] * 3600 + clock["minutes"] * 60 + clock["seconds"])
