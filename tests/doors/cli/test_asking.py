"""`python -m app ask`: what goes to which stream, and with which exit code it ends."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.errors import ConfigError, UsageError
from agents.events import Error, Event
from agents.events.views import Notice
from app.assistant import Turn
from app.cli import command_line
from tests.doors.cli.conftest import Captured, Stage
from tests.support.fake_assistant import says
from tests.support.places import ROOT


def test_ask_prints_the_answer_only(stage: Stage, capsys: Captured) -> None:
    """Only the assistant's answer goes to stdout; a notice is a remark."""
    stage([*says("Hello there"), Notice(message="The shop is closed.")])
    assert command_line.main(["ask", "hi"]) == 0
    assert capsys.readouterr() == ("Hello there\n", "The shop is closed.\n")


def test_ask_tells_every_event_as_json(stage: Stage, capsys: Captured) -> None:
    """With --json stdout is one JSON object a line, in the words of the user's language."""
    stage(says("Привет"))
    assert command_line.main(["ask", "hi", "--json", "--thread", "t"]) == 0
    out = capsys.readouterr().out
    events = [json.loads(text) for text in out.splitlines()]
    assert [event["type"] for event in events] == ["turn.start", "token", "message", "turn.end"]
    assert [event["seq"] for event in events] == [1, 2, 3, 4]
    assert {event["thread"] for event in events} == {"t"}
    assert "Привет" in out


@pytest.mark.parametrize(("code", "expected"), [("busy", 75), ("key_refused", 76), ("unavailable", 77)])
def test_provider_trouble_has_its_exit_code(stage: Stage, capsys: Captured, code: str, expected: int) -> None:
    """A provider's trouble is told on stderr and by the exit code."""
    stage([Error(code=code, text="Sorry.")])
    assert command_line.main(["ask", "hi"]) == expected
    assert capsys.readouterr() == ("", "Sorry.\n")


def test_a_retried_stream_is_no_trouble(stage: Stage, capsys: Captured) -> None:
    """A reply that was asked for again is an answer like any other."""
    stage([Error(code="model_retry", text="again"), *says("Fine")])
    assert command_line.main(["ask", "hi"]) == 0
    assert capsys.readouterr() == ("Fine\n", "")


def test_options_reach_the_turn(stage: Stage) -> None:
    """Thread, user and message id are those of the options; the text may come from standard input."""
    stand_in = stage(says("Hello"))
    assert command_line.main(["ask", "hi", "--thread", "t", "--user", "ann", "--message-id", "m1"]) == 0
    turn = stand_in.heard[0]
    assert (turn.text, turn.thread, turn.user, turn.id) == ("hi", "t", "ann", "m1")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["ask", " "], "nothing to say"),
        (["ask"], "TEXT"),
        (["ask", "hi", "--lang", "qq"], "qq"),
        (["ask", "hi", "--thread", ""], "name"),
        (["ask", "hi", "--unknown"], "--unknown"),
        (["sing"], "sing"),
        (["state"], "--thread"),
        (["state", "--thread", "gone"], "'gone'"),
        (["history", "--thread", "gone"], "'gone'"),
        (["forget", "--thread", "gone"], "'gone'"),
    ],
)
def test_a_fault_of_the_caller_is_one_line(stage: Stage, capsys: Captured, arguments: list[str], word: str) -> None:
    """Bad options, an empty text and an unknown thread give one clear line on stderr and exit 2."""
    stage()
    assert command_line.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert word in err


def test_a_name_with_escapes_is_told_as_it_is_written(stage: Stage, capsys: Captured) -> None:
    """The line shows control characters as escapes."""
    stage()
    assert command_line.main(["ask", "hi", "--file", "a\x1b[31m\nb"]) == 2
    assert capsys.readouterr().err == "python -m app: no such file: a\\x1b[31m b\n"


