"""A specialist is a folder: without it, its prompts and its tests, everything else works and nothing names it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deletion import copy_without
from tests.support.warm_python import run_python

TOOLS = {
    "orders": "handle_orders",
    "player": "watch_things",
    "planner": "plan_things",
    "profile": "get_acquainted",
    "recall": "look_back",
    "research": "look_things_up",
}
"""Of each dialog, the tool that hands over to it; no other file may name it."""
NAMING = ("agents", "app", "observers", "pyproject.toml", ".env.example")


@pytest.fixture(params=sorted(TOOLS))
def without(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Copy the repository, and delete a dialog with its prompts and tests."""
    name: str = request.param
    copy_without(name, tmp_path)
    return name, tmp_path


def run(folder: Path, *arguments: str) -> str:
    """Run the application in the copy, on a database of its own; return what it prints."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{folder}/try.db", "LLM_MODEL": "local:rules"}
    done = run_python("app", *arguments, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_nothing_else_needs_a_dialog(without: tuple[str, Path]) -> None:
    """The check finds nothing, the assistant answers, its commands are gone, and all other tests can be loaded."""
    name, copy = without
    report = json.loads(run(copy, "check", "--json"))
    assert name not in [dialog["name"] for dialog in report["dialogs"]]
    assert (report["faults"], report["warnings"]) == ([], [])
    assert run(copy, "ask", "hello")
    assert f"  {name} " not in run(copy, "--help")
    collecting = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    collected = subprocess.run(collecting, cwd=copy, capture_output=True, check=False, text=True)
    assert collected.returncode == 0, collected.stdout[-2000:]


@pytest.mark.slow
def test_nothing_else_names_a_dialog(without: tuple[str, Path]) -> None:
    """Neither the engine nor the application knows the tool that hands over to it."""
    name, copy = without
    files = [file for place in NAMING for file in [copy / place, *copy.glob(f"{place}/**/*")] if file.is_file()]
    naming = [file for file in files if TOOLS[name] in file.read_text("utf-8", errors="ignore")]
    assert [file.relative_to(copy).as_posix() for file in naming] == []
