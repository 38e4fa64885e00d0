"""Both kinds of players behave alike: the embedded library, and Kodi, here as a server of the tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agents.memory import Memory, open_memory
from tests.support.media_folder import make_folder
from tests.support.player_behaviours import BEHAVIOURS, Behaviour, Stage
from tests.support.player_stages import LibraryStage, ServerStage


def _library(folder: Path, memory: Memory) -> Stage:
    make_folder(folder)
    return LibraryStage(folder, memory)


def _kodi(folder: Path, memory: Memory) -> Stage:
    return ServerStage(memory)


@pytest.mark.parametrize("stage_of", [_library, _kodi])
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
async def test_every_player_behaves_alike(
    stage_of: Callable[[Path, Memory], Stage], behaviour: Behaviour, tmp_path: Path
) -> None:
    """What holds of one holds of the other."""
    async with open_memory(f"sqlite:///{tmp_path}/memory.db") as memory:
        await behaviour(stage_of(tmp_path / "media", memory))
