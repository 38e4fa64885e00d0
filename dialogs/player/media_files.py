"""The titles of a folder, from file names, `.nfo` files and sidecars (`.toml`, `.json`) beside the media.

Names are those of media centres: `Metropolis (1927).mkv`, `Flash Gordon/Season 1/Flash Gordon S01E02.mkv`.
"""

import hashlib
import json
import logging
import os
import re
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from dialogs.player.players import OLDEST_LIMIT, Title, age_of

LOG = logging.getLogger(__name__)
SUFFIXES = {".mkv", ".mp4", ".m4v", ".avi", ".mov", ".webm", ".mpg", ".mpeg", ".ts", ".wmv", ".ogv", ".mp3", ".flac"}
SIDECARS = (".nfo", ".toml", ".json")
LARGEST_SIDECAR = 1_000_000
"""The most bytes of a sidecar that is read."""
LONGEST_NAME = 300
"""The most characters of a file's name that are read."""
MOST_TITLES = 20_000
_EPISODE = re.compile(r"(?i)s\d{1,3}[ ._-]*e\d|\b\d{1,2}x\d{2,3}\b")
_SEASON = re.compile(r"(?i)^(?:season|series|сезон|s)[\s._-]*\d{1,3}$|^specials$")
Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]


class Details(BaseModel):
    """The facts of a title that a sidecar may have."""

    name: Text = ""
    other_names: tuple[Text, ...] = Field(default=(), max_length=20)
    year: int | None = Field(default=None, ge=1870, le=2200)
    genres: tuple[Annotated[Text, StringConstraints(to_lower=True)], ...] = Field(default=(), max_length=20)
    rating: float | None = Field(default=None, ge=0, le=10)
    age: int | None = Field(default=None, ge=0, le=OLDEST_LIMIT)
    duration: int | None = Field(default=None, ge=1, le=200_000)
    """The length in seconds."""
    plot: Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)] = ""

    def added_to(self, title: Title) -> Title:
        """Return a title with the sidecar's facts."""
        facts = {name: value for name, value in self if value not in ("", (), None)}
        return replace(title, **facts)


@dataclass(frozen=True)
class MediaFileName:
    """The facts in a file name."""

    title: str
    year: int | None = None
    season: int | None = None
    episode: int | None = None
    episode_name: str = ""


def folder_titles(folder: Path) -> list[Title]:
    """Return the films, series and episodes of a folder."""
    titles: dict[str, Title] = {}
    for file in _media(folder):
        for title in _titles(folder, file):
            titles.setdefault(title.id, title)
        if len(titles) >= MOST_TITLES:
            LOG.warning("the media folder has more than %s titles; the others are left out", MOST_TITLES)
            break
    return list(titles.values())


def _media(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(place, name) for name in sorted(names) if not name.startswith("."))
        yield from (path for path in paths if path.suffix.lower() in SUFFIXES)


def _titles(folder: Path, file: Path) -> list[Title]:
    """Return the title of a media file; before an episode its series."""
    stem, name = file.with_suffix(""), name_of(file.stem)
    film = Title(id=_id(folder, stem), name=name.title, year=name.year)
    series = _series(folder, stem, name) if name.episode is not None else None
    if series:
        film = replace(
            series,
            id=film.id,
            name=name.episode_name or f"{series.name} {name.season}x{name.episode:02}",
            kind="episode",
            other_names=(),
            plot="",
            series=series.id,
            series_name=series.name,
            season=name.season,
            episode=name.episode,
        )
    title = _sidecar(stem).added_to(replace(film, file=str(file)))
    if not title.duration:
        title = replace(title, duration=_duration(file, file.stat().st_mtime_ns))
    return [series, title] if series else [title]


def _series(folder: Path, stem: Path, name: MediaFileName) -> Title:
    """Return the series of an episode: its folder, or the words before the number of the season."""
    place = stem.parent.parent if _SEASON.match(stem.parent.name) else stem.parent
    if place == folder:
        return Title(id=_id(folder, folder / name.title), name=name.title, year=name.year, kind="series")
    own = name_of(place.name)
    series = Title(id=_id(folder, place), name=own.title, year=own.year, kind="series")
    details = _sidecar(place / "tvshow")
    return (details if details != Details() else _sidecar(place / "series")).added_to(series)


@lru_cache(maxsize=MOST_TITLES)
def name_of(stem: str) -> MediaFileName:
    """Return the facts in the name of a file or a folder."""
    from guessit import guessit  # noqa: PLC0415  # only a reader of a folder should wait for it

    stem = stem[:LONGEST_NAME]
    # Without a type guessit takes "Apollo 13" for an episode.
    kind = "episode" if _EPISODE.search(stem) else "movie"
    options = {"type": kind, "excludes": ["part", "volume", "film"], "single_value": True}
    facts = guessit(f"{stem}.mkv", options)
    name, year = str(facts.get("title") or stem), facts.get("year")
    return MediaFileName(
        name, year, facts.get("season", 1), facts.get("episode"), str(facts.get("episode_title") or "")
    )


def _id(folder: Path, path: Path) -> str:
    return hashlib.sha256(path.relative_to(folder).as_posix().encode()).hexdigest()[:12]


def _sidecar(stem: Path) -> Details:
    """Return the facts in the sidecars of a path; the first readable one counts."""
    for suffix in SIDECARS:
        file = stem.parent / f"{stem.name}{suffix}"
        try:
            if file.is_file() and file.stat().st_size <= LARGEST_SIDECAR:
                return Details.model_validate(_read(file))
        except (OSError, ValueError, ET.ParseError, RecursionError) as fault:
            LOG.warning("%s cannot be read (%s)", file, type(fault).__name__)
    return Details()


def _read(file: Path) -> object:
    text = file.read_text("utf-8-sig")
    if file.suffix == ".nfo":
        return _nfo(text)
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)


def _nfo(text: str) -> Mapping[str, object]:
    root = ET.fromstring(text)

    def first(*names: str) -> str:
        return next((value.strip() for name in names if (value := root.findtext(name)) and value.strip()), "")

    seconds = first("fileinfo/streamdetails/video/durationinseconds")
    minutes = re.match(r"\d+", first("runtime"))
    details: dict[str, object] = {
        "name": first("title"),
        "other_names": [name for name in [first("originaltitle")] if name],
        "genres": list(dict.fromkeys(genre.text.lower() for genre in root.findall("genre") if genre.text)),
        "plot": first("plot", "outline"),
        "year": first("year") or first("premiered")[:4],
        "rating": first("ratings/rating[@default='true']/value", "ratings/rating/value", "rating"),
        "age": age_of(first("mpaa")),
        "duration": seconds or (int(minutes[0]) * 60 if minutes else None),
    }
    return {name: value for name, value in details.items() if value not in ("", None)}


@lru_cache(maxsize=MOST_TITLES)
def _duration(path: Path, changed: int) -> int | None:
    """Return the length of a media file by its own data, in seconds; a changed file has another value of `changed`."""
    from pymediainfo import MediaInfo  # noqa: PLC0415  # only a reader of a folder should wait for it

    try:
        tracks = MediaInfo.parse(path).tracks
    except (OSError, RuntimeError) as fault:
        LOG.warning("%s cannot be read (%s)", path, type(fault).__name__)
        return None
    lengths = [float(length) for track in tracks if (length := getattr(track, "duration", None))]
    return max(1, round(max(lengths) / 1000)) if lengths else None
