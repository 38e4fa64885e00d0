"""Kodi's library over JSON-RPC 2.0: its titles, its history, and the marks of liked and watched titles."""

import base64
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, AliasChoices, BaseModel, Field, SecretStr, ValidationError

from agents.language.text.clean import clean
from agents.sources.web.fetcher import Fetcher, FetchError
from dialogs.player.players import Code, Kind, MediaPlayer, PlayerError, Title, age_of

METHOD_NOT_FOUND = -32601
Params = Mapping[str, object]
LOG = logging.getLogger(__name__)
PAGE = 200
"""The number of titles in one answer."""
MOST_TITLES = 20_000
LONGEST_NAME = 300
LONGEST_PLOT = 4_000
LIKED = 8
"""The least rating by the user, of 10, that counts as a like."""
NAMES: Mapping[Kind, str] = {"film": "Movie", "series": "TVShow", "episode": "Episode"}
"""Kodi's name for a kind of titles in its methods, and in lower case in its fields."""
ALWAYS = ("title", "originaltitle", "plot", "rating", "userrating", "playcount")
PLAYED = ("lastplayed", "runtime", "resume", "file")
PROPERTIES: Mapping[Kind, Sequence[str]] = {
    "film": (*ALWAYS, *PLAYED, "genre", "year", "mpaa"),
    "series": (*ALWAYS, "genre", "year", "mpaa", "episode", "watchedepisodes"),
    "episode": (*ALWAYS, *PLAYED, "season", "episode", "firstaired", "tvshowid"),
}
"""The requested properties of Kodi's titles."""
LATEST_FIRST = {"method": "lastplayed", "order": "descending"}
LOCAL_TIME = "%Y-%m-%d %H:%M:%S"
"""Kodi's form of a time on its clock, without a zone."""
_ID = re.compile(r"(film|series|episode)-([1-9]\d{0,8})")
Read = TypeVar("Read", bound=BaseModel)


class _Error(BaseModel):
    code: int


class _Response(BaseModel):
    jsonrpc: Literal["2.0"]
    error: _Error | None = None
    result: object = None


@dataclass(frozen=True)
class KodiRpc:
    """Kodi's web server at `url` (such as `http://tv.lan:8080`); the fetcher sets the time limit of an answer."""

    url: str
    fetcher: Fetcher
    user: str = ""
    password: SecretStr | None = None

    async def call(self, method: str, params: Params | None = None, *, refused: Code = "unreachable") -> object:
        """Return the result of a method.

        Raises:
            PlayerError: `refused` if Kodi refuses; "unreachable" if it does not answer.
        """
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        try:
            answer = await self.fetcher.answer(f"{self.url.rstrip('/')}/jsonrpc", body=request, headers=self._headers())
            response = _Response.model_validate(answer)
        except FetchError as fault:
            raise self.unreachable(str(fault)) from fault
        except ValidationError:
            raise self.unreachable("its answer is not JSON-RPC 2.0") from None
        if response.error is None:
            return response.result
        if response.error.code == METHOD_NOT_FOUND or refused == "unreachable":
            raise self.unreachable(f"{method} was refused with {response.error.code}; is it older than Kodi 18?")
        raise PlayerError(refused)

    def unreachable(self, reason: str) -> PlayerError:
        """Return the error for an unusable answer; it tells the operator the reason, and the settings to check."""
        hint = "check KODI_USER and KODI_PASSWORD" if reason.endswith(" 401") else "check KODI_URL, and Kodi"
        return PlayerError("unreachable", reason=f"Kodi at {self.url}: {reason}; {hint}")

    def _headers(self) -> dict[str, str]:
        # Kodi may close a kept connection just when the next request is sent on it.
        headers = {"Connection": "close"}
        if self.password is not None:
            pair = f"{self.user}:{self.password.get_secret_value()}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers


