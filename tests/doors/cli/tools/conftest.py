"""A database of its own for each test."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def at_home(home: Path) -> None:
    """Leave the database of the project alone."""
