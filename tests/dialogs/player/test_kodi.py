"""Behaviours of Kodi alone: connections and their faults, wrong rows, its clock, videos of its own."""

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import SecretStr

from agents.memory.sqlite_file import SqliteBackend
from agents.sources.web.fetcher import Fetcher
from dialogs.player.kodi import library, player
from dialogs.player.kodi.library import KodiRpc
from dialogs.player.players import MediaPlayer, PlayerError
from tests.dialogs.player.support.kodi_server import VIDEO, KodiServer
from tests.dialogs.player.support.media_folder import EPISODES, MINUTE
from tests.dialogs.player.support.player_behaviours import code_of, id_of
from tests.dialogs.player.support.player_stages import ServerStage, open_store
from tests.support.http_service import Answer, Service
from tests.support.loopback import free_port


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[ServerStage]:
    """A Kodi, beside an empty database."""
    async with SqliteBackend(f"sqlite:///{tmp_path}/memory.db").open() as memory:
        yield ServerStage(await open_store(memory))


async def test_user_and_password_are_sent_and_never_told() -> None:
    """The password goes to Kodi alone; a fault of it is told by the names of the settings."""
    async with KodiServer.open() as server, Fetcher() as fetcher:
        server.password = base64.b64encode(b"anna:open sesame").decode()
        right = KodiRpc(server.url, fetcher, "anna", SecretStr("open sesame"))
        assert await right.call("Player.GetActivePlayers") == []
        wrong = KodiRpc(server.url, fetcher, "anna", SecretStr("guessed"))
        with pytest.raises(PlayerError, match="unreachable") as caught:
            await wrong.call("Player.GetActivePlayers")
    reason = caught.value.reason
    assert reason == f"Kodi at {server.url}: it answered 401; check KODI_USER and KODI_PASSWORD"
    assert not any(secret in f"{reason}{right!r}{wrong!r}" for secret in ("sesame", "guessed", server.password))


async def test_whoever_does_not_answer_is_named() -> None:
    """The operator reads which address does not answer, and which setting names it."""
    url = f"http://127.0.0.1:{free_port()}"
    async with Fetcher() as fetcher:
        with pytest.raises(PlayerError, match="unreachable") as caught:
            await KodiRpc(url, fetcher).call("Player.GetActivePlayers")
    assert caught.value.reason == f"Kodi at {url}: no connection (ConnectError); check KODI_URL, and Kodi"


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        [],
        {"jsonrpc": "1.0", "id": 1, "result": 1},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found."}},
        {"jsonrpc": "2.0", "id": 1, "error": "no"},
        b'{"jsonrpc": "2.0", "id": 1, "result": "' + b"x" * 2_000_001 + b'"}',
    ],
)
async def test_what_is_no_good_answer_is_none(body: Any) -> None:
    """An answer that is not JSON-RPC, is refused or is too long ends as one error."""
    async with Service.open(Answer(body)) as service, Fetcher() as fetcher:
        assert await code_of(KodiRpc(service.url, fetcher).call("A.B")) == "unreachable"


async def test_rows_that_are_wrong_are_left_out_and_texts_are_bounded(stage: ServerStage) -> None:
    """Kodi is not trusted: rows with wrong values or without an id are left out, texts are cleaned."""
    films = stage.server.movie
    films[2].update(title="x\x1b[31m\u202e" * 400, plot="y" * 9_000)
    wrong = {"resume": "nowhere", "rating": "high", "year": -3, "runtime": None, "genre": "g", "playcount": 10**9}
    films |= {place: {**films[1], name: value} for place, (name, value) in enumerate(wrong.items(), 3)}
    films[-4] = films[1]
    titles = [title for title in await stage.player().titles() if title.kind == "film"]
    assert [title.id for title in titles] == ["film-1", "film-2"]
    odd = titles[1]
    assert set(odd.name) == {"x"}
    assert len(odd.name) <= 300
    assert len(odd.plot) == 4_000