def test_the_language_of_the_installation_must_exist(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """A wrong APP_LANG is refused as a wrong --lang is."""
    stage()
    monkeypatch.setenv("APP_LANG", "xx")
    assert command_line.main(["ask", "hi"]) == 2
    _, err = capsys.readouterr()
    assert err.startswith("python -m app: APP_LANG: ")
    assert "there is no language 'xx'" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("fault", [ConfigError("OPENAI_API_KEY is missing"), UsageError("id was used")])
def test_errors_with_a_reader_are_one_line(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: Captured, fault: Exception
) -> None:
    """A wrong setting or a reused id is told in one line, not as a stack trace."""
    stand_in = stage()

    def refuse(_: object) -> None:
        raise fault

    monkeypatch.setattr(stand_in, "play", refuse)
    assert command_line.main(["ask", "hi"]) == 2
    assert capsys.readouterr().err == f"python -m app: {fault}\n"


@pytest.mark.parametrize(
    ("command", "code", "err"),
    [
        ("threads >/dev/full", 1, "[Errno 28] No space left on device"),
        ("threads >&-", 0, ""),
        ("ask - <&-", 2, "there is nothing to say: give TEXT, or - to read it from standard input"),
    ],
)
@pytest.mark.slow
def test_streams_that_cannot_be_used(tmp_path: Path, command: str, code: int, err: str) -> None:
    """A full disk is one line; a stream that the caller has closed is empty, and its number is no other file's."""
    variables = {"DATABASE_URL": f"sqlite:///{tmp_path}/a.db", "APP_LANG": "en", "LLM_MODEL": "local:rules"}
    shell = ["sh", "-c", f"{sys.executable} -m app {command}"]
    process = subprocess.run(shell, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (code, err and f"python -m app: {err}\n")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("APP_LANG=en # по-русски".encode("cp1251"), " is not written in UTF-8"),
        (b"# mine\nAPP_LANG: ru\n", ", line 2: write NAME=value; a quote needs its end"),
        (b'APP_LANG="ru\nLOG_JSON=1\n', ", line 1: write NAME=value; a quote needs its end"),
    ],
)
def test_settings_that_cannot_be_read_are_one_line(
    stage: Stage, tmp_path: Path, capsys: Captured, written: bytes, told: str
) -> None:
    """A file that an old editor has saved, or that has a line of another form, is named; no line is left out."""
    stage()
    (tmp_path / ".env").write_bytes(written)
    assert command_line.main(["ask", "hi"]) == 2
    assert capsys.readouterr().err == f"python -m app: .env{told}\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_answer(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: Captured, number: signal.Signals, code: int
) -> None:
    """An interrupted answer is stopped, what was said of it is printed, and the exit code tells."""
    stand_in = stage(says("one two three four five six seven eight nine ten"), pace=0.02)
    play = stand_in.play

    async def play_until_the_signal(turn: Turn) -> AsyncIterator[Event]:
        count = 0
        async for event in play(turn):
            yield event
            count += 1
            if count == 4:
                os.kill(os.getpid(), number)

    monkeypatch.setattr(stand_in, "play", play_until_the_signal)
    assert command_line.main(["ask", "count"]) == code
    out, err = capsys.readouterr()
    assert out.startswith("one two three")
    assert "ten" not in out
    assert "⏹" in err


@pytest.mark.parametrize(("arguments", "told"), [([], False), (["--trace"], True)])
def test_the_log_is_short_unless_asked_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: Captured, arguments: list[str], told: bool
) -> None:
    """An error in the log is one line; --trace adds warnings and where the error comes from."""
    stand_in = stage(says("Fine"))
    play = stand_in.play

    async def play_and_log(turn: Turn) -> AsyncIterator[Event]:
        log = logging.getLogger("somewhere")
        log.warning("slow")
        try:
            raise KeyError("secret")
        except KeyError:
            log.exception("thread %s: turn failed", "\x1b[2Jme")
        async for event in play(turn):
            yield event

    monkeypatch.setattr(stand_in, "play", play_and_log)
    assert command_line.main(["ask", "hi", *arguments]) == 0
    err = capsys.readouterr().err
    assert "ERROR thread me: turn failed" in err
    assert ("WARNING slow" in err, "secret" in err) == (told, told)
    assert told or err == "ERROR thread me: turn failed (KeyError; --trace tells where)\n"


@pytest.mark.slow
def test_a_model_out_of_reach_is_told_with_address_and_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """The message names the model, its address and the cause; a password in the address is not shown."""
    for name, value in {
        "DATABASE_URL": f"sqlite:///{tmp_path}/dialogs.db",
        "LLM_MODEL": "openai:tiny",
        "OPENAI_BASE_URL": "http://ann:secret@127.0.0.1:9/v1",
        "MODEL_RETRIES": "0",
    }.items():
        monkeypatch.setenv(name, value)
    assert command_line.main(["ask", "hello"]) == 77
    errors = capsys.readouterr().err
    assert "openai:tiny at http://127.0.0.1:9/v1: connection refused" in errors
    assert "arrow up, Enter" in errors
    assert "secret" not in errors
