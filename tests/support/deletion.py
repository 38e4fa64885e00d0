"""Copies of the repository without dialogs or plug-ins: `python -m tests.support.deletion NAME|--all|--groups`.

A copy lacks one part or, with `--groups`, a third of them: of any two parts some copy has each without the other.
In each copy `check` must be clean, `ask` must answer, no file of the product may name the deleted part, and all other
quick tests must pass. Arguments after the name go to pytest: `… player tests/doors`.
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
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from itertools import combinations, count
from math import comb
from pathlib import Path

import pytest
from typer.main import get_command

from agents.plugin import Plugin
from app.cli.command_line import MODULE_OF
from app.composition import plugins_found
from app.extensions import shipped
from app.settings import Settings
from dialogs import Dialog
from tests.support.checkout import check_out
from tests.support.commands import run_here
from tests.support.places import ROOT
from tests.support.warm_python import run_python

FOLDERS = (
    *("dialogs/{name}", "app/plugins/{name}", "prompts/*/{name}", "tests/dialogs/{name}", "tests/plugins/{name}"),
    "tests/prompts/*/{name}.md",
)
PRODUCT = ("agents", "app", "dialogs", "observers", "prompts")
HERE = "--here"
"""The name that stands for the process's own copy."""
# No test runs, so pytest need not rewrite assertions.
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
    # Compiled in place, the files serve other processes and later runs as well.
    for place in (*PRODUCT, "tests", "benchmarks"):
        compileall.compile_dir(ROOT / place, quiet=1)
    check_out(folder)
    return folder


