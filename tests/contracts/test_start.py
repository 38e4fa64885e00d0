"""The modules that a start loads."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LATE = ("openai", "langchain_openai", "telegram", "mcp")
"""Packages that take long to load; each is loaded when it is needed."""


@pytest.mark.slow
def test_a_start_without_a_provider_loads_no_client() -> None:
    """The terminal with `local:rules` is ready sooner without them."""
    imports = "import sys, app.composition, app.doors.terminal.door"
    code = f"{imports}; sys.exit(' '.join(set({LATE!r}) & sys.modules.keys()) or 0)"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")


def test_a_start_outside_of_the_environment_says_what_to_run() -> None:
    """An interpreter without the packages ends in one line, not in a stack trace."""
    process = subprocess.run([sys.executable, "-S", "-m", "app", "check"], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 2
    assert re.fullmatch(r"python -m app: \w+ is not installed here\. Run make install, .*\n", process.stderr)
