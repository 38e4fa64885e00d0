"""A folder of media files as a library: what names, `.nfo` files and sidecars say, and what the files themselves do."""

import io
import logging
import wave
from pathlib import Path

import pytest

from agents.memory.sqlite_file import SqliteBackend
from dialogs.player.library import Library, LibraryPlayer
from dialogs.player.media_files import folder_titles
from dialogs.player.players import PlayerError, Title
from tests.dialogs.player.support.player_stages import open_store

NFO = """<?xml version="1.0" encoding="UTF-8"?>
<movie><title>Metropolis</title><originaltitle>Metropolis (restored)</originaltitle><year>1927</year>
<genre>Drama</genre><genre>Science Fiction</genre><mpaa>Rated PG-13</mpaa><runtime>153</runtime>
<ratings><rating default="true"><value>8.3</value></rating></ratings><plot>Above and below.</plot></movie>"""
SIDECAR = """
name = "Генерал"
other_names = ["The General"]
genres = ["comedy"]
rating = 8.1
age = 0
"""


def sound(seconds: int) -> bytes:
    """Return a sound file of a length."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(100)
        file.writeframes(b"\x80" * 100 * seconds)
    return buffer.getvalue()


def put(folder: Path, files: dict[str, str | bytes]) -> dict[str, Title]:
    """Write files and return the titles of the folder by name."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return {title.name: title for title in folder_titles(folder)}


def test_names_tell_films_series_and_episodes(tmp_path: Path) -> None:
    """Year, season and number stand in file names, the series is its folder; the length is the file's own."""
    titles = put(
        tmp_path,
        {
            "Nosferatu (1922).mkv": sound(90),
            "A.Trip.to.the.Moon.1902.1080p.mp4": b"",
            "Flash Gordon (1936)/Season 1/Flash Gordon S01E02 The Tunnel of Terror.mkv": b"",
            "Flash Gordon (1936)/Season 2/flash.gordon.s02e01.avi": b"",
            "notes.txt": b"",
            ".hidden.mkv": b"",
        },
    )
    assert (titles["Nosferatu"].year, titles["Nosferatu"].duration) == (1922, 90)
    assert titles["A Trip to the Moon"].year == 1902
    series, tunnel, second = titles["Flash Gordon"], titles["The Tunnel of Terror"], titles["Flash Gordon 2x01"]
    assert (series.kind, series.year, tunnel.series, second.series) == ("series", 1936, series.id, series.id)
    assert [(it.season, it.episode) for it in (tunnel, second)] == [(1, 2), (2, 1)]
    assert len(titles) == 5


def test_sidecars_tell_the_rest(tmp_path: Path) -> None:
    """A media centre's `.nfo` is read, and a sidecar in TOML or JSON; a series has one for its folder."""
    titles = put(
        tmp_path,
        {
            "m.mkv": b"",
            "m.nfo": NFO,
            "The General (1926).mkv": b"",
            "The General (1926).toml": SIDECAR,
            "Felix/series.toml": 'genres = ["Animation"]\nage = 0',
            "Felix/Felix S01E01 Follies.mkv": b"",
            "Felix/Felix S01E01 Follies.json": '{"duration": 300}',
        },
    )
    film = titles["Metropolis"]
    assert (film.year, film.genres, film.rating, film.age) == (1927, ("drama", "science fiction"), 8.3, 13)
    assert (film.duration, film.other_names, film.plot) == (9180, ("Metropolis (restored)",), "Above and below.")
    assert (titles["Генерал"].year, titles["Генерал"].age) == (1926, 0)
    assert (titles["Follies"].genres, titles["Follies"].duration, titles["Follies"].age) == (("animation",), 300, 0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.nfo", "<movie><title>"),
        ("m.nfo", '<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/passwd">]><movie><title>&a;</title></movie>'),
        ("m.toml", "rating = 99"),
        ("m.json", "[1]"),
        ("m.json", b"\xff\xfe\x00"),
        ("m.json", "[" * 200_000),
        ("m.toml", f"a = {'[' * 200_000}"),
        ("m.nfo", "<a>" * 200_000),
    ],
)
def test_a_broken_sidecar_is_named_and_left_out(
    tmp_path: Path, name: str, content: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """The film stays, with what its name says, and so does the rest of the folder."""
    with caplog.at_level(logging.WARNING):
        titles = put(tmp_path, {"m.mkv": b"", name: content, "n.mkv": b""})
    assert list(titles) == ["m", "n"]
    assert f"{name} cannot be read" in caplog.text


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("Apollo 13", "Apollo 13"),
        ("300", "300"),
        ("12 Monkeys 1995 1080p x264-GRP", "12 Monkeys"),
        ("Show 1x02 Pilot", "Pilot"),
        ("x" * 200, "x" * 200),
    ],
)
def test_numbers_in_names_make_no_episodes(tmp_path: Path, file: str, name: str) -> None:
    """Only season and number together are those of an episode; quality and group do not belong to a name."""
    assert name in put(tmp_path, {f"{file}.mkv": b""})


async def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    """A title whose file is gone meanwhile is refused with a code; one that comes back plays."""
    folder = tmp_path / "films"
    put(folder, {"The General (1926).toml": SIDECAR + "duration = 60", "The General (1926).mkv": b""})
    async with SqliteBackend(f"sqlite:///{tmp_path}/dialogs.db").open() as memory:
        player = LibraryPlayer(Library(await open_store(memory), lambda: folder_titles(folder)), "ann")
        [title] = await player.titles()
        (folder / "The General (1926).mkv").unlink()
        with pytest.raises(PlayerError) as refused:
            await player.play(title.id)
        assert (refused.value.code, refused.value.title) == ("missing_file", title)

        put(folder, {"The General (1926).mkv": b""})
        assert (await player.play(title.id)).state == "playing"


async def test_a_library_keeps_what_it_was_told(tmp_path: Path) -> None:
    """Volume, position, likes and what was watched are there in another process, each for its profile."""
    url, time = f"sqlite:///{tmp_path}/dialogs.db", [1_000.0]
    files: dict[str, str | bytes] = {f"S/S S01E0{n} Part {n}.mkv": b"" for n in (1, 2)}
    files |= {f"S/S S01E0{n} Part {n}.toml": "duration = 100" for n in (1, 2)}
    put(tmp_path / "films", files)
    ids = {}
    for step in range(3):
        async with SqliteBackend(url).open() as memory:
            store = await open_store(memory, lambda: time[0])
            library = Library(store, lambda: folder_titles(tmp_path / "films"))
            player = LibraryPlayer(library, "ann")
            ids = {title.name: id for id, title in (await library.titles()).items()}
            if step == 0:
                await player.play(ids["Part 1"])
                await player.set_volume(30)
                await player.mark(ids["S"], liked=True)
                time[0] += 40
                await player.set_state("paused")
                time[0] += 1_000
            elif step == 1:
                assert (await player.now()).position == 40
                await player.set_state("playing")
                time[0] += 70
                now = await player.now()
                assert (now.title and now.title.name, now.position, now.volume) == ("Part 2", 10, 30)
                await player.set_state("stopped")
            else:
                parts = await player.episodes(ids["S"])
                assert [(part.watched, part.position) for part in parts] == [(True, 0), (False, 10)]
                assert (await player.mark(ids["S"], watched=True)).watched
                assert (await player.title(ids["S"])).liked
                assert not (await LibraryPlayer(library, "bob").title(ids["S"])).liked
