"""A copy of the repository without one dialog. `python -m tests.support.deletion NAME` runs all quick tests in it.

What stands behind the name goes to pytest: `python -m tests.support.deletion player tests/doors`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.checkout import check_out

FOLDERS = ("dialogs/{name}", "prompts/*/{name}", "tests/dialogs/{name}", "tests/prompts/*/{name}.md")
GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost")


def copy_without(name: str, folder: Path) -> None:
    """Copy every tracked file into a folder, but for a dialog, its prompts and its tests."""
    check_out(folder)
    for place in [place for pattern in FOLDERS for place in folder.glob(pattern.format(name=name))]:
        shutil.rmtree(place) if place.is_dir() else place.unlink()


def run_tests(name: str, *arguments: str) -> int:
    """Run the quick tests in a copy without a dialog; return the exit code of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        copy_without(name, Path(folder))
        # Some tests ask git which files there are.
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "copy")):
            subprocess.run((*GIT, *command), cwd=folder, check=True)
        return subprocess.run((sys.executable, "-m", "pytest", "-m", "not slow", *arguments), cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(run_tests(*sys.argv[1:]))
