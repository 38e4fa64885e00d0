"""`python -m app seat`, on a real database with the stand-in."""

import json

import pytest

from app.cli.command_line import main
from prompts import sentence
from tests.doors.cli.conftest import Captured, Feed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home")]
SIT = ["seat", "--thread", "me", "--as", "Anna"]


def test_a_person_answers_from_a_pipe(capsys: Captured, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call is listed; each line is said; the end of input hands back; a second person is one line and exit code 2."""
    monkeypatch.setenv("SEAT_WAIT", "600")
    assert main(["ask", "call a human operator", "--thread", "me"]) == 0
    assert main(["seat", "--list"]) == 0
    assert "me  called by the assistant" in capsys.readouterr().out
    feed("I am here.\n/leave\n")
    assert main(SIT) == 0
    shown = capsys.readouterr()
    assert "Anna: I am here." in shown.out
    assert sentence("seat/phrases", "operator.left", "en") in shown.err
    assert main(["ask", "my lamp is broken", "--thread", "me"]) == 0
    assert "Anna reads this; the assistant is silent." in capsys.readouterr().err
    assert main(["seat", "--list", "--json"]) == 0
    [seat] = json.loads(capsys.readouterr().out)
    assert (seat["holder"], seat["waits_ms"] is not None) == ("Anna", True)
    assert main(["state", "--thread", "me", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["held_by"] == "Anna"
    assert main(["seat", "--thread", "me", "--as", "Ben"]) == 2
    assert "Anna holds the thread 'me'" in capsys.readouterr().err
    assert main(["seat", "--thread", "nobody"]) == 2
    assert main(["seat"]) == 2


def test_json_and_a_note(capsys: Captured, feed: Feed) -> None:
    """With `--json` stdout has each line of the talk as it stands in the memory; `--note` is for the assistant."""
    assert main(["ask", "hello", "--thread", "me"]) == 0
    capsys.readouterr()
    feed("Hello from me.\n")
    assert main([*SIT, "--json", "--note", "greeted"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["metadata"]["source"] for line in lines][-3:] == ["command", "person", "command"]
    assert [line["content"] for line in lines][-2:] == ["Hello from me.", sentence("seat/phrases", "back", "en")]
    assert main(["seat", "--list"]) == 0
    assert sentence("seat/phrases", "operator.list_empty", "en") in capsys.readouterr().out
