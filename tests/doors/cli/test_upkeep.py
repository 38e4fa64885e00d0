"""Commands that look at what is stored or discovered: lines to read, JSON for scripts."""

import json

import pytest

from app.cli import command_line
from tests.doors.cli.conftest import Captured, Stage
from tests.support.fake_assistant import line


def test_listings_are_for_eyes_or_for_scripts(stage: Stage, capsys: Captured) -> None:
    """Threads, state and history print lines to read, and one JSON document with --json."""
    stage(lines=[line("user", "hi\nthere"), line("assistant", "Hel", "profile", interrupted=True)])
    for command in (["threads"], ["state", "--thread", "me"], ["history", "--thread", "me"]):
        assert command_line.main(command) == 0
        assert "JSON" not in capsys.readouterr().out
        assert command_line.main([*command, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
    assert command_line.main(["history", "--thread", "me"]) == 0
    assert "profile: Hel  ⏹ stopped" in capsys.readouterr().out
    assert command_line.main(["state", "--thread", "me"]) == 0
    assert "paused     profile\n" in capsys.readouterr().out


def test_graph_and_forget(stage: Stage, capsys: Captured) -> None:
    """The drawing and a confirmation are printed."""
    stage(lines=[line("user", "hi")])
    assert command_line.main(["graph"]) == 0
    assert command_line.main(["forget", "--thread", "me"]) == 0
    assert capsys.readouterr().out == "graph TD;\nThread me is forgotten.\n"


@pytest.mark.parametrize(("faults", "code"), [([], 0), (["prompts/en/x.md is missing"], 2)])
def test_check_tells_faults(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: Captured, faults: list[str], code: int
) -> None:
    """`check` lists what was discovered and fails when something is wrong with it."""
    dialog = {"name": "profile", "tools": ["a", "b"], "form": None}
    found = {"dialogs": [dialog], "observers": [], "tools": [], "models": {"x": "m"}, "faults": faults, "warnings": []}
    stage()
    monkeypatch.setattr("app.cli.inspect.report", lambda *_, **__: found)
    assert command_line.main(["check"]) == code
    out = capsys.readouterr().out
    assert "  profile\n    tools  a, b\n    form   -\n" in out
    assert all(fault in out for fault in faults)
    assert command_line.main(["check", "--json"]) == code
    assert json.loads(capsys.readouterr().out) == found
