"""Build the media player that the settings name; without any, the library plays a small catalogue."""

from functools import partial

from agents.errors import ConfigError
from agents.media import Players
from agents.media.catalogue import catalogue_titles
from agents.media.files import folder_titles
from agents.media.library import Library
from agents.memory import Memory
from app.settings import Settings


def make_players(settings: Settings, memory: Memory) -> Players:
    """Return the players of this installation.

    Raises:
        ConfigError: the media folder is none.
    """
    return make_library(settings, memory)


def make_library(settings: Settings, memory: Memory) -> Library:
    """Return the embedded library. Raises the same."""
    check_media(settings)
    folder = settings.media_folder
    scan = partial(folder_titles, folder.resolve()) if folder else catalogue_titles
    return Library(memory.media, scan, memory.reminders.now)


def check_media(settings: Settings) -> None:
    """Check that the media folder is there.

    Raises:
        ConfigError: it is not.
    """
    if settings.media_folder and not settings.media_folder.is_dir():
        raise ConfigError(f"MEDIA_FOLDER: there is no folder {settings.media_folder}")
