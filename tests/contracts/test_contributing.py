"""A newcomer's first steps and first mistakes, in a copy of the repository."""

import json
import os
import shutil
from pathlib import Path

import pytest

from prompts import languages
from tests.support import pages
from tests.support.pages import PACKAGES
from tests.support.parts import EVERY_DIALOG
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


@pytest.mark.needs(*EVERY_DIALOG)
@pytest.mark.slow
def test_a_dialog_is_two_files(house: Path) -> None:
    """A dialog file and its prompt are all it takes; the supervisor hands over to it."""
    (house / "dialogs/travel.py").write_text(shown("README.md", "dialogs/travel.py"))
    (house / "prompts/en/travel").mkdir()
    (house / "prompts/en/travel/prompt.md").write_text("You plan trips.")

    report = json.loads(run(house, "check", "--json"))
    assert [dialog["name"] for dialog in report["dialogs"]] == [
        "orders",
        "planner",
        "player",
        "profile",
        "recall",
        "research",
        "travel",
    ]
    assert report["faults"] == []
    events = [json.loads(line) for line in run(house, "ask", "travel", "--thread", "t", "--json").splitlines()]
    assert events[-1]["dialog"] == "travel"


@pytest.mark.needs("planner")
@pytest.mark.slow
def test_an_observer_is_two_files(house: Path) -> None:
    """An observer file and its prompt are all it takes; a dialog names it."""
    (house / "observers/mood.py").write_text(shown("docs/write-an-observer.md", "observers/mood.py"))
    (house / "prompts/en/observers/mood.md").write_text("Is the user angry? Answer angry or calm.")
    planner = house / "dialogs/planner/__init__.py"
    planner.write_text(
        planner.read_text().replace('resume="never"', 'observers=["supervisor", "mood"], resume="never"')
    )

    report = json.loads(run(house, "check", "--json"))
    assert {"name": "mood", "checks": ["pre_check"], "languages": ["en"]} in report["observers"]
    assert "mood.pre_check" in run(house, "graph")


@pytest.mark.needs("planner")
@pytest.mark.slow
def test_a_translation_is_a_file(house: Path) -> None:
    """A prompt in a new language counts at once, and what is missing falls back."""
    (house / "prompts/de/planner").mkdir(parents=True)
    shutil.copy(house / "prompts/en/supervisor.md", house / "prompts/de/supervisor.md")
    (house / "prompts/de/planner/prompt.md").write_text("Du führst die Liste der Aufgaben.")

    dialogs = {dialog["name"]: dialog for dialog in json.loads(run(house, "check", "--json"))["dialogs"]}
    assert sorted(dialogs["planner"]["languages"]) == sorted(["de", *languages()])


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
    text = clock.read_text("utf-8").replace("\n@tool", '\n@traits(effect="write", key=("hour",))\n@tool', 1)
    clock.write_text(f"{text}\n".replace("from prompts", "from agents.toolkit.traits import traits\nfrom prompts", 1))
    done = run_python("app", "check", folder=house, environment=os.environ)

    assert done.returncode == 2
    refusal = "python -m app: tool current_time: its key names arguments it does not have: hour\n"
    assert (done.stdout, done.stderr) == ("", refusal)
