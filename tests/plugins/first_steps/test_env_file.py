"""`.env` as it is written: values come back, and a link stays a link."""

from pathlib import Path

import pytest
from dotenv import dotenv_values

from app.plugins.first_steps.env_file import write_env
from app.process.files import read_env


@pytest.mark.parametrize("value", ["plain-1.0:x", "with space", "it's", 'say "x"', "a#b", "back\\slash", "", "ключ"])
def test_values_come_back_as_they_were(home: Path, value: str) -> None:
    """This command and the settings read a written value alike."""
    write_env(home / ".env", {"X": value})
    assert dotenv_values(home / ".env")["X"] == read_env(home / ".env")["X"] == value


def test_a_file_that_is_a_link_stays_one(home: Path) -> None:
    """The file behind the link is replaced, and nobody else may read it."""
    (home / "real").write_text("A=1\n")
    (home / ".env").symlink_to("real")
    write_env(home / ".env", {"B": "2"})
    assert (home / ".env").is_symlink()
    assert (home / "real").read_text() == "A=1\nB=2\n"
    assert (home / "real").stat().st_mode & 0o777 == 0o600
