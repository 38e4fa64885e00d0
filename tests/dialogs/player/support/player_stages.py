"""The players that need nothing else: the embedded library, and a server that answers as Kodi does."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import time
from typing import Any

from agents.memory import Memory
from agents.memory.connection import migrate
from dialogs.player.kodi.library import KodiRpc
from dialogs.player.kodi.player import KodiPlayer
from dialogs.player.library import Library, LibraryPlayer
from dialogs.player.media_files import folder_titles
from dialogs.player.players import MediaPlayer
from dialogs.player.store import TABLES, MediaStore
from tests.dialogs.player.support.kodi_server import KodiServer, Recorder
from tests.dialogs.player.support.media_folder import MINUTE, file_of


async def open_store(memory: Memory, now: Callable[[], float] = time) -> MediaStore:
    """Return the player's tables in a database."""
    await memory.database.read(partial(migrate, TABLES))
    return MediaStore(memory.database, now)


@dataclass
class LibraryStage:
    """The embedded library over a folder, with a clock of its own."""

    folder: Path
    store: MediaStore
    time: float = field(default_factory=time)

    def __post_init__(self) -> None:
        self.store.now = lambda: self.time

    def player(self) -> MediaPlayer:
        """See `Stage`."""
        return LibraryPlayer(Library(self.store, partial(folder_titles, self.folder)), "me")

    async def end(self) -> None:
        """See `Stage`."""
        self.time += MINUTE

    async def lose(self, name: str) -> None:
        """See `Stage`."""
        file_of(self.folder, name).unlink()


@dataclass
class ServerStage:
    """A server that answers as Kodi does."""

    store: MediaStore
    server: KodiServer = field(default_factory=KodiServer)
    calls: list[tuple[Any, Any]] = field(default_factory=list)
    """Requests and answers."""

    def player(self) -> MediaPlayer:
        """See `Stage`."""
        return KodiPlayer(KodiRpc("http://kodi", Recorder(self.calls, self.server)), self.store)

    async def end(self) -> None:
        """See `Stage`."""
        self.server.pass_time(MINUTE)

    async def lose(self, name: str) -> None:
        """See `Stage`."""
        self.server.lost.add(name)
