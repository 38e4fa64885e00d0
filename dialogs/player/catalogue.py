"""The catalogue that stands in for a media folder until one is set."""

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from dialogs.player.folder import Holding
from dialogs.player.players import Kind, Title

FILE = Path(__file__).with_name("catalogue.toml")


class Season(BaseModel):
    """The episodes of one season, which last equally long, in seconds."""

    duration: int
    episodes: list[str]


class Entry(BaseModel):
    """A film, or a series with its seasons."""

    name: str
    kind: Kind = "film"
    year: int
    genres: tuple[str, ...]
    rating: float
    age: int
    duration: int | None = None
    seasons: list[Season] = []


@cache
def catalogue_titles() -> tuple[Holding, ...]:
    """Return the titles of the catalogue; they are played without a file."""
    entries = TypeAdapter(list[Entry]).validate_python(tomllib.loads(FILE.read_text("utf-8"))["titles"])
    return tuple(Holding(title, has_file=False) for entry in entries for title in _titles(entry))


def _titles(entry: Entry) -> Iterator[Title]:
    """Yield a film, or a series and its episodes."""
    id = "".join(letter for letter in entry.name.lower() if letter.isalnum())
    title = Title(id=id, **entry.model_dump(exclude={"seasons"}))
    yield title
    for season, part in enumerate(entry.seasons, 1):
        for number, name in enumerate(part.episodes, 1):
            yield replace(
                title,
                id=f"{id}-{season}-{number}",
                name=name,
                kind="episode",
                duration=part.duration,
                series=id,
                series_name=title.name,
                season=season,
                episode=number,
            )
