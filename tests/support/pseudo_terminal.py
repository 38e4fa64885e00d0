"""A program on a pseudo-terminal, seen through a terminal emulator, with real signals."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

from tests.support.places import ROOT
from tests.support.warm_process import Fork

PROMPT = "\x1b[?2004h"  # what a terminal is told when a line is about to be edited
DIM, GREY = 2, 90


class Screen(pyte.Screen):
    """The terminal's screen; the emulator knows no faint text, so it is grey."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, rows)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        """Answer a question of the program's, such as where the cursor is."""
        self._answer(data)

    def select_graphic_rendition(self, *attrs: int, **kwargs: Any) -> None:
        """Set the style of the next text."""
        super().select_graphic_rendition(*((GREY,) if attrs == (DIM,) else attrs), **kwargs)


def _started(program: Sequence[str], environment: Mapping[str, str], terminal: int) -> Fork | subprocess.Popen[bytes]:
    if program[0] != "-m":
        return Fork(*program, environment=environment, streams=os.ttyname(terminal))
    return subprocess.Popen(
        [sys.executable, *program],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=ROOT,
        env=environment,
        start_new_session=True,
        # Ctrl-C becomes a signal only on the terminal that controls the process.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )


class Terminal:
    """A program with a keyboard and a screen: a command of the application, or a Python program by "-c" or "-m".

    A module starts cold, since it may change what the application imports.
    """

    def __init__(self, folder: Path, *program: str, columns: int = 80, rows: int = 24, **environment: str) -> None:
        self.written = ""
        self.all_written = ""
        self.screen = Screen(columns, rows, self.type)
        self._stream = pyte.ByteStream(self.screen)
        self._ours, self._theirs = pty.openpty()
        self._set_size(columns, rows)
        place = {"LLM_MODEL": "local:rules", "DATABASE_URL": f"sqlite:///{folder}/talk.db", "APP_LANG": "en"}
        inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        environment = {**inherited, **place, "TERM": "xterm-256color", **environment}
        self.process = _started(program, environment, self._theirs)

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, blanks at their ends left out."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        """The text on the screen."""
        return "\n".join(self.lines).strip("\n")

    def type(self, keys: str | bytes) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode() if isinstance(keys, str) else keys)

    def wait_for(self, text: str, within: float = 120) -> None:
        """Read until a text is written; text from before is not searched again."""
        until = time.monotonic() + within
        while text not in self.written:
            assert time.monotonic() < until, f"{text!r} was not written, but {self.written!r}"
            self._read()
        self.written = self.written.split(text, 1)[1]

    def sees(self, text: str, within: float = 120) -> None:
        """Read until a text stands on the screen."""
        until = time.monotonic() + within
        while text not in self.text:
            assert time.monotonic() < until, f"{text!r} was not shown, but:\n{self.text}"
            self._read()

    def misses(self, text: str, within: float = 120) -> None:
        """Read until a text no longer stands on the screen."""
        until = time.monotonic() + within
        while text in self.text:
            assert time.monotonic() < until, f"{text!r} is still shown:\n{self.text}"
            self._read()

    def resize(self, columns: int, rows: int) -> None:
        """Make the window larger or smaller."""
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)

    def ends(self, within: float = 120) -> int:
        """Wait until the program ends and return its exit code."""
        until = time.monotonic() + within
        while self.process.poll() is None:
            assert time.monotonic() < until, f"it did not end:\n{self.text}"
            self._read()
        self._read()
        assert self.process.returncode is not None
        return self.process.returncode

    def close(self) -> None:
        """Close the terminal."""
        self.process.kill()
        self.ends()
        os.close(self._theirs)
        os.close(self._ours)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> None:
        if not select.select([self._ours], [], [], 0.1)[0]:
            return
        try:
            raw = os.read(self._ours, 65536)
        except OSError:  # Linux says so when the process has gone
            return
        self._stream.feed(raw)
        text = raw.decode("utf-8", "replace")
        self.written += text
        self.all_written += text
