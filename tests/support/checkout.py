"""A clean checkout: the files that git tracks, and nothing else."""

import shutil
import subprocess
from pathlib import Path

from tests.support.places import ROOT


def check_out(folder: Path) -> None:
    """Copy every tracked file into a folder, with the time of its last change."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for file in filter(None, listed.split("\0")):
        if (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file)
