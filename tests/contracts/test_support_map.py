"""The map of what tests share names every module."""

import re

import tests.support
from tests.support.places import ROOT


def test_the_map_is_whole() -> None:
    """`tests/support/__init__.py` names each module of the folder, and no other."""
    modules = {file.stem for file in (ROOT / "tests" / "support").glob("*.py")} - {"__init__"}
    assert set(re.findall(r"`(\w+)`", tests.support.__doc__ or "")) == modules
