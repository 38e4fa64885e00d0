"""`python -m app back`, on a real database with the stand-in."""

import json
from pathlib import Path

import pytest

from app.cli.command_line import main
from app.process.exit_codes import WAITING
from tests.doors.cli.conftest import Captured

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("home")
def test_a_thread_goes_back_and_says_what_stays(capsys: Captured) -> None:
    """The turn's lines are printed with what stays done; a turn that is not kept is one line and exit code 2."""
    for text, code in (("let's get acquainted", 0), ("I am a nurse", WAITING), ("add milk to my list", 0)):
        assert main(["ask", text, "--thread", "me"]) == code
    capsys.readouterr()
    assert main(["back", "--thread", "me", "--turn", "1"]) == 0
    shown = capsys.readouterr().out
    assert "you: let's get acquainted" in shown
    assert "We are back at the end of turn 1. What was done since stays done" in shown
    assert "nurse" not in shown
    assert main(["state", "--thread", "me", "--json"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert (state["dialog"], state["turn"]) == ("profile", 3)
    assert main(["back", "--thread", "me", "--turn", "2", "--json"]) == 0
    thread = json.loads(capsys.readouterr().out)
    assert (thread["thread"], thread["turn"], thread["left"]) == ("me", 2, 3)
    for wrong in (["--thread", "me", "--turn", "9"], ["--thread", "nobody", "--turn", "1"]):
        assert main(["back", *wrong]) == 2
    assert "turn 9 cannot be gone back to; these can: 1, 2, 3" in capsys.readouterr().err
    assert main(["history", "--thread", "me"]) == 0
    assert capsys.readouterr().out.count("We are back at the end of turn") == 2


def test_turns_beyond_those_that_are_kept_are_gone(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """`KEEP_TURNS` says how many can be gone back to."""
    monkeypatch.setenv("KEEP_TURNS", "2")
    for number in range(5):
        assert main(["ask", f"add thing{number} to my list", "--thread", "me"]) == 0
    assert main(["back", "--thread", "me", "--turn", "1"]) == 2
    assert "these can: 3, 4, 5" in capsys.readouterr().err
    monkeypatch.setenv("KEEP_TURNS", "0")
    assert main(["threads"]) == 2
    assert "KEEP_TURNS" in capsys.readouterr().err
