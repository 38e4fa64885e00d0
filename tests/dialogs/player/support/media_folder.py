"""A small media folder, as Kodi and the embedded library read it: two films and a series of three episodes."""

from collections.abc import Callable
from pathlib import Path

MINUTE = 60
"""Seconds that each film and each episode lasts."""
FILMS = {"Metropolis": (1927, "PG", "Science Fiction", 8.3), "Nosferatu": (1922, "", "Horror", 7.9)}
SERIES, YEAR = "Flash Gordon", 1936
EPISODES = {(1, 1): "The Planet of Peril", (1, 2): "The Tunnel of Terror", (2, 1): "Shattering Doom"}
RATING = "<ratings><rating name='own' max='10' default='true'><value>{}</value></rating></ratings>"


def file_of(folder: Path, name: str) -> Path:
    """Return the path of a film's or an episode's file."""
    if name in FILMS:
        stem = f"{name} ({FILMS[name][0]})"
        return folder / "films" / stem / f"{stem}.mkv"
    season, number = next(place for place, title in EPISODES.items() if title == name)
    return folder / "series" / SERIES / f"Season {season}" / f"{SERIES} S{season:02}E{number:02}.mkv"


def make_folder(folder: Path, make: Callable[[Path], object] = Path.touch) -> None:
    """Lay the folder out; `make` makes one media file."""
    for name, (year, board, genre, rating) in FILMS.items():
        facts = f"<originaltitle>{name}</originaltitle><year>{year}</year><mpaa>{board}</mpaa><genre>{genre}</genre>"
        _write(file_of(folder, name), "movie", name, facts + RATING.format(rating), make)
    for (season, number), name in EPISODES.items():
        facts = f"<season>{season}</season><episode>{number}</episode><aired>{YEAR}-01-0{number}</aired>"
        _write(file_of(folder, name), "episodedetails", name, facts, make)
    facts = f"<title>{SERIES}</title><year>{YEAR}</year><premiered>{YEAR}-01-01</premiered><mpaa>TV-14</mpaa>"
    show = f"<tvshow>{facts}<genre>Adventure</genre>{RATING.format(7.1)}</tvshow>"
    (folder / "series" / SERIES / "tvshow.nfo").write_text(show, "utf-8")


def _write(file: Path, tag: str, title: str, facts: str, make: Callable[[Path], object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    make(file)
    text = f"<{tag}><title>{title}</title>{facts}<runtime>{MINUTE // 60}</runtime></{tag}>"
    file.with_suffix(".nfo").write_text(text, "utf-8")
