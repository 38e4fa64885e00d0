"""`demo`: what it promises to show is there, in every language."""

import asyncio
import os
import pty
import re
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from app.plugins.first_steps import demo
from prompts import languages, table
from tests.support.places import ROOT
from tests.support.warm_python import run_python

SEEN = (
    r"supervisor -> profile",
    r"fill_form\(",
    r"switch -> planner \((observer|free)\)",
    r"add_todos\(",
    r"switch -> profile \(free\) · the user took the switch back",
    r"profile is paused",
    r"change_language\(",
    r"switch -> profile \(free\) · the user accepted",
    r"profile is finished",
    r"list_todos\(\)",
)


def played(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Play it in another folder's environment, where nothing is set up."""
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": f"sqlite:///{folder}/mine.db", "COLUMNS": "500"}
    done = run_python("app", "demo", *arguments, folder=ROOT, environment=environment)
    done.check_returncode()
    return done


@pytest.mark.slow
@pytest.mark.parametrize("lang", languages())
def test_everything_promised_is_shown(tmp_path: Path, lang: str) -> None:
    """Take-over, switch, undo, pause, resume and tools happen in this order; nothing goes wrong or stays."""
    shown = played(tmp_path, "--lang", lang, "--trace")

    assert re.search(".*".join(SEEN), shown.stderr, re.DOTALL), shown.stderr
    assert "error" not in shown.stderr
    for step in table("first_steps/demo", lang)["steps"]:
        assert step["shows"] in shown.stdout
        assert f"> {step.get('says', '')}" in shown.stdout
    assert shown.stdout.rstrip().endswith(table("first_steps/demo", lang)["closing"][-20:])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_it_needs_nothing(tmp_path: Path) -> None:
    """Without --trace nothing goes to stderr."""
    assert played(tmp_path).stderr == ""


@pytest.mark.parametrize("lang", languages())
def test_every_language_plays_the_same(lang: str) -> None:
    """Each language has its own words for every step."""
    assert len(table("first_steps/demo", lang)["steps"]) == len(table("first_steps/demo", "en")["steps"])
    assert lang == "en" or table("first_steps/demo", lang)["opening"] != table("first_steps/demo", "en")["opening"]


async def test_the_demo_can_be_hurried() -> None:
    """A key ends the wait at once, and one that was pressed before the wait does not."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "r") as terminal:
        async with demo.pressed_keys(terminal) as key, asyncio.timeout(60):
            pause = demo._Pause(0.02, key)
            os.write(master, b" ")
            await pause.wait(600)
            pause.go_on()
            assert not key.is_set()
            asyncio.get_running_loop().call_later(0.05, os.write, master, b"x")
            # Without the key this would take minutes.
            await demo._type("a long text " * 500, Console(file=StringIO()), pause)
    os.close(master)
