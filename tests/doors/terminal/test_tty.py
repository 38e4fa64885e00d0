"""The terminal's output besides answers, and its input."""

import asyncio
import logging
import os

import pytest

from agents.events import TurnStart
from agents.language.text.clean import clean
from app.doors.slash_commands import FIRST, LAST
from app.doors.terminal.tty import incoming_lines
from app.presentation.texts import say
from app.process.logs import log_on_stderr
from prompts import PromptError, table
from tests.support.simulated_time import rounds


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\tb\nc\r\nd", "a\tb\nc\nd"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jx\x85y\x7f\x08", "xy"),
        ("\x1bP1$tx\x1b\\y", "y"),
        ("open \x1b]52;c;", "open "),
        ("one \x1b[", "one "),
        ("rewritten\rline", "rewrittenline"),
        ("half \ud83d", "half "),
        ("Ω 漢字 🙂 é", "Ω 漢字 🙂 é"),
    ],
)
def test_no_control_reaches_the_terminal(raw: str, shown: str) -> None:
    """Of control characters only newline and tab pass; escape sequences go as a whole."""
    assert clean(raw) == shown


async def test_lines_come_as_they_are_written() -> None:
    """A line from a pipe is there before the next one is written; bad bytes do not matter."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream, os.fdopen(writing, "wb", 0) as source:
        lines = incoming_lines(stream)
        source.write(b"\xef\xbb\xbfone\nt")
        assert await anext(lines) == "one"
        waiting = asyncio.ensure_future(anext(lines))
        await rounds(1)
        source.write("wö\nthr\xff".encode("latin-1"))
        assert await waiting == "tw�"
        source.close()
        assert [text async for text in lines] == ["thr�"]


def test_a_held_log_comes_out_after_the_turn(capsys: pytest.CaptureFixture[str]) -> None:
    """In the REPL a line of the log waits until nothing is redrawn in place."""
    with log_on_stderr(detailed=False, held=True) as log:
        logging.getLogger("somewhere").critical("bad")
        log.show(TurnStart(text="hi"))
        assert capsys.readouterr().err == ""
        log.close()
        assert capsys.readouterr().err == "CRITICAL bad\n"


def test_every_command_has_a_sentence() -> None:
    """The help of the door lists each by it."""
    assert {command.name for command in (*FIRST, *LAST)} == {*table("cli", "en")["command"]}


def test_a_missing_sentence_is_told() -> None:
    """A sentence or a variable that is missing is a fault that names it."""
    with pytest.raises(PromptError, match="no sentence 'nowhere'"):
        say("nowhere", "en")
    with pytest.raises(PromptError, match=r"\$thread"):
        say("no_thread", "en")
