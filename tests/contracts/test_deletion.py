"""A dialog or a plug-in is a folder: without it, its prompts and its tests all else works, and nothing names it.

`python -m tests.support.deletion NAME|--all` runs the quick tests of such a copy as well.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deletion import answers, copy_without, deletable, faults, naming, run_app


@pytest.mark.slow
@pytest.mark.parametrize("name", deletable())
def test_nothing_else_needs_it(name: str, tmp_path: Path) -> None:
    """The check finds nothing, the assistant answers, its commands are gone, all other tests load, nothing names it."""
    copy_without(name, tmp_path)
    assert faults(tmp_path) == []
    assert answers(tmp_path)
    assert naming(name, tmp_path) == []
    assert f"  {name} " not in run_app(tmp_path, "--help").stdout
    collecting = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    collected = subprocess.run(collecting, cwd=tmp_path, capture_output=True, check=False, text=True)
    assert collected.returncode == 0, collected.stdout[-2000:]
