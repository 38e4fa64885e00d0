"""The terminal: text made safe for it, lines redrawn in place, keys kept silent, lines read as they come."""

import asyncio
import codecs
import os
import re
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TextIO

from rich.console import Console, Group, RenderableType

# A string of the terminal (title, clipboard, link) goes with its payload, as far as its line reaches.
_SEQUENCES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n|\x1b|$))"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean(text: str) -> str:
    """Return a text without terminal control: escape sequences, C0 and C1 but for newline and tab."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text.replace("\r\n", "\n")))


class Canvas:
    """The last lines of a terminal, redrawn in place; only what differs is written, so nothing flickers."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._shown: list[str] = []
        self._width = console.width

    def lines(self, *parts: RenderableType) -> list[str]:
        """Return what the parts look like, line by line."""
        with self.console.capture() as captured:
            # One column stays free: a full line followed by a newline is two lines on some terminals.
            self.console.print(Group(*parts), width=self.console.width - 1)
        return captured.get().rstrip("\n").split("\n")

    def draw(self, lines: list[str], *, last: bool = False) -> None:
        """Show these lines in place of those shown; the `last` drawing stays on the screen for good.

        Lines that have left the screen cannot be redrawn: a preview then waits, a last drawing comes anew.
        """
        pairs = zip(self._shown, lines, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        back = len(self._shown) - same
        within_reach = back < self.console.height and self.console.width == self._width
        if not within_reach and not last:
            return
        if not within_reach:
            same = back = 0
        up = f"\x1b[{back}A\r\x1b[J" if back else ""
        self._write(up + "".join(f"{line}\n" for line in lines[same:]))
        self._shown = [] if last else lines
        self._width = self.console.width

    def keep(self) -> None:
        """Leave what is shown on the screen for good."""
        self._shown = []

    def _write(self, text: str) -> None:
        self.console.file.write(text)
        self.console.file.flush()


@contextmanager
def silent_keys(stream: TextIO) -> Iterator[None]:
    """Keep keys typed during the block off the screen; they wait for the next prompt, Ctrl-C still works."""
    if not stream.isatty():
        yield
        return
    descriptor = stream.fileno()
    before = termios.tcgetattr(descriptor)
    silent = list(before)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)


async def incoming_lines(stream: TextIO) -> AsyncIterator[str]:
    """Yield the lines of a stream as they come, the event loop running on; bad bytes become U+FFFD."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    rest = ""
    while chunk := await _chunk(stream.fileno()):
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in lines:
            yield line
    if rest := rest + decoder.decode(b"", final=True):
        yield rest


async def _chunk(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a regular file is always ready and cannot be waited for
        return os.read(descriptor, 65536)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, 65536)