def pairwise(names: Sequence[str]) -> list[list[str]]:
    """Return a few groups of the names: of any two names, some group has the one and not the other."""
    size = next(size for size in count(1) if comb(size, size // 2) >= len(names))
    # No choice of so many groups contains another one. In this order the first choices share no group, so that no
    # copy lacks every dialog: an assistant without any is another one.
    choices = sorted(combinations(range(size), size // 2), key=lambda groups: sum(groups) % size)
    chosen = [*zip(names, choices, strict=False)]
    return [[name for name, groups in chosen if group in groups] for group in range(size)]


def copy_without(names: Sequence[str], folder: Path) -> None:
    """Copy every tracked file into a folder, but for some dialogs and plug-ins, their prompts and their tests.

    The copy has the compiled files, too: it would compile everything anew. No file is written in place.
    """
    shutil.copytree(_compiled(), folder, dirs_exist_ok=True, copy_function=os.link)
    own = [pattern.format(name=name) for pattern in FOLDERS for name in names]
    for place in [place for pattern in own for place in folder.glob(pattern)]:
        shutil.rmtree(place) if place.is_dir() else place.unlink()


@dataclass(frozen=True)
class Look:
    """The results of one process that starts a copy, asks it something and loads its tests."""

    faults: Sequence[str]
    """The findings of `check`, but for the model: without the stand-in a key is missing, as `ask` says."""
    is_answering: bool
    """Whether the assistant answers; without its stand-in it must name the key that it lacks."""
    help: str
    """The output of `--help`."""
    unloaded: str
    """Pytest's message if a quick test cannot be loaded."""


def look_at(folder: Path) -> Look:
    """Return the results of a copy, on a database of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"DATABASE_URL": f"sqlite:///{folder}/try.db", "LLM_MODEL": "local:rules"}
    done = run_python("tests.support.deletion", HERE, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return Look(**json.loads(done.stdout))


def _look() -> Look:
    """Return the results of this process's own copy."""
    report = json.loads(run_here("check", "--json").out)
    faults = [line for line in (*report["faults"], *report["warnings"]) if not line.startswith("LLM_MODEL ")]
    code, answer, error = run_here("ask", "hello")
    collected = io.StringIO()
    with redirect_stdout(collected):
        loading = pytest.main([*COLLECTING, "-m", "not slow"])
    return Look(
        faults=faults,
        is_answering=bool(answer) if code == 0 else code == 2 and "LLM_MODEL" in error,
        help=run_here("--help").out,
        unloaded=collected.getvalue()[-2000:] if loading else "",
    )


def naming(name: str, folder: Path = ROOT) -> list[str]:
    """Return the product's files that name a part, without the part's own files."""
    names = _names(name, plugins_found())
    own = {place for form in FOLDERS for place in folder.glob(form.format(name=name))}
    texts = {file: text for file, text in _texts(folder).items() if own.isdisjoint(file.parents)}
    # Most files do not even have the word; to match a pattern with each of them takes half a second.
    found = [file for file, text in texts.items() if any(it in text and re.search(names[it], text) for it in names)]
    return [file.relative_to(folder).as_posix() for file in found]


@cache
def _texts(folder: Path) -> Mapping[Path, str]:
    """Return the files of the product with their texts."""
    files = [file for place in PRODUCT for file in (folder / place).rglob("*") if file.is_file()]
    return {file: file.read_text("utf-8", errors="ignore") for file in files if file.suffix != ".pyc"}


def _names(name: str, parts: Mapping[str, Plugin]) -> dict[str, str]:
    """Return patterns for the ways to name a part: its module, its prompts, its tool, settings and commands.

    Each is kept under a word that stands wherever it matches.
    """
    part, others = parts[name], [Settings, *(other.settings for key, other in parts.items() if key != name)]
    patterns = {name: rf"\b(plugins|dialogs)([./]| import .*\b){name}\b|[\"']{name}/[a-z]"}
    patterns |= {part.tool: rf"\b{part.tool}\b"} if isinstance(part, Dialog) and part.tool else {}
    settings = {*part.settings.model_fields} if part.settings else set[str]()
    # Several may read the same setting.
    settings -= {field for other in others if other for field in other.model_fields}
    patterns |= {key.upper(): rf"\b{key.upper()}\b" for key in settings}
    patterns |= {f"settings.{key}": rf"\bsettings\.{key}\b" for key in settings}
    if part.command_line:
        line = part.command_line
        line = import_module(line).command_line if isinstance(line, str) else line
        commands = get_command(line)
        named = (
            {commands.name: commands} if line.info.name else getattr(commands, "commands", {commands.name: commands})
        )
        # It may bring a command of a group that is the application's.
        joined = {name: getattr(group, "commands", {}) for name, group in named.items() if name in MODULE_OF}
        names = [*(named.keys() - joined.keys()), *(f"{name} {own}" for name, owns in joined.items() for own in owns)]
        patterns |= {f"app {command}": rf"python -m app {command}\b" for command in names}
    return patterns


@dataclass(frozen=True)
class Outcome:
    """The outcome of a copy."""

    names: Sequence[str]
    faults: Sequence[str]
    is_answering: bool
    naming: Sequence[str]
    tests: int
    """The exit code of the quick tests."""

    def __bool__(self) -> bool:
        return not self.faults and self.is_answering and not self.naming and self.tests == 0

    def __str__(self) -> str:
        found = [*self.faults, *(f"named in {file}" for file in self.naming)]
        cells = (
            ", ".join(self.names),
            "; ".join(found) or "clean",
            "answers" if self.is_answering else "fails",
            "pass" if self.tests == 0 else f"exit {self.tests}",
        )
        return f"| {' | '.join(cells)} |"


def without(names: Sequence[str], *arguments: str) -> Outcome:
    """Return the outcome of a copy without some dialogs and plug-ins; its tests print their own results."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_without(names, folder)
        # Some tests ask git which files there are.
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "copy")):
            subprocess.run((*GIT, *command), cwd=folder, check=True)
        tests = subprocess.run((sys.executable, "-m", "pytest", "-q", "-m", "not slow", *arguments), cwd=folder)
        look = look_at(folder)
        files = [file for name in names for file in naming(name, folder)]
        return Outcome(names, look.faults, look.is_answering, files, tests.returncode)


def main(name: str, *arguments: str) -> int:
    """Print a table of the copies; return 1 if anything in one of them is wrong."""
    if name == HERE:
        sys.stdout.write(json.dumps(asdict(_look())))
        return 0
    chosen = {"--all": [[each] for each in deletable()], "--groups": pairwise(deletable())}.get(name, [[name]])
    outcomes = [without(names, *arguments) for names in chosen]
    lines = ["| without | `check` | `ask` | quick tests |", "| --- | --- | --- | --- |", *map(str, outcomes)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
