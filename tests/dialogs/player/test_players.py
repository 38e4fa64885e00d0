"""Both kinds of players behave alike: the embedded library, and Kodi, here as a server of the tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agents.memory.sqlite_file import SqliteBackend
from dialogs.player.store import MediaStore
from tests.dialogs.player.support.media_folder import make_folder
from tests.dialogs.player.support.player_behaviours import BEHAVIOURS, Behaviour, Stage
from tests.dialogs.player.support.player_stages import LibraryStage, ServerStage, open_store


def _library(folder: Path, store: MediaStore) -> Stage:
    make_folder(folder)
    return LibraryStage(folder, store)


def _kodi(folder: Path, store: MediaStore) -> Stage:
    return ServerStage(store)


@pytest.mark.parametrize("stage_of", [_library, _kodi])
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
async def test_every_player_behaves_alike(
    stage_of: Callable[[Path, MediaStore], Stage], behaviour: Behaviour, tmp_path: Path
) -> None:
    """Each kind of player has the same behaviours."""
    async with SqliteBackend(f"sqlite:///{tmp_path}/memory.db").open() as memory:
        await behaviour(stage_of(tmp_path / "media", await open_store(memory)))
