"""An installation of its own for each test: a database, a folder of the lab, and the model that needs no key."""

from pathlib import Path

import pytest

from app.settings import Settings


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
