"""The titles of a folder: what file names, `.nfo` files and sidecars (`.toml`, `.json`) beside the media say of them.

Names are those that media centres use: `Metropolis (1927).mkv`, `Flash Gordon/Season 1/Flash Gordon S01E02.mkv`.
"""

import hashlib
import json
import logging
import os
import re
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from agents.media import Title
from agents.media.ages import age_of
from agents.media.library import Holding

LOG = logging.getLogger(__name__)
SUFFIXES = {".mkv", ".mp4", ".m4v", ".avi", ".mov", ".webm", ".mpg", ".mpeg", ".ts", ".wmv", ".ogv", ".mp3", ".flac"}
SIDECARS = (".nfo", ".toml", ".json")
LARGEST = 1_000_000
"""Bytes of a sidecar that is read."""
MOST = 20_000
"""Titles of a folder that are read."""
_EPISODE = re.compile(
    r"(?i)^(?P<series>.*?)[\s._-]*\bs(?P<season>\d{1,3})[\s._-]?e(?P<episode>\d{1,4})\b[\s._-]*(?P<name>.*)$"
)
_YEAR = re.compile(r"^(?P<name>.+?)[\s._]*[(\[]?\b(?P<year>(?:18|19|20)\d\d)\b[)\]]?")
_SEASON = re.compile(r"(?i)^(?:season|series|сезон|s)[\s._-]*\d{1,3}$|^specials$")
Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]


class Details(BaseModel):
    """What a sidecar may say of a title."""

    name: Text = ""
    other_names: tuple[Text, ...] = Field(default=(), max_length=20)
    year: int | None = Field(default=None, ge=1870, le=2200)
    genres: tuple[Text, ...] = Field(default=(), max_length=20)
    rating: float | None = Field(default=None, ge=0, le=10)
    age: int | None = Field(default=None, ge=0, le=21)
    duration: int | None = Field(default=None, ge=1, le=200_000)
    """Seconds."""
    plot: Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)] = ""


NOTHING = Details()


def folder_titles(folder: Path) -> list[Holding]:
    """Return the films, series and episodes of a folder; one whose media file is gone keeps what its sidecar says."""
    holdings: dict[str, Holding] = {}
    for path, is_there in _media(folder):
        for holding in _holdings(folder, path, is_there=is_there):
            holdings.setdefault(holding.title.id, holding)
        if len(holdings) >= MOST:
            LOG.warning("the media folder has more than %s titles; the others are left out", MOST)
            break
    return list(holdings.values())


