"""A clean checkout: the files that git tracks, and nothing else."""

import shutil
import subprocess
from importlib.util import cache_from_source
from pathlib import Path

from tests.support.places import ROOT


def check_out(folder: Path) -> None:
    """Copy every tracked file into a folder, with the time of its last change and its compiled form."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for file in map(Path, filter(None, listed.split("\0"))):
        compiled = [Path(cache_from_source(file))] if file.suffix == ".py" else []
        for path in (file, *compiled):
            if (ROOT / path).is_file():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, folder / path)
