"""The terminal: safe text, lines redrawn in place, silent keys, lines read as they come."""

import asyncio
import codecs
import os
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import takewhile
from math import ceil
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType

from agents.language.text.clean import clean


class Canvas:
    """The last lines of a terminal, redrawn in place; only the differences are written, so nothing flickers."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._shown: list[str] = []
        self._width = console.width

    def lines(self, *parts: RenderableType) -> list[str]:
        """Return the rendered parts, line by line."""
        with self.console.capture() as captured:
            # One column stays free: a full line followed by a newline is two lines on some terminals.
            self.console.print(Group(*parts), width=self.console.width - 1)
        # Blanks at the end would be wrapped when the window gets narrower, and copied with the text.
        return [line.rstrip(" ") for line in captured.get().rstrip("\n").split("\n")]

    def draw(self, lines: list[str], *, last: bool = False) -> None:
        """Show these lines in place of those shown; the `last` drawing stays on the screen for good.

        Lines that have left the screen cannot be redrawn: a preview then waits, a last drawing comes anew.
        """
        # In another width all lines are drawn anew.
        pairs = zip(self._shown, lines, strict=False) if self.console.width == self._width else ()
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        back = sum(self._rows(line) for line in self._shown[same:])
        within_reach = back < self.console.height
        if not within_reach and not last:
            return
        if not within_reach:
            same = back = 0
        up = f"\x1b[{back}A\r\x1b[J" if back else ""
        self.console.file.write(up + "".join(f"{line}\n" for line in lines[same:]))
        self.console.file.flush()
        self._shown = [] if last else lines
        self._width = self.console.width

    def _rows(self, line: str) -> int:
        # Terminals wrap the lines they show when their window gets narrower.
        return max(1, ceil(cell_len(clean(line)) / self.console.width))


@contextmanager
def silent_keys(stream: TextIO, flags: int = termios.ECHO) -> Iterator[None]:
    """Keep keys typed during the block off the screen; they wait for the next prompt, Ctrl-C still works.

    `flags` are the local modes of the terminal that are off meanwhile.
    """
    if not stream.isatty():
        yield
        return
    before = termios.tcgetattr(stream)
    silent = list(before)
    silent[3] &= ~flags
    termios.tcsetattr(stream, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(stream, termios.TCSANOW, before)


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
