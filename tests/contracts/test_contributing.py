"""A newcomer's first steps and first mistakes, in a copy of the repository."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support import pages
from tests.support.pages import PACKAGES
from tests.support.places import ROOT
from tests.support.warm_python import run_python


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Return a copy of the application."""
    for package in PACKAGES:
        # Compiled files are copied as well: they spare each process the compilation of all modules.
        shutil.copytree(ROOT / package, tmp_path / package)
    return tmp_path


def shown(page: str, path: str) -> str:
    """Return a file as a page shows it."""
    return pages.files(pages.page(page))[path]


def run(house: Path, *arguments: str) -> str:
    """Run the application in the copy, on a database of its own."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{house}/try.db", "LLM_MODEL": "local:rules"}
    done = run_python("app", *arguments, folder=house, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_missing_prompt_is_found_at_start(house: Path) -> None:
    """A dialog without its prompt does not start; the last line tells its developer which file to write."""
    (house / "dialogs/travel.py").write_text(shown("README.md", "dialogs/travel.py"))
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{house}/try.db"}
    done = run_python("app", "ask", "hi", folder=house, environment=environment)

    assert done.returncode == 2
    assert "prompts/en/travel/prompt.md is missing" in done.stderr.strip().splitlines()[-1]


@pytest.mark.slow
def test_a_tool_that_contradicts_itself_is_named(house: Path) -> None:
    """Traits that cannot be are told in one line that names the tool, whoever has it."""
    clock = house / "app/composition/supervisor_tools.py"
    text = clock.read_text("utf-8").replace(
        "@traits(volatile=True, shortcut=True", '@traits(effect="write", key=("hour",)', 1
    )
    clock.write_text(f"{text}\n".replace("from prompts", "from agents.toolkit.traits import traits\nfrom prompts", 1))
    done = run_python("app", "check", folder=house, environment=os.environ)

    assert done.returncode == 2
    assert "tool current_time: its traits name arguments it does not have: hour" in done.stdout
