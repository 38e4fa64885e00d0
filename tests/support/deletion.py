"""Copies of the repository without one dialog or plug-in: `python -m tests.support.deletion NAME|--all`.

In each copy `check` must be clean, `ask` must answer, no file of the product may name what was deleted, and all other
quick tests must pass. What stands behind the name goes to pytest: `… player tests/doors`.
"""

import atexit
import compileall
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from agents.plugin import Plugin
from app.cli import command_line
from app.composition import plugins_found
from app.extensions import shipped
from app.settings import Settings
from dialogs import Dialog
from tests.support.checkout import check_out
from tests.support.places import ROOT
from tests.support.warm_python import run_python

FOLDERS = (
    *("dialogs/{name}", "app/plugins/{name}", "prompts/*/{name}", "tests/dialogs/{name}", "tests/plugins/{name}"),
    "tests/prompts/*/{name}.md",
)
PRODUCT = ("agents", "app", "dialogs", "observers", "prompts")
HERE = "--here"
"""As the name: look at the copy in which the process runs."""
# Nothing is run, so that nothing has to be said of an assertion that fails.
COLLECTING = ("--collect-only", "-qs", "--assert=plain", "-p", "no:cacheprovider")
GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost")


def deletable() -> list[str]:
    """Return the names of the shipped dialogs and plug-ins."""
    return [*shipped("dialogs"), *shipped("plugins")]


@cache
def _compiled() -> Path:
    """Return a checkout whose Python files are compiled, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    check_out(folder)
    compileall.compile_dir(folder, quiet=1)
    return folder


def copy_without(name: str, folder: Path) -> None:
    """Copy every tracked file into a folder, but for a dialog or a plug-in, its prompts and its tests.

    What is compiled of the files is copied, too: each copy would compile everything anew.
    """
    shutil.copytree(_compiled(), folder, dirs_exist_ok=True)
    for place in [place for pattern in FOLDERS for place in folder.glob(pattern.format(name=name))]:
        shutil.rmtree(place) if place.is_dir() else place.unlink()


@dataclass(frozen=True)
class Look:
    """What a copy shows when one process starts it, asks it something and loads its tests."""

    faults: Sequence[str]
    """What `check` finds, but for the model: without the stand-in a key is missing, as `ask` says."""
    is_answering: bool
    """Whether the assistant answers; without its stand-in it must name the key that it lacks."""
    help: str
    """What `--help` lists."""
    unloaded: str
    """What pytest says if a quick test cannot be loaded."""


def look_at(folder: Path) -> Look:
    """Return what a copy shows, on a database of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"DATABASE_URL": f"sqlite:///{folder}/try.db", "LLM_MODEL": "local:rules"}
    done = run_python("tests.support.deletion", HERE, folder=folder, environment=environment, for_tests=True)
    assert done.returncode == 0, done.stderr
    return Look(**json.loads(done.stdout))


def _look() -> Look:
    """Return what the copy shows in which this process runs."""
    _, checked, _ = _run("check", "--json")
    report = json.loads(checked)
    faults = [line for line in (*report["faults"], *report["warnings"]) if not line.startswith("LLM_MODEL ")]
    code, answer, error = _run("ask", "hello")
    _, listed, _ = _run("--help")
    collected = io.StringIO()
    with redirect_stdout(collected):
        loading = pytest.main([*COLLECTING, "-m", "not slow"])
    return Look(
        faults=faults,
        is_answering=bool(answer) if code == 0 else code == 2 and "LLM_MODEL" in error,
        help=listed,
        unloaded=collected.getvalue()[-2000:] if loading else "",
    )


def _run(*arguments: str) -> tuple[int, str, str]:
    """Run a command of the application in this process; return its exit code and what it prints."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = command_line.main(arguments)
    return code, out.getvalue(), error.getvalue()


def naming(name: str, folder: Path = ROOT) -> list[str]:
    """Return the files of the product that name a part and are not its own."""
    pattern = re.compile("|".join(_names(name, plugins_found())))
    own = {place for form in FOLDERS for place in folder.glob(form.format(name=name))}
    files = [file for file in _texts(folder) if own.isdisjoint(file.parents)]
    return [file.relative_to(folder).as_posix() for file in files if pattern.search(_texts(folder)[file])]


@cache
def _texts(folder: Path) -> Mapping[Path, str]:
    """Return the files of the product with what stands in them."""
    files = [file for place in PRODUCT for file in (folder / place).rglob("*") if file.is_file()]
    return {file: file.read_text("utf-8", errors="ignore") for file in files if file.suffix != ".pyc"}


def _names(name: str, parts: Mapping[str, Plugin]) -> list[str]:
    """Return patterns for the ways to name a part: its module, its prompts, its tool, settings and commands."""
    part, others = parts[name], [Settings, *(other.settings for key, other in parts.items() if key != name)]
    patterns = [rf"\b(plugins|dialogs)[./]{name}\b", rf"\b(plugins|dialogs) import .*\b{name}\b", rf"[\"']{name}/[a-z]"]
    patterns += [rf"\b{part.tool}\b"] if isinstance(part, Dialog) else []
    settings = {*part.settings.model_fields} if part.settings else set[str]()
    # Several may read the same setting.
    settings -= {field for other in others if other for field in other.model_fields}
    patterns += [rf"\b{key.upper()}\b|\bsettings\.{key}\b" for key in settings]
    if part.command_line:
        commands = get_command(part.command_line)
        names = [commands.name] if part.command_line.info.name else getattr(commands, "commands", [commands.name])
        patterns += [rf"python -m app {command}\b" for command in names]
    return patterns


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
        look = look_at(folder)
        return Outcome(name, look.faults, look.is_answering, naming(name, folder), tests.returncode)


def main(name: str, *arguments: str) -> int:
    """Print a table of the copies; return 1 if anything in one of them is wrong."""
    if name == HERE:
        sys.stdout.write(json.dumps(asdict(_look())))
        return 0
    outcomes = [without(each, *arguments) for each in (deletable() if name == "--all" else [name])]
    lines = ["| without | `check` | `ask` | quick tests |", "| --- | --- | --- | --- |", *map(str, outcomes)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
