"""A dialog or a plug-in is a folder: without it, its prompts and its tests all else works, and nothing names it.

`python -m tests.support.deletion NAME|--all` runs the quick tests of such a copy as well.
"""

from pathlib import Path

import pytest

from tests.support.deletion import copy_without, deletable, look_at, naming, pairwise
from tests.support.parts import EVERY_PART


@pytest.mark.parametrize("name", deletable())
def test_nothing_else_names_it(name: str) -> None:
    """No other file of the product has its module, its prompts, its tool, its settings or its commands."""
    assert naming(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("names", pairwise(deletable()), ids=" ".join)
def test_nothing_else_needs_it(names: list[str], tmp_path: Path) -> None:
    """The check finds nothing, the assistant answers, its commands are gone, all other tests load.

    Several are deleted at once: of any two, some copy has each without the other.
    """
    copy_without(names, tmp_path)
    look = look_at(tmp_path)
    assert look.faults == []
    assert look.is_answering
    assert [name for name in names if f"  {name} " in look.help] == []
    assert look.unloaded == ""


@pytest.mark.needs(*EVERY_PART)
def test_every_part_is_listed() -> None:
    """Tests of all parts together run only with all parts; the list must name each new part."""
    assert sorted(EVERY_PART) == sorted(deletable())