def _media(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield each media file, and each sidecar whose file is missing, with whether it is there."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = [Path(place, name) for name in sorted(names) if not name.startswith(".")]
        media = [path for path in paths if path.suffix.lower() in SUFFIXES]
        yield from ((path, True) for path in media)
        stems_with_media = {path.stem for path in media} | {"tvshow", "series"}
        lonely = {
            path.stem: path for path in paths if path.suffix.lower() in SIDECARS and path.stem not in stems_with_media
        }
        yield from ((path.with_suffix(""), False) for path in lonely.values())


def _holdings(folder: Path, path: Path, *, is_there: bool) -> list[Holding]:
    """Return a title, and before an episode its series."""
    details = _sidecar(path.with_suffix("") if is_there else path)
    stem = path.stem if is_there else path.name
    duration = details.duration or (_duration(path, path.stat().st_mtime_ns) if is_there else None)
    file = path if is_there else None
    if (part := _EPISODE.match(stem)) is None:
        name, year = _named(stem)
        title = _title(_id(folder, path.with_suffix("")), "film", name, details, year=year, duration=duration)
        return [Holding(title, file)]
    series = _series(folder, path, part["series"])
    name = details.name or _words(part["name"]) or f"{series.name} {int(part['season'])}x{int(part['episode']):02}"
    episode = Title(
        id=_id(folder, path.with_suffix("")),
        name=name,
        kind="episode",
        other_names=details.other_names,
        year=details.year or series.year,
        genres=_genres(details) or series.genres,
        rating=details.rating if details.rating is not None else series.rating,
        age=details.age if details.age is not None else series.age,
        duration=duration,
        plot=details.plot,
        series=series.id,
        series_name=series.name,
        season=int(part["season"]),
        episode=int(part["episode"]),
    )
    return [Holding(series), Holding(episode, file)]


def _series(folder: Path, path: Path, said: str) -> Title:
    """Return the series of an episode: its folder, or what stands before the number of the season."""
    place = path.parent.parent if _SEASON.match(path.parent.name) else path.parent
    details = NOTHING
    if place != folder:
        details = next(
            (it for it in (_sidecar(place / "tvshow"), _sidecar(place / "series")) if it != NOTHING), NOTHING
        )
    own = place.name if place != folder else _words(said)
    name, year = _named(own or "?")
    return _title(_id(folder, place / own), "series", name, details, year=year, duration=None)


def _title(id: str, kind: str, name: str, details: Details, *, year: int | None, duration: int | None) -> Title:
    return Title(
        id=id,
        name=details.name or name,
        kind="series" if kind == "series" else "film",
        other_names=details.other_names,
        year=details.year or year,
        genres=_genres(details),
        rating=details.rating,
        age=details.age,
        duration=duration,
        plot=details.plot,
    )


def _named(stem: str) -> tuple[str, int | None]:
    """Return the name and the year of a file."""
    if part := _YEAR.match(stem):
        return _words(part["name"]) or stem, int(part["year"])
    return _words(stem) or stem, None


def _words(text: str) -> str:
    return " ".join(re.sub(r"[._]+", " ", text).split()).strip(" -([")


def _genres(details: Details) -> tuple[str, ...]:
    return tuple(dict.fromkeys(genre.lower() for genre in details.genres))


def _id(folder: Path, path: Path) -> str:
    return hashlib.sha256(path.relative_to(folder).as_posix().encode()).hexdigest()[:12]


def _sidecar(path: Path) -> Details:
    """Return what the sidecars of a path say; the first one that can be read counts."""
    for suffix in SIDECARS:
        file = path.parent / f"{path.name}{suffix}"
        try:
            if not file.is_file() or file.stat().st_size > LARGEST:
                continue
            return Details(**_read(file))
        except (OSError, ValueError, ET.ParseError, ValidationError) as fault:
            LOG.warning("%s cannot be read (%s)", file, type(fault).__name__)
    return NOTHING


def _read(file: Path) -> Mapping[str, object]:
    text = file.read_text("utf-8-sig")
    if file.suffix == ".nfo":
        return _nfo(text)
    data = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("no table")
    return data


def _nfo(text: str) -> Mapping[str, object]:
    """Read the XML that Kodi and other media centres write."""
    root = ET.fromstring(text)

    def first(*names: str) -> str:
        return next((value.strip() for name in names if (value := root.findtext(name)) and value.strip()), "")

    seconds = first("fileinfo/streamdetails/video/durationinseconds")
    minutes = re.match(r"\d+", first("runtime"))
    details: dict[str, object] = {
        "name": first("title"),
        "other_names": [name for name in [first("originaltitle")] if name],
        "genres": [genre.text for genre in root.findall("genre") if genre.text],
        "plot": first("plot", "outline"),
        "year": first("year") or first("premiered")[:4],
        "rating": first("ratings/rating[@default='true']/value", "ratings/rating/value", "rating"),
        "age": age_of(first("mpaa")),
        "duration": seconds or (int(minutes[0]) * 60 if minutes else None),
    }
    return {name: value for name, value in details.items() if value not in ("", None)}


@lru_cache(maxsize=MOST)
def _duration(path: Path, changed: int) -> int | None:
    """Return how long a media file is by its own data, in seconds; `changed` makes another file of a changed one."""
    from pymediainfo import MediaInfo

    try:
        tracks: Sequence[object] = MediaInfo.parse(path).tracks
    except (OSError, RuntimeError) as fault:
        LOG.warning("%s cannot be read (%s)", path, type(fault).__name__)
        return None
    lengths = [float(length) for track in tracks if (length := getattr(track, "duration", None))]
    return max(1, round(max(lengths) / 1000)) if lengths else None
