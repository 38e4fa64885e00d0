"""What the player's tools work with: its tables, and the player that the settings name."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial

from agents.memory import Memory
from agents.sources.web.fetcher import Fetcher
from agents.toolkit.services import Services
from dialogs.player.kodi.library import KodiRpc
from dialogs.player.kodi.player import Kodi
from dialogs.player.library import Library, catalogue_titles
from dialogs.player.media_files import folder_titles
from dialogs.player.players import Players
from dialogs.player.settings import PlayerSettings
from dialogs.player.store import MediaStore


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the tables and the players."""
    memory, settings = services.get(Memory), services.get(PlayerSettings)
    store = MediaStore(memory.database, memory.now)
    yield store, make_players(settings, store)


def make_players(settings: PlayerSettings, store: MediaStore) -> Players:
    """Return Kodi or the media folder, as is set; without either a library that plays a small catalogue."""
    if settings.kodi_url:
        # Each connection ends with its answer, so that there is nothing to close.
        return Kodi(KodiRpc(settings.kodi_url, Fetcher(), settings.kodi_user, settings.kodi_password), store)
    folder = settings.media_folder
    return Library(store, partial(folder_titles, folder.resolve()) if folder else catalogue_titles)


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete what users have played and liked."""
    await services.get(MediaStore).erase(users)
