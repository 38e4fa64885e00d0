"""The players that need nothing else: the embedded library, and a server that answers as Kodi does."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import time
from typing import Any

from agents.media import Player
from agents.media.files import folder_titles
from agents.media.kodi.player import Kodi
from agents.media.kodi.rpc import KodiRpc
from agents.media.library import Library
from agents.memory import Memory
from agents.memory.media_rows import MediaRows
from tests.support.kodi_server import KodiServer, Recorder
from tests.support.media_folder import MINUTE, file_of


@dataclass
class LibraryStage:
    """The embedded library over a folder, with a clock of its own."""

    folder: Path
    memory: Memory
    time: float = field(default_factory=time)

    def player(self) -> Player:
        """See `Stage`."""
        scan = partial(folder_titles, self.folder)
        return Library(MediaRows(self.memory.database), scan, lambda: self.time).of("me")

    async def end(self) -> None:
        """See `Stage`."""
        self.time += MINUTE

    async def lose(self, name: str) -> None:
        """See `Stage`."""
        file_of(self.folder, name).unlink()


@dataclass
class ServerStage:
    """A server that answers as Kodi does."""

    memory: Memory
    server: KodiServer = field(default_factory=KodiServer)
    calls: list[tuple[Any, Any]] = field(default_factory=list)
    """Requests and answers."""

    def player(self) -> Player:
        """See `Stage`."""
        return Kodi(KodiRpc("http://kodi", Recorder(self.calls, self.server)), MediaRows(self.memory.database)).of("me")

    async def end(self) -> None:
        """See `Stage`."""
        self.server.pass_time(MINUTE)

    async def lose(self, name: str) -> None:
        """See `Stage`."""
        self.server.lost.add(name)
