"""Checks the folders of EXTENSIONS as the application's own code is checked, for `make own`: lint, types, tests."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.extensions import Extensions
from tests.support.places import ROOT

OVERLAY = ROOT / ".mypy_cache" / "own" / "overlay"
"""Links to the application and to one's own files beside each other, where mypy takes them for one program."""
CACHE = OVERLAY.with_name("cache")
CONFIG = str(ROOT / "pyproject.toml")


@contextmanager
def mypy_cache() -> Iterator[str]:
    """Hold mypy's cache alone: two writers at once could spoil it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield str(CACHE)


def overlay(root: Path) -> list[str]:
    """Lay a folder over the application; return the paths of its own files in there."""
    shutil.rmtree(OVERLAY, ignore_errors=True)
    for package in ("dialogs", "observers"):
        (OVERLAY / package).mkdir(parents=True)
        for path in (ROOT / package).iterdir():
            (OVERLAY / package / path.name).symlink_to(path)
    for package in ("agents", "app", "benchmarks", "prompts", "tests"):
        (OVERLAY / package).symlink_to(ROOT / package)
    own = []
    for package in ("dialogs", "observers"):
        for path in sorted((root / package).glob("[!_]*")):
            (OVERLAY / package / path.name).symlink_to(path)
            own.append(f"{package}/{path.name}")
    if any((root / "tests").rglob("*.py")):
        (OVERLAY / "own_tests").symlink_to(root / "tests")
        own.append("own_tests")
    return own


def check(root: Path) -> int:
    """Check a folder, and return the exit code of the first tool with a finding."""
    python = [sys.executable, "-m"]
    own = overlay(root)
    if not own:
        sys.stdout.write(f"{root} has no dialogs, observers or tests yet: there is nothing to check\n")
        return 0
    tests = [*python, "pytest", "-q", "-c", CONFIG, "--rootdir", str(ROOT), str(root / "tests")]
    steps: Sequence[tuple[list[str], Path]] = (
        ([*python, "ruff", "format", "--check", "--config", CONFIG, str(root)], ROOT),
        ([*python, "ruff", "check", "--config", CONFIG, str(root)], ROOT),
        (
            [*python, "mypy", "--config-file", CONFIG, "--cache-dir", str(CACHE), *own],
            OVERLAY,
        ),
        *([(tests, ROOT)] if "own_tests" in own else []),
    )
    with mypy_cache():
        return next((code for command, folder in steps if (code := subprocess.run(command, cwd=folder).returncode)), 0)


def main() -> int:
    """Check every folder of EXTENSIONS."""
    folders = Extensions().extensions
    if not folders:
        sys.stderr.write("EXTENSIONS names no folder: there is nothing of your own to check\n")
        return 2
    return next((code for root in folders if (code := check(root))), 0)


if __name__ == "__main__":
    sys.exit(main())
