"""The services for the player's tools: settings, tables, and the player of the user of a turn.

`.env.example` beside this file explains each setting.
"""

import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import SecretStr, model_validator

from agents.memory import Memory
from agents.plugin import PluginSettings
from agents.sources.web.fetcher import Fetcher
from agents.sources.web.ssrf import policy_of
from agents.toolkit import Refused, Runtime
from agents.toolkit.context import Context
from agents.toolkit.services import Services
from dialogs.player.kodi.library import KodiRpc
from dialogs.player.kodi.player import KodiPlayer
from dialogs.player.library import Library, LibraryPlayer, catalogue_titles
from dialogs.player.media_files import folder_titles
from dialogs.player.players import MediaPlayer, Playback, PlayerError, Players, Title, Viewer
from dialogs.player.store import MediaStore
from dialogs.player.wording import clock, said, title_line

LOG = logging.getLogger(__name__)
LONGEST_LINE = 200
"""The most characters of a title in the line for each message."""


class PlayerSettings(PluginSettings):
    """The settings of the player: a folder of media files, or Kodi."""

    media_folder: Path | None = None
    kodi_url: str = ""
    kodi_user: str = "kodi"
    kodi_password: SecretStr | None = None

    @model_validator(mode="after")
    def _usable(self) -> "PlayerSettings":
        # A silent Kodi is not a fault: it may start to answer later.
        if self.media_folder and self.kodi_url:
            raise ValueError("MEDIA_FOLDER, KODI_URL: set one of them; the other player would never be used")
        if self.media_folder and not self.media_folder.is_dir():
            raise ValueError(f"MEDIA_FOLDER: there is no folder {self.media_folder}")
        try:
            if self.kodi_url:
                policy_of(self.kodi_url, internal=True)
        except ValueError as wrong:
            raise ValueError(f"KODI_URL {wrong}") from None
        return self


@asynccontextmanager
async def open_services(services: Services) -> AsyncIterator[Sequence[object]]:
    """Yield the tables and the players."""
    memory, settings = services.get(Memory), services.get(PlayerSettings)
    store = MediaStore(memory.database, memory.now)
    yield store, make_players(settings, store)


def make_players(settings: PlayerSettings, store: MediaStore) -> Players:
    """Return Kodi or the media folder, by the settings; without either a library with a small catalogue.

    Kodi has one screen and one history, so all profiles are one.
    """
    if settings.kodi_url:
        # Each connection ends with its answer, so nothing has to be closed.
        rpc = KodiRpc(settings.kodi_url, Fetcher(), settings.kodi_user, settings.kodi_password)
        return Players(lambda profile: KodiPlayer(rpc, store))
    folder = settings.media_folder
    library = Library(store, partial(folder_titles, folder.resolve()) if folder else catalogue_titles)
    return Players(partial(LibraryPlayer, library))


async def forget(services: Services, thread: str, users: Collection[str]) -> None:
    """Delete the history and the marks of users."""
    await services.get(MediaStore).erase(users)


@dataclass(frozen=True)
class Viewing:
    """A viewer before their player."""

    viewer: Viewer
    player: MediaPlayer

    async def play(self, title: Title, position: int | None = None) -> Playback:
        """Play a title if the viewer may see it, by default from the kept position. Raises PlayerError."""
        self.viewer.check(title)
        return await self.player.play(title.id, title.position if position is None else position)


@asynccontextmanager
async def viewing_of(runtime: Runtime) -> AsyncIterator[Viewing]:
    """Yield the user's player; a refusal of the player becomes a Refused with its reason and its code.

    Calls of one profile run one after the other, in their order.

    Raises:
        Refused: there is no player for this user, or it refuses.
    """
    context, lang = runtime.context, runtime.state["lang"]
    async with context.locks.hold(f"media of {context.user}"):
        viewer = await context.service(MediaStore).viewer(context.user, context.device)
        if viewer is None:
            raise Refused(said("no_viewer", lang))
        try:
            yield Viewing(viewer, context.service(Players).of(viewer.profile))
        except PlayerError as error:
            if error.reason:
                LOG.warning("%s", error.reason)
            raise Refused(_reason(error, viewer, lang)) from None


async def playing_now(context: Context, lang: str) -> Sequence[str]:
    """Return a line on the present playback; nothing where others read along."""
    viewer = await context.service(MediaStore).viewer(context.user, context.device)
    if viewer is None or context.is_shared:
        return []
    try:
        playback = await context.service(Players).of(viewer.profile).now()
    except PlayerError:
        return []
    if playback.title is None:
        return [said("screen_empty", lang)]
    title, position = title_line(playback.title, lang)[:LONGEST_LINE], clock(playback.position)
    return [said(f"screen_{playback.state}", lang, title=title, position=position)]


def has_foreign_titles(context: Context) -> bool:
    """Tell whether others have written names and plots: all of them, except in the small catalogue."""
    settings = context.service(PlayerSettings)
    return bool(settings.media_folder or settings.kodi_url)


def why_not(title: Title, viewer: Viewer, lang: str) -> str:
    """Return the reason why a viewer may not see a title; empty if they may."""
    try:
        viewer.check(title)
    except PlayerError as error:
        return _reason(error, viewer, lang)
    return ""


def _reason(error: PlayerError, viewer: Viewer, lang: str) -> str:
    title = title_line(error.title, lang) if error.title else ""
    age = error.title.age if error.title else ""
    return said(error.code, lang, title=title, age=age, limit=viewer.age, code=error.code)