def _text(text: str, longest: int = LONGEST_NAME) -> str:
    return " ".join(clean(text[: 2 * longest]).split())[:longest]


Text = Annotated[str, AfterValidator(_text)]
Number = Annotated[float, Field(ge=0, lt=1_000_000)]


class Resume(BaseModel):
    """The place where a title was left, in seconds."""

    position: Number = 0
    total: Number = 0


class Row(BaseModel):
    """A film, a series or an episode in Kodi's form; 0 and "" mean missing."""

    id: int = Field(ge=1, strict=True, validation_alias=AliasChoices("movieid", "episodeid", "tvshowid"))
    tvshowid: Number = 0
    title: Text = ""
    originaltitle: Text = ""
    plot: Annotated[str, AfterValidator(lambda text: _text(text, LONGEST_PLOT))] = ""
    genre: tuple[Text, ...] = ()
    year: Number = 0
    firstaired: Text = ""
    mpaa: Text = ""
    rating: Number = 0
    userrating: Number = 0
    playcount: Number = 0
    lastplayed: Text = ""
    runtime: Number = 0
    resume: Resume = Resume()
    file: str = Field(default="", max_length=4_000)
    season: Number = 0
    episode: Number = 0
    """The number of an episode; of a series, the number of its episodes."""
    watchedepisodes: Number = 0

    def as_title(self, kind: Kind, series: Title | None = None) -> Title:
        """Return the row as a title; an episode has age and genres of its series."""
        id = f"{kind}-{self.id}"
        title = Title(
            id=id,
            name=self.title or self.originaltitle or id,
            kind=kind,
            other_names=(self.originaltitle,) if self.originaltitle not in ("", self.title) else (),
            year=int(self.year) or None,
            genres=tuple(name.lower() for name in self.genre),
            rating=round(min(self.rating, 10), 1) or None,
            age=age_of(self.mpaa),
            duration=round(self.runtime or self.resume.total) or None,
            plot=self.plot,
            file=self.file,
            position=0 if self.playcount else int(self.resume.position),
            watched=0 < self.episode <= self.watchedepisodes if kind == "series" else self.playcount > 0,
            liked=self.userrating >= LIKED,
        )
        return self._as_episode(title, series) if series else title

    def _as_episode(self, title: Title, series: Title) -> Title:
        year = self.firstaired[:4]
        return replace(
            title,
            name=self.title or f"{series.name} {self.season:g}x{self.episode:02g}",
            year=int(year) if year.isdecimal() else series.year,
            genres=series.genres,
            rating=title.rating or series.rating,
            age=series.age,
            series=series.id,
            series_name=series.name,
            season=int(self.season),
            episode=int(self.episode),
        )


