"""The bot has loaded what it needs when it asks for the first message."""

import json
import os
from pathlib import Path

import pytest

from tests.support.first_messages import TEXTS
from tests.support.places import ROOT
from tests.support.warm_python import run_python


@pytest.mark.slow
def test_the_first_message_loads_nothing(tmp_path: Path) -> None:
    """In no language does the first answer wait for a module or a prompt to be read."""
    ended = run_python("tests.support.first_messages", str(tmp_path), folder=ROOT, environment=os.environ)
    assert json.loads(ended.stdout or "null") == [[] for _ in TEXTS], ended.stderr
