"""`python -m app new`: what it writes works at once, and it overwrites nothing."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from app.cli import command_line
from app.extensions import Extensions, use
from prompts import languages
from tests.support.package_copy import copy_package
from tests.support.pages import PACKAGES
from tests.support.places import ROOT
from tests.support.warm_python import run_python

NAMES = {"dialog": "clinic", "observer": "mood", "tool": "find_doctor", "language": "de"}
"""The name of a new extension of each kind."""


def environment(own: Path | None, **more: str) -> Mapping[str, str]:
    """Return the environment of a process with a folder of its own, and a database that nobody else has."""
    database = f"sqlite:///{(own or Path.cwd()).parent}/try.db"
    own_settings = {"EXTENSIONS": str(own or ""), "DATABASE_URL": database, "APP_LANG": "en"}
    return {**os.environ, "LLM_MODEL": "local:rules", **own_settings, **more}


def run(own: Path | None, *arguments: str, folder: Path = ROOT, **more: str) -> str:
    """Run Python, and return what it prints; it must end well."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(own, **more), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_app(own: Path | None, *arguments: str, folder: Path = ROOT) -> str:
    """Run a command of the application in a process that has loaded the libraries, and return what it prints."""
    done = run_python("app", *arguments, folder=folder, environment=environment(own))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return an empty folder of one's own."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


@pytest.fixture
def searched(own: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let this process search the folder during a test."""
    monkeypatch.setenv("EXTENSIONS", str(own))
    yield own
    use(Extensions(_env_file=None, extensions=()))


@pytest.mark.slow
def test_what_it_writes_works_at_once(own: Path) -> None:
    """The check finds nothing after each step, and lint, types and tests pass; three lines say what is next."""
    for kind, name in NAMES.items():
        written_files = json.loads(run_app(own, "new", kind, name, "--json"))
        assert all(Path(path).exists() for path in written_files["written"])
        assert [line[:2] for line in written_files["next"]] == ["1.", "2.", "3."]
        marked = [path for path in written_files["written"] if "EDIT: " in Path(path).read_text("utf-8")]
        assert len(written_files["written"]) - len(marked) <= 1
        assert {lang for lang in languages() if any((own / "prompts" / lang).rglob("*.md"))} == {*languages()}
        report = json.loads(run_app(own, "check", "--json"))
        assert report["faults"] == []
        # That an observer is to be named in a dialog is the second line.
        expected = ("prompts/de", "own/prompts/de", "the observer mood watches nobody")
        assert [line for line in report["warnings"] if not line.startswith(expected)] == []
    run_app(own, "new", "tool", "find_nurse", "--dialog", "clinic")

    checked = run(own, "-m", "tests.support.own_folders")
    assert "All checks passed!" in checked
    assert "Success: no issues found" in checked
    assert "6 passed" in checked

    source = own / "dialogs" / "clinic" / "__init__.py"
    source.write_text(f'{source.read_text("utf-8")}\ndays: int = "seven"\n', "utf-8")
    wrong = subprocess.run(
        [sys.executable, "-m", "tests.support.own_folders"],
        cwd=ROOT,
        env=environment(own),
        capture_output=True,
        text=True,
    )
    assert (wrong.returncode, "Incompatible types in assignment" in wrong.stdout) == (1, True)


@pytest.mark.slow
def test_without_a_folder_of_ones_own_it_writes_beside_the_shipped_ones(tmp_path: Path) -> None:
    """The dialog of a fresh clone is found, and its test passes."""
    for name in (*PACKAGES, "tests", "benchmarks"):
        copy_package(name, tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    written_files = json.loads(run_app(None, "new", "dialog", "clinic", "--json", folder=tmp_path))
    assert "dialogs/clinic/__init__.py" in written_files["written"]
    assert "tests/conftest.py" not in written_files["written"]
    report = json.loads(run_app(None, "check", "--json", folder=tmp_path))
    assert ("clinic" in [dialog["name"] for dialog in report["dialogs"]], report["faults"]) == (True, [])
    tests = ("-q", "--assert=plain", "tests/test_dialog_clinic.py")
    done = run_python("pytest", *tests, folder=tmp_path, environment=environment(None))
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["dialog", "Clinic"], "'Clinic' is not a name for your dialog"),
        (["dialog", "../clinic"], "'../clinic' is not a name for your dialog"),
        (["dialog", "class"], "the name class is taken"),
        (["dialog", "x" * 31], "is not a name for your dialog: use small letters, digits and _, a letter first"),
        (["dialog", "settle"], "the name settle is taken"),
        (["dialog", "prompts"], "the name prompts is taken"),
        (["dialog", "cards"], "the name cards is taken"),
        (["observer", "supervisor"], "the name supervisor is taken"),
        (["tool", "current_time"], "the name current_time is taken"),
        (["tool", "find_doctor", "--dialog", "nobody"], "there is no dialog nobody; there are: "),
        (["language", "en"], "the name en is taken"),
        (["language", "__pycache__"], "'__pycache__' is not the code of a language: use two or three small letters"),
        (["house", "clinic"], "'house' is not one of"),
    ],
)
def test_a_bad_name_is_one_line(
    searched: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], fault: str
) -> None:
    """It is refused with the reason, exit code 2, and nothing is written."""
    assert command_line.main(["new", *arguments]) == 2
    error = capsys.readouterr().err
    assert fault in error
    assert error.count("\n") == 1
    assert list(searched.iterdir()) == []


def test_nothing_is_overwritten(searched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If one of the files exists already, none is written."""
    test = searched / "tests" / "test_observer_mood.py"
    test.parent.mkdir()
    test.write_text("mine", "utf-8")
    assert command_line.main(["new", "observer", "mood"]) == 2
    assert "test_observer_mood.py is there already; nothing was written" in capsys.readouterr().err
    assert [path.name for path in searched.rglob("*") if path.is_file()] == [test.name]
    assert test.read_text("utf-8") == "mine"
