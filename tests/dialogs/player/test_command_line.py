"""`library`: the operator sees what there is to play, and gives people their profiles and limits."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer

from app.cli import command_line
from app.cli.plugin_commands import PluginInvocation
from dialogs.player.command_line import list_titles
from tests.dialogs.player.support.kodi_server import KodiServer
from tests.dialogs.player.support.media_folder import EPISODES, FILMS, SERIES
from tests.doors.cli.conftest import Captured


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh database, and no media folder."""
    path = tmp_path / "dialogs.db"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    return path


def run(capsys: Captured, *arguments: str) -> Any:
    """Run a command that succeeds; return what it prints as JSON."""
    assert command_line.main(["library", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.needs("standin")
def test_a_folder_is_listed(capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each title has its file; without a folder it is the catalogue."""
    assert len(run(capsys)) == len(run(capsys, "list")) == 17
    folder = tmp_path / "films"
    folder.mkdir()
    monkeypatch.setenv("MEDIA_FOLDER", str(folder))
    assert run(capsys) == []

    (folder / "Nosferatu (1922).mkv").touch()
    file = str(folder / "Nosferatu (1922).mkv")
    assert [(row["name"], row["year"], row["file"]) for row in run(capsys)] == [("Nosferatu", 1922, file)]
    assert command_line.main(["library"]) == 0
    assert f"film · Nosferatu · 1922 · {file}\n" in capsys.readouterr().out


@pytest.mark.needs("standin")
def test_people_get_profiles_and_limits(capsys: Captured) -> None:
    """A profile may be shared; a limit is one user's own; the last word counts."""
    run(capsys, "viewer", "12345", "family")
    run(capsys, "viewer", "tim", "family", "--age", "6")
    run(capsys, "viewer", "tim", "family", "--age", "12")
    assert run(capsys, "viewers") == [
        {"user": "12345", "device": "", "profile": "family", "age": None},
        {"user": "tim", "device": "", "profile": "family", "age": 12},
    ]
    assert command_line.main(["library", "viewer", "tim", "family", "--age", "16"]) == 0
    assert capsys.readouterr().out == "tim has the profile family now, with nothing for people older than 16.\n"
    run(capsys, "no-viewer", "tim")
    assert [row["user"] for row in run(capsys, "viewers")] == ["12345"]


@pytest.mark.needs("standin")
@pytest.mark.parametrize(("arguments", "reason"), [
    (["no-viewer", "eve"], "'eve' has no profile"),
    (["viewer", "eve"], "Missing argument 'profile'"),
])  # fmt: skip
def test_what_cannot_be_done_is_one_line(capsys: Captured, arguments: list[str], reason: str) -> None:
    """Exit code 2, and the reason."""
    assert command_line.main(["library", *arguments]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.needs("standin")
def test_a_folder_that_is_none_stops_the_start(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting is named."""
    monkeypatch.setenv("MEDIA_FOLDER", "/nowhere/films")
    assert command_line.main(["ask", "hello"]) == 2
    assert "MEDIA_FOLDER: there is no folder /nowhere/films" in capsys.readouterr().err


@pytest.mark.needs("standin")
async def test_the_titles_of_kodi_are_listed(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Films, series and episodes, with the files as Kodi names them."""
    async with KodiServer.open() as server:
        monkeypatch.setenv("KODI_URL", server.url)
        context = cast(typer.Context, SimpleNamespace(obj=PluginInvocation("player titles")))
        titles = (await list_titles(context)).object
    assert isinstance(titles, list)
    rows = {row["name"]: (row["id"], bool(row["file"])) for row in titles}
    episodes = {name: (f"episode-{id}", True) for id, name in enumerate(EPISODES.values(), 1)}
    films = {name: (f"film-{id}", True) for id, name in enumerate(FILMS, 1)}
    assert rows == {**films, **episodes, SERIES: ("series-1", False)}


@pytest.mark.needs("standin")
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"KODI_URL": "http://127.0.0.1:9"}, "KODI_URL: Kodi at http://127.0.0.1:9: no connection"),
        ({"KODI_URL": "ftp://tv.lan"}, "KODI_URL is not the address of a service"),
        ({"KODI_URL": "http://169.254.169.254"}, "KODI_URL"),
        ({"KODI_URL": "http://user:secret@tv.lan:8080"}, "KODI_URL"),
        ({"KODI_URL": "http://127.0.0.1:9", "MEDIA_FOLDER": "."}, "MEDIA_FOLDER, KODI_URL: set one of them"),
    ],
)
def test_a_kodi_that_cannot_be_used_is_one_line(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], reason: str
) -> None:
    """It says which address, and what is wrong with it; never a password."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert command_line.main(["library"]) == 2
    message = capsys.readouterr().err
    assert reason in message
    assert message.count("\n") == 1
    assert "secret" not in message
