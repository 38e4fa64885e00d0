"""Kodi itself, where it is installed: it behaves as every player does, and all requests obey its own schema."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from agents.memory.sqlite_file import SqliteBackend
from app.testing import Chat
from dialogs.player.kodi.library import KodiRpc, key_of
from dialogs.player.kodi.player import KodiPlayer, clock
from dialogs.player.players import MediaPlayer
from dialogs.player.store import MediaStore
from tests.dialogs.player.support.kodi_process import IS_THERE, PASSWORD, USER, kodi
from tests.dialogs.player.support.kodi_schema import KodiSchema
from tests.dialogs.player.support.kodi_server import KodiServer, Recorder
from tests.dialogs.player.support.media_folder import MINUTE, file_of
from tests.dialogs.player.support.player_behaviours import BEHAVIOURS, PAUSE, eventually
from tests.dialogs.player.support.player_stages import ServerStage, open_store
from tests.dialogs.player.test_talk_with_kodi import use, watch_a_film

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not IS_THERE, reason="needs kodi, xvfb and ffmpeg")]
UNPLAYED = {"playcount": 0, "userrating": 0, "lastplayed": "", "resume": {"position": 0, "total": MINUTE}}


@dataclass
class KodiStage:
    """See `Stage`."""

    rpc: KodiRpc
    media: Path
    store: MediaStore

    def player(self) -> MediaPlayer:
        """See `Stage`."""
        return KodiPlayer(self.rpc, self.store)

    async def end(self) -> None:
        """Go to the last second, and wait until something else plays, or nothing."""
        screen = KodiPlayer(self.rpc, self.store)
        before = await screen.shown()
        assert before
        await screen.act("Player.Seek", before, value={"time": clock(MINUTE - 1)})
        await eventually(screen.shown, lambda now: now is None or now.id != before.id)

    async def lose(self, name: str) -> None:
        """See `Stage`."""
        file_of(self.media, name).rename(self.media / "lost")
        self.lost = name

    lost: str = ""

    async def reset(self) -> None:
        """Make everything as it was."""
        screen = KodiPlayer(self.rpc, self.store)
        if before := await screen.shown():
            await screen.act("Player.Stop", before)
            await screen.until(lambda now: now is None)
            await asyncio.sleep(PAUSE * 10)
        if self.lost:
            (self.media / "lost").rename(file_of(self.media, self.lost))
            self.lost = ""
        ids = [title.id for title in await self.player().titles() if title.kind == "film"]
        for id in ids + [it.id for it in await self.player().episodes("series-1")]:
            method = "VideoLibrary.SetMovieDetails" if id.startswith("film") else "VideoLibrary.SetEpisodeDetails"
            await self.rpc.call(method, {**key_of(id), **UNPLAYED})


async def test_kodi_itself_behaves_as_every_player_does(
    tmp_path: Path, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All behaviours and a conversation hold on Kodi; all requests obey its schema, and so does our imitation."""
    async with (
        kodi(tmp_path) as (url, media),
        SqliteBackend(f"sqlite:///{tmp_path}/memory.db").open() as memory,
        Recorder([]) as fetcher,
    ):
        rpc = KodiRpc(url, fetcher, USER, SecretStr(PASSWORD))
        store = await open_store(memory)
        stage = KodiStage(rpc, media, store)
        for behaviour in BEHAVIOURS:
            await stage.reset()
            await behaviour(stage)
        await stage.reset()
        use(monkeypatch, url, USER, PASSWORD)
        await watch_a_film(chat)
        assert (await stage.player().now()).volume == 20
        await stage.end()
        assert (await stage.player().now()).title is None
        schema = await _schema(rpc)
        assert not schema.request_faults(fetcher.calls)
        imitation = ServerStage(store)
        for behaviour in BEHAVIOURS:
            imitation.server = KodiServer()
            await behaviour(imitation)
        # Kodi breaks its own schema here and there.
        own_faults = schema.answer_faults(fetcher.calls)
        assert schema.answer_faults(imitation.calls) <= own_faults
        sys.stdout.write(f" {len(fetcher.calls)} requests; Kodi's own answers break its schema thus: {own_faults} ")


async def _schema(rpc: KodiRpc) -> KodiSchema:
    """Return Kodi's description of itself, which is larger than any answer that is read otherwise."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "JSONRPC.Introspect", "params": {}}
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        answer = await client.post(f"{rpc.url}/jsonrpc", json=request, auth=(USER, PASSWORD))
    return KodiSchema(answer.json()["result"])