async def test_a_long_library_comes_in_pages(stage: ServerStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pages are read, up to a bound."""
    stage.server.movie |= {id: {**stage.server.movie[1], "title": f"Film {id}"} for id in range(3, 8)}
    monkeypatch.setattr(library, "PAGE", 3)
    assert len(await stage.player().titles()) == 8
    pages = [request for request, _ in stage.calls if request["method"] == "VideoLibrary.GetMovies"]
    assert [page["params"]["limits"] for page in pages] == [{"start": at, "end": at + 3} for at in (0, 3, 6)]
    monkeypatch.setattr(library, "MOST_TITLES", 3)
    assert len(await stage.player().titles()) == 4


async def test_a_history_is_read_in_the_users_zone_and_from_one_answer(stage: ServerStage) -> None:
    """Kodi's times have no zone and are taken for the user's; only what was played last is asked for."""
    stage.server.movie[1]["lastplayed"] = "2026-01-05 23:59:59"
    stage.server.movie[2]["lastplayed"] = "2026-01-04 00:00:00"
    stage.server.movie[3] = {**stage.server.movie[1], "lastplayed": "2026-01-03 23:59:59"}
    since = datetime(2026, 1, 4, tzinfo=ZoneInfo("Asia/Tokyo"))
    titles = await stage.player().history(since, since + timedelta(days=2))
    assert [title.id for title in titles] == ["film-1", "film-2"]
    starts = [call["params"]["limits"]["start"] for call, _ in stage.calls if call["method"].endswith("GetMovies")]
    assert starts == [0]


async def test_a_video_of_another_place_can_be_stopped_and_is_in_no_history(stage: ServerStage) -> None:
    """A video that was started on the screen and is not in the library can be seen and stopped."""
    own, start = stage.player(), datetime.now(UTC)
    await own.play(await id_of(own, "Metropolis"))
    stage.server.movie[77] = {**stage.server.movie[1], "label": "Holidays"}
    stage.server.queue = [("unknown", 77)]
    stage.server.unknown = stage.server.movie
    playback = await own.now()
    assert playback.title
    assert (playback.title.id, playback.title.name, playback.state) == (player.OTHER, "Holidays", "playing")
    assert (await own.set_off_at_end(True)).off_at_end
    assert list(await own.history(start - timedelta(days=1), start + timedelta(days=1))) == []
    assert await code_of(own.title(player.OTHER)) == "no_title"
    assert (await own.set_state("stopped")).state == "stopped"


async def test_music_is_nothing_that_plays_here(stage: ServerStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Music is no film."""
    music = [{"playerid": 0, "playertype": "internal", "type": "audio"}]
    monkeypatch.setattr(KodiServer, "_player_getactiveplayers", lambda _: music)
    own = stage.player()
    assert (await own.now()).title is None
    assert await code_of(own.set_state("stopped")) == "nothing_plays"


async def test_a_mute_is_no_volume_and_ends_with_one(stage: ServerStage) -> None:
    """A muted Kodi has the volume 0, and is heard again when it is set."""
    stage.server.muted = True
    own = stage.player()
    assert (await own.now()).volume == 0
    assert (await own.set_volume(30)).volume == 30


async def test_a_repeated_title_ends_when_it_is_to_be_off(stage: ServerStage) -> None:
    """Kodi's own repeat would never end."""
    own = stage.player()
    await own.play(await id_of(own, "Metropolis"))
    stage.server.repeat = "one"
    assert (await own.set_off_at_end(True)).off_at_end
    assert stage.server.repeat == "off"
    stage.server.repeat = "all"
    assert not (await own.now()).off_at_end


async def test_a_title_that_does_not_start_is_told_and_not_waited_for_without_end(
    stage: ServerStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kodi answers OK before it has opened a file."""
    monkeypatch.setattr(player, "STEP", 0)
    stage.server.starts = False
    own = stage.player()
    assert await code_of(own.play(await id_of(own, "Metropolis"))) == "not_started"


async def test_files_that_kodi_tells_nothing_of_are_played(stage: ServerStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add-ons' videos, and files outside Kodi's sources, are not looked for."""
    own = stage.player()
    film = await id_of(own, "Metropolis")
    stage.server.movie[1]["file"] = "plugin://anything"
    stage.server.lost.add("Metropolis")
    assert (await own.play(film)).state == "playing"
    stage.server.movie[1]["file"] = "/elsewhere/x.mkv"
    monkeypatch.delattr(KodiServer, "_files_getfiledetails")
    monkeypatch.setattr(KodiServer, "_files_getfiledetails", lambda _, **params: params["none"], raising=False)
    assert (await own.play(film)).state == "playing"


async def test_what_plays_outside_a_list_leaves_the_list_alone(stage: ServerStage) -> None:
    """Kodi may know no place: nothing follows then, and nothing is taken out."""
    own = stage.player()
    await own.play(await id_of(own, "Metropolis"))
    stage.server.queue += [("episode", 1), ("episode", 2)]
    stage.server.outside, stage.server.repeat = True, "one"
    assert (await own.set_off_at_end(True)).off_at_end
    assert (len(stage.server.queue), stage.server.repeat) == (3, "off")


async def test_the_list_ends_where_kodi_was_told(stage: ServerStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what follows is taken out of Kodi's list, and only so many episodes are put in."""
    monkeypatch.setattr(player, "FOLLOWING", 1)
    own: MediaPlayer = stage.player()
    await own.play(await id_of(own, next(iter(EPISODES.values()))))
    assert stage.server.queue == [("episode", 1), ("episode", 2)]
    assert stage.server._playlist_getproperties(VIDEO, ["size"]) == {"size": 2}
    stage.server.pass_time(MINUTE)
    await own.set_off_at_end(True)
    assert stage.server.queue == [("episode", 1), ("episode", 2)]
    await own.set_off_at_end(False)
    assert stage.server.queue == [("episode", 1), ("episode", 2), ("episode", 3)]


async def test_a_rating_of_ones_own_is_a_like(stage: ServerStage) -> None:
    """A rating from 8 on is a like; an equal rating is not written again."""
    own = stage.player()
    for rating, liked in ((10, True), (8, True), (7, False), (0, False)):
        stage.server.movie[1]["userrating"] = rating
        assert (await own.title("film-1")).liked is liked
        await own.mark("film-1", liked=liked)
        assert stage.server.movie[1]["userrating"] == rating
