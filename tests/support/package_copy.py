"""Copies of the application's packages."""

import shutil
from pathlib import Path

from tests.support.places import ROOT


def copy_package(name: str, folder: Path) -> None:
    """Copy a package of this checkout into a folder, with its compiled files: to compile them takes long."""
    # While Python compiles a file, it writes to another one, which then vanishes.
    shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.pyc.*"))
