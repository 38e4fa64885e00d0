"""Messages from a pipe: which of them are heard, and what is told of them."""

import json

from agents.events import Error
from app.cli import command_line
from tests.doors.cli.conftest import Captured, Feed, Stage
from tests.support.fake_assistant import line, says


def test_ask_reads_standard_input(stage: Stage, feed: Feed) -> None:
    """A dash stands for standard input, all of its lines being one message."""
    stand_in = stage(says("Hello"))
    feed("one\ntwo\n")
    assert command_line.main(["ask", "-"]) == 0
    assert stand_in.heard[0].text == "one\ntwo"


def test_piped_chat_takes_a_line_as_a_message(stage: Stage, feed: Feed, capsys: Captured) -> None:
    """From a pipe every line that is not blank is a message; a new thread greets first."""
    stand_in = stage(says("Welcome"), says("First"), says("Second"))
    feed("one\n\n  \ntwo")
    assert command_line.main(["chat"]) == 0
    assert [turn.text for turn in stand_in.heard] == [None, "one", "two"]
    out, err = capsys.readouterr()
    assert out == "Welcome\nFirst\nSecond\n"
    assert "make setup" not in err


def test_piped_chat_goes_on_in_an_old_thread(stage: Stage, feed: Feed, capsys: Captured) -> None:
    """An old thread has no greeting, so the welcome names the model; trouble shows in the exit code."""
    stand_in = stage([Error(code="busy", text="Sorry.")], says("Fine"), lines=[line("user", "hi")])
    feed("one\ntwo\n")
    assert command_line.main(["chat", "--json"]) == 75
    assert [turn.text for turn in stand_in.heard] == ["one", "two"]
    out, err = capsys.readouterr()
    assert all(json.loads(text)["v"] == 1 for text in out.splitlines())
    assert "make setup" in err
