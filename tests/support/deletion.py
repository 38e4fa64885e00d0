"""Copies of the repository without one dialog or plug-in: `python -m tests.support.deletion NAME|--all`.

In each copy `check` must be clean, `ask` must answer, no file of the product may name what was deleted, and all other
quick tests must pass. What stands behind the name goes to pytest: `… player tests/doors`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.composition import plugins_found
from app.extensions import shipped
from dialogs import Dialog
from tests.support.checkout import check_out
from tests.support.warm_python import run_python

FOLDERS = (
    *("dialogs/{name}", "app/plugins/{name}", "prompts/*/{name}", "tests/dialogs/{name}", "tests/plugins/{name}"),
    "tests/prompts/*/{name}.md",
)
PRODUCT = ("agents", "app", "dialogs", "observers", "prompts")
GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost")


def deletable() -> list[str]:
    """Return the names of the shipped dialogs and plug-ins."""
    return [*shipped("dialogs"), *shipped("plugins")]


def copy_without(name: str, folder: Path) -> None:
    """Copy every tracked file into a folder, but for a dialog or a plug-in, its prompts and its tests."""
    check_out(folder)
    for place in [place for pattern in FOLDERS for place in folder.glob(pattern.format(name=name))]:
        shutil.rmtree(place) if place.is_dir() else place.unlink()


def run_app(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the application in a copy, on a database of its own."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{folder}/try.db", "LLM_MODEL": "local:rules"}
    return run_python("app", *arguments, folder=folder, environment=environment)


def faults(folder: Path) -> list[str]:
    """Return what `check` finds in a copy, but for the model: without the stand-in a key is missing, as `ask` says."""
    report = json.loads(run_app(folder, "check", "--json").stdout)
    return [line for line in (*report["faults"], *report["warnings"]) if not line.startswith("LLM_MODEL ")]


def answers(folder: Path) -> bool:
    """Tell whether the assistant answers in a copy; without its stand-in it must name the key that it lacks."""
    asked = run_app(folder, "ask", "hello")
    return bool(asked.stdout) if asked.returncode == 0 else asked.returncode == 2 and "LLM_MODEL" in asked.stderr


def naming(name: str, folder: Path) -> list[str]:
    """Return the files of the product in a copy that name what was deleted: a plug-in's module, or a dialog's tool."""
    brought = plugins_found().get(name)
    word = rf"\b{brought.tool}\b" if isinstance(brought, Dialog) else rf"\bplugins[./]{name}\b|[\"']{name}/[a-z]"
    files = [file for place in PRODUCT for file in (folder / place).rglob("*") if file.is_file()]
    return [
        file.relative_to(folder).as_posix()
        for file in files
        if re.search(word, file.read_text("utf-8", errors="ignore"))
    ]


@dataclass(frozen=True)
class Outcome:
    """What came of a copy."""

    name: str
    faults: Sequence[str]
    is_answering: bool
    naming: Sequence[str]
    tests: int
    """The exit code of the quick tests."""

    def __bool__(self) -> bool:
        return not self.faults and self.is_answering and not self.naming and self.tests == 0

    def __str__(self) -> str:
        found = [*self.faults, *(f"named in {file}" for file in self.naming)]
        cells = "clean" if not found else "; ".join(found), "answers" if self.is_answering else "fails"
        return f"| `{self.name}` | {cells[0]} | {cells[1]} | {'pass' if self.tests == 0 else f'exit {self.tests}'} |"


def without(name: str, *arguments: str) -> Outcome:
    """Return what comes of a copy without a dialog or a plug-in; its tests print what they find."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_without(name, folder)
        # Some tests ask git which files there are.
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "copy")):
            subprocess.run((*GIT, *command), cwd=folder, check=True)
        tests = subprocess.run((sys.executable, "-m", "pytest", "-q", "-m", "not slow", *arguments), cwd=folder)
        return Outcome(name, faults(folder), answers(folder), naming(name, folder), tests.returncode)


def main(name: str, *arguments: str) -> int:
    """Print a table of the copies; return 1 if anything in one of them is wrong."""
    outcomes = [without(each, *arguments) for each in (deletable() if name == "--all" else [name])]
    lines = ["| without | `check` | `ask` | quick tests |", "| --- | --- | --- | --- |", *map(str, outcomes)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
