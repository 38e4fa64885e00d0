"""`python -m app audit`: what operators did, by the login where it was done at the command line."""

import getpass
import json
from pathlib import Path

import pytest

from app.cli import command_line
from prompts import sentence


@pytest.mark.needs("standin")
def test_commands_that_change_something_are_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Listed as lines and as JSON, what failed too; commands that only look are not."""
    assert command_line.main(["audit"]) == 0
    assert capsys.readouterr().out.strip() == sentence("audit/phrases", "no_deeds", "en")
    for command in (
        ["ask", "nobody may read this", "--thread", "ann"],
        ["state", "--thread", "ann"],
        ["forget", "--thread", "ann", "--yes"],
        ["forget", "--thread", "nobody", "--yes"],
    ):
        command_line.main(command)
    capsys.readouterr()
    assert command_line.main(["audit", "--json"]) == 0
    printed = capsys.readouterr().out
    done = [("forget", "ann", "done"), ("forget", "nobody", "failed")]
    assert [(deed["what"], deed["thread"], deed["outcome"]) for deed in json.loads(printed)] == done
    assert {deed["who"] for deed in json.loads(printed)} == {f"cli:{getpass.getuser()}"}
    assert "nobody may read this" not in printed
    assert command_line.main(["audit"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-4:] == ["forget", "ann", "-", "done"]
