"""An installation of its own for each test: a database, a folder of the lab, and the model that needs no key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.language.tool_ranker.ranker import ToolRanker
from app.plugins.lab import cards
from app.settings import Settings
from tests.support.training import BrieflyTrained, made_once


@pytest.fixture(scope="session", autouse=True)
def trained() -> Iterator[None]:
    """Train the ranker of the same cards once."""
    # A test of other parts may have trained it for long.
    cards._finder.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.plugins.lab.cards.ToolRanker", made_once(BrieflyTrained))
        yield


@pytest.fixture
def trained_whole(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Train the ranker as the lab does: one that is trained briefly reads no more than a card's first examples."""
    cards._finder.cache_clear()
    monkeypatch.setattr("app.plugins.lab.cards.ToolRanker", ToolRanker)
    yield
    # Other tests compare what was trained briefly.
    cards._finder.cache_clear()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return the settings, which commands read, too."""
    monkeypatch.setitem(Settings.model_config, "env_file", None)
    for name, value in {
        "LLM_MODEL": "local:rules",
        "APP_LANG": "en",
        "DATABASE_URL": f"sqlite:///{tmp_path}/dialogs.db",
        "LAB_FOLDER": str(tmp_path / "lab"),
    }.items():
        monkeypatch.setenv(name, value)
    return Settings(_env_file=None)