@dataclass(frozen=True)
class KodiLibrary(MediaPlayer):
    """The library of a Kodi; see `Player`."""

    rpc: KodiRpc

    async def titles(self) -> Sequence[Title]:
        """See `Player`."""
        return [row.as_title(kind) for kind in ("film", "series") for row in await self._all(kind)]

    async def title(self, id: str) -> Title:
        """See `Player`."""
        kind = kind_of(id)
        params = {**key_of(id), "properties": PROPERTIES[kind]}
        answer = await self.rpc.call(f"VideoLibrary.Get{NAMES[kind]}Details", params, refused="no_title")
        row = read(value_in(answer, f"{NAMES[kind].lower()}details"), Row)
        if row is None:
            raise PlayerError("no_title")
        series = await self.title(f"series-{row.tvshowid:g}") if kind == "episode" else None
        return row.as_title(kind, series)

    async def episodes(self, series: str) -> Sequence[Title]:
        """See `Player`."""
        title = await self.title(series)
        if title.kind != "series":
            return []
        rows = await self._all("episode", key_of(series))
        return sorted((row.as_title("episode", title) for row in rows), key=lambda it: it.order)

    async def history(self, since: datetime, until: datetime) -> Sequence[Title]:
        """Return the titles played in a span of time, among the `PAGE` latest films and episodes.

        Kodi notes the stop of a title, and only the last one. Its clock is taken to show the user's time.
        """
        films = await self._played("film", since, until)
        episodes = await self._played("episode", since, until)
        shows = {id: await self.title(f"series-{id:g}") for id in {row.tvshowid for row in episodes}}
        plays = [(row.lastplayed, row.as_title("film")) for row in films]
        plays += [(row.lastplayed, row.as_title("episode", shows[row.tvshowid])) for row in episodes]
        return [title for _, title in sorted(plays, key=lambda play: play[0], reverse=True)]

    async def mark(self, id: str, *, liked: bool | None = None, watched: bool | None = None) -> Title:
        """Rate a title with 10 or take the rating away; set the play count to 1 or 0."""
        title = await self.title(id)
        if liked is not None and title.liked != liked:
            await self._set(id, {"userrating": 10 if liked else 0})
        if watched is not None:
            for each in await self.episodes(id) if title.kind == "series" else [title]:
                if each.watched != watched:
                    await self._set(each.id, {"playcount": int(watched)})
        return await self.title(id)

    async def _set(self, id: str, values: Params) -> None:
        await self.rpc.call(f"VideoLibrary.Set{NAMES[kind_of(id)]}Details", {**key_of(id), **values})

    async def _all(self, kind: Kind, params: Params | None = None) -> list[Row]:
        rows: list[Row] = []
        for start in range(0, MOST_TITLES, PAGE):
            page, total = await self._page(kind, start, params or {})
            rows += page
            if start + PAGE >= total:
                return rows
        LOG.warning("Kodi has more than %s titles of one kind; the others are left out", MOST_TITLES)
        return rows

    async def _played(self, kind: Kind, since: datetime, until: datetime) -> list[Row]:
        rows, _ = await self._page(kind, 0, {"sort": LATEST_FIRST})
        return [row for row in rows if f"{since:{LOCAL_TIME}}" <= row.lastplayed < f"{until:{LOCAL_TIME}}"]

    async def _page(self, kind: Kind, start: int, params: Params) -> tuple[list[Row], int]:
        """Return a page of rows, and the number of all rows."""
        limits = {"start": start, "end": start + PAGE}
        method = f"VideoLibrary.Get{NAMES[kind]}s"
        answer = await self.rpc.call(method, {"properties": PROPERTIES[kind], "limits": limits, **params})
        entries = value_in(answer, f"{NAMES[kind].lower()}s")
        rows = [read(entry, Row) for entry in (entries if isinstance(entries, list) else [])]
        return [row for row in rows if row], number_in(answer, "limits", "total")


def kind_of(id: str) -> Kind:
    """Return the kind of an id's title. Raises PlayerError."""
    match = _ID.fullmatch(id)
    kind = next((kind for kind in NAMES if match and kind == match[1]), None)
    if kind is None:
        raise PlayerError("no_title")
    return kind


def key_of(id: str) -> dict[str, int]:
    """Return Kodi's parameter for a title. Raises PlayerError."""
    return {f"{NAMES[kind_of(id)].lower()}id": int(id.rpartition("-")[2])}


def read(entry: object, kind: type[Read]) -> Read | None:
    """Return a part of an answer as a pydantic model; None, with a line in the log, if it does not fit."""
    try:
        return kind.model_validate(entry)
    except ValidationError as fault:
        LOG.warning("Kodi returned a row that is not a %s (%s faults)", kind.__name__, fault.error_count())
        return None


def value_in(answer: object, name: str) -> object:
    """Return a part of an answer; None if it has no such part."""
    return answer.get(name) if isinstance(answer, Mapping) else None


def number_in(answer: object, *names: str) -> int:
    """Return a whole number of an answer; 0 if it has none."""
    for name in names:
        answer = value_in(answer, name)
    return answer if isinstance(answer, int) else 0
