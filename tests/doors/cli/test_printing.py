"""Tools that print: what a script reads from stdout is results alone."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.cli import command_line
from tests.doors.cli.conftest import Captured, Stage
from tests.support.fake_assistant import StandIn, line, says


@pytest.fixture
def printing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], StandIn]:
    """Put a stand-in behind the command line that prints in the course of its work."""

    def set_up(where: str) -> StandIn:
        stand_in = stage(says("Hello"), lines=[line("user", "hi")])

        @asynccontextmanager
        async def opened(*given: Any, **more: Any) -> AsyncIterator[Any]:
            async with stand_in.open(*given, **more) as assistant:
                sys.stdout.write("debugging\n")
                yield assistant

        monkeypatch.setattr(f"app.cli.{where}.open_assistant", opened)
        return stand_in

    return set_up


def test_what_a_tool_prints_is_no_event(printing: Callable[[str], StandIn], capsys: Captured) -> None:
    """With --json every line of stdout is an event; all other output goes to stderr."""
    printing("talk")
    assert command_line.main(["ask", "hi", "--json"]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["turn.start", "token", "message", "turn.end"]
    assert err == "debugging\n"


def test_other_commands_keep_their_json_clean_too(printing: Callable[[str], StandIn], capsys: Captured) -> None:
    """One JSON document is all there is on stdout."""
    printing("threads")
    assert command_line.main(["state", "--thread", "me", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["turn"] == 2
    assert err == "debugging\n"


def test_stdout_is_itself_again(printing: Callable[[str], StandIn], capsys: Captured) -> None:
    """Output after the command goes to the usual stdout."""
    printing("talk")
    command_line.main(["ask", "hi", "--json"])
    capsys.readouterr()
    sys.stdout.write("after\n")
    assert capsys.readouterr() == ("after\n", "")
