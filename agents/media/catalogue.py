"""The catalogue that stands in for a media folder until one is set."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from agents.media import Title
from agents.media.library import Holding

FILE = Path(__file__).with_name("catalogue.toml")


@cache
def catalogue_titles() -> tuple[Holding, ...]:
    """Return the titles of the catalogue; they are played without a file."""
    entries = tomllib.loads(FILE.read_text("utf-8"))["titles"]
    return tuple(Holding(title, has_file=False) for entry in entries for title in _titles(entry))


def _titles(entry: Mapping[str, Any]) -> Iterator[Title]:
    """Yield a film, or a series and its episodes."""
    id = "".join(letter for letter in entry["name"].lower() if letter.isalnum())
    kind = entry.get("kind", "film")
    genres, year, rating, age = tuple(entry["genres"]), entry["year"], entry["rating"], entry["age"]
    title = Title(
        id=id,
        name=entry["name"],
        kind=kind,
        year=year,
        genres=genres,
        rating=rating,
        age=age,
        duration=entry.get("duration"),
    )
    yield title
    for season, part in enumerate(entry.get("seasons", ()), 1):
        for number, name in enumerate(part["episodes"], 1):
            yield Title(
                id=f"{id}-{season}-{number}",
                name=name,
                kind="episode",
                year=year,
                genres=genres,
                rating=rating,
                age=age,
                duration=part["duration"],
                series=id,
                series_name=title.name,
                season=season,
                episode=number,
            )
