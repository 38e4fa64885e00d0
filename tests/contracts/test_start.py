"""A start in the wrong environment."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_start_outside_of_the_environment_says_what_to_run() -> None:
    """An interpreter without the packages ends in one line, not in a stack trace."""
    process = subprocess.run([sys.executable, "-S", "-m", "app", "check"], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 2
    assert re.fullmatch(r"python -m app: \w+ is not installed here\. Run make install, .*\n", process.stderr)
