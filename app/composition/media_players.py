"""Build the media player that the settings name; without any, the library plays a small catalogue."""

from collections.abc import Sequence
from functools import partial

from agents.errors import ConfigError
from agents.media import PlayerError, Players
from agents.media.catalogue import catalogue_titles
from agents.media.files import folder_titles
from agents.media.kodi.player import Kodi
from agents.media.kodi.rpc import KodiRpc
from agents.media.library import Holding, Library
from agents.media.viewers import OWNER
from agents.memory import Memory
from agents.sources.web.fetcher import Fetcher
from agents.sources.web.ssrf import policy_of
from app.settings import Settings


def make_players(settings: Settings, memory: Memory) -> Players:
    """Return the players of this installation.

    Raises:
        ConfigError: the media folder is none, or Kodi's address cannot be used.
    """
    check_media(settings)
    if settings.kodi_url:
        # Each connection ends with its answer, so that there is nothing to close.
        rpc = KodiRpc(settings.kodi_url, Fetcher(), settings.kodi_user, settings.kodi_password)
        return Kodi(rpc, memory.media)
    folder = settings.media_folder
    scan = partial(folder_titles, folder.resolve()) if folder else catalogue_titles
    return Library(memory.media, scan, memory.notices.now)


async def all_holdings(settings: Settings, memory: Memory) -> Sequence[Holding]:
    """Return all titles; the files of Kodi are not known here.

    Raises:
        ConfigError: the same, or Kodi does not answer.
    """
    players = make_players(settings, memory)
    if isinstance(players, Library):
        return list((await players.holdings()).values())
    player = players.of(OWNER)
    try:
        titles = list(await player.titles())
        for series in [title for title in titles if title.kind == "series"]:
            titles += await player.episodes(series.id)
    except PlayerError as error:
        raise ConfigError(f"KODI_URL: {error.reason or error}") from None
    return [Holding(title, has_file=False) for title in titles]


def check_media(settings: Settings) -> None:
    """Check that the media folder is there, or that Kodi's address can be used; it need not answer yet.

    Raises:
        ConfigError: it is not.
    """
    if settings.media_folder and settings.kodi_url:
        raise ConfigError("MEDIA_FOLDER, KODI_URL: set one of them; the other player would never be used")
    if settings.media_folder and not settings.media_folder.is_dir():
        raise ConfigError(f"MEDIA_FOLDER: there is no folder {settings.media_folder}")
    try:
        if settings.kodi_url:
            policy_of(settings.kodi_url, internal=True)
    except ValueError as wrong:
        raise ConfigError(f"KODI_URL {wrong}") from None
