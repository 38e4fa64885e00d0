"""The REPL on a real terminal, with real signals."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

PROMPT = "\x1b[?2004h"  # what a terminal is told when a line is about to be edited
ROOT = Path(__file__).parents[1]

SLOW_TALK = """
import sys
from app import cli, talk
from tests.stand_in import StandIn, line, says
count = says(" ".join(f"word{number}" for number in range(400)))
talk.open_assistant = StandIn(count, says("Fine"), lines=[line("user", "hi")], pace=0.03).open
sys.exit(cli.main(["chat"]))
"""


class Terminal:
    """A process on a pseudo-terminal."""

    def __init__(self, folder: Path, *program: str) -> None:
        self.shown = ""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        place = {"LLM_MODEL": "local:rules", "DATABASE_URL": f"sqlite:///{folder}/talk.db", "APP_LANG": "en"}
        self.process = subprocess.Popen(
            [sys.executable, *program],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env={**os.environ, **place, "TERM": "xterm-256color"},
            start_new_session=True,
            # Ctrl-C becomes a signal only on the terminal that controls the process.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode())

    def wait_for(self, text: str, within: float = 20) -> None:
        """Read until a text is shown; what was shown before it is not looked at again."""
        until = time.monotonic() + within
        while text not in self.shown:
            assert time.monotonic() < until, f"{text!r} was not shown, but {self.shown!r}"
            if select.select([self._ours], [], [], 0.1)[0]:
                self.shown += self._read()
        self.shown = self.shown.split(text, 1)[1]

    def close(self) -> None:
        """Put the terminal away."""
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def _read(self) -> str:
        try:
            raw = os.read(self._ours, 65536)
        except OSError:  # Linux says so when the process has gone
            return ""
        if b"\x1b[6n" in raw:  # asked where the cursor is
            self.type("\x1b[1;1R")
        return raw.decode("utf-8", "replace")


@pytest.mark.slow
def test_the_repl_on_a_real_terminal(tmp_path: Path) -> None:
    """Greeting, answer, Ctrl-C at the prompt and Ctrl-D work on a terminal with the built-in model."""
    terminal = Terminal(tmp_path, "-m", "app", "chat")
    try:
        terminal.wait_for("thread me")
        terminal.wait_for(PROMPT)
        terminal.type("What can you do?\r")
        terminal.wait_for(PROMPT)
        # Ctrl-D leaves on an empty line only, so Ctrl-C must have cleared it.
        terminal.type("half a line\x03\x04")
        terminal.wait_for("See you")
        assert terminal.process.wait(10) == 0
    finally:
        terminal.close()


@pytest.mark.slow
def test_ctrl_c_stops_an_answer_on_a_real_terminal(tmp_path: Path) -> None:
    """Ctrl-C in mid-answer keeps what was shown, says so, and the talk goes on."""
    terminal = Terminal(tmp_path, "-c", SLOW_TALK)
    try:
        terminal.wait_for(PROMPT)
        terminal.type("count\r")
        terminal.wait_for("word5")
        terminal.type("\x03")
        terminal.wait_for("⏹ stopped")
        assert "word399" not in terminal.shown
        terminal.wait_for(PROMPT)
        terminal.type("and now?\r")
        terminal.wait_for("Fine")
        terminal.wait_for(PROMPT)
        terminal.type("\x04")
        terminal.wait_for("See you")
        assert terminal.process.wait(10) == 0
    finally:
        terminal.close()
