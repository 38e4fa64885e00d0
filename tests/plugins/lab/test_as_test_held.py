"""Conversations that were really held become tests that pass in a clean copy."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.package_copy import copy_package
from tests.support.pages import PACKAGES
from tests.support.places import ROOT
from tests.support.warm_python import run_python

TALK = (
    "yes please",
    'I\'m a nurse, I know "first aid" and Spanish',
    "speak English please",
    "yes",
    "add milk and bread to my list",
    "no, go on",
    "I like hiking",
    "yes",
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the application with its tests' foundation, and nothing else."""
    for package in (*PACKAGES, "benchmarks"):
        copy_package(package, tmp_path)
    (tmp_path / "tests/engine/traces").mkdir(parents=True)
    copy_package("tests/support", tmp_path)
    for name in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/engine/traces/__init__.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def talk(path: Path, *texts: str) -> str:
    """Hold a conversation with local:rules through the command line and return it as a test."""
    environment = {"DATABASE_URL": f"sqlite:///{path}", "LLM_MODEL": "local:rules", "APP_LANG": "en", "PATH": ""}
    run_python("app", "chat", folder=ROOT, environment=environment, text="\n".join(texts)).check_returncode()
    done = run_python("app", "export", "--thread", "me", "--as-test", folder=ROOT, environment=environment)
    done.check_returncode()
    assert done.stderr == ""
    return done.stdout


def passes(copy: Path, **environment: str) -> bool:
    """Say whether the tests of a copy pass."""
    arguments = ("-q", "-p", "no:cacheprovider", "--assert=plain")
    done = run_python("pytest", *arguments, folder=copy, environment={**os.environ, **environment})
    assert "1 passed" in done.stdout or "1 failed" in done.stdout, done.stdout
    return done.returncode == 0


REMINDED = (
    "remind me to call mom tomorrow at 9 and remind me to feed the cat at 6 pm",
    "make the second reminder ten minutes later",
    "set a timer for 1 second",
    "let's get acquainted",
    "show my reminders",
    "delete the second one",
    "my time zone is Asia/Tokyo",
)


@pytest.mark.slow
def test_a_conversation_with_reminders_becomes_a_test(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It passes on any day and in any place, though each reminder had a date, and the dialogs changed hands."""
    source = talk(tmp_path_factory.mktemp("held") / "held.db", *REMINDED)
    (copy / "tests/engine/traces/test_exported.py").write_text(source, "utf-8")
    assert source.count("planner.add_reminder(") == 3
    assert "planner.change_reminder(" in source
    assert "supervisor -> profile\n" in source
    assert all(sentence in source for sentence in REMINDED)
    # There is always another day in one of the two than in the other.
    assert passes(copy, TZ="Pacific/Kiritimati")
    assert passes(copy, TZ="Etc/GMT+12")


@pytest.mark.slow
def test_a_real_conversation_becomes_a_test(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Exported as it was held without a key, it passes in a clean copy; it fails once the graph behaves otherwise."""
    source = talk(tmp_path_factory.mktemp("held") / "held.db", *TALK)
    (copy / "tests/engine/traces/test_exported.py").write_text(source, "utf-8")

    for sentence in TALK:
        assert sentence in source.replace("\\", "")
    assert "supervisor -> profile\n" in source
    assert "planner.add_todos(" in source
    for command in (["format"], ["check"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "-q", "tests/engine/traces"], cwd=copy, check=True)
    assert passes(copy)

    dialog = copy / "dialogs/profile/__init__.py"
    dialog.write_text(dialog.read_text("utf-8").replace("remember=True", 'remember=True,\n    resume="never"'), "utf-8")
    assert not passes(copy)
