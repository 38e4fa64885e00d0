"""The terminal as a door: screens show turns, Ctrl-C stops them, and files go along with messages."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from agents.events import Event
from agents.state.person import Origin, Quoted
from app.assistant import Assistant, Turn
from app.assistant.attached_text import LARGEST_ATTACHED
from app.assistant.file_reader import FileReader, NotFetched, Reading, kind_of
from app.doors.visit import PATIENCE, Screen, Visit, stop_when_begun
from app.presentation.texts import say
from app.process.tasks import on_signal


class TerminalDoor:
    """Shows turns on screens; the tracer sees them, too, while `is_traced`."""

    name = "repl"
    has_pages = False

    def __init__(
        self,
        assistant: Assistant,
        screens: Sequence[Screen] = (),
        tracer: Screen | None = None,
        *,
        is_traced: bool = False,
    ) -> None:
        self.screens, self.is_traced = screens, is_traced
        self._assistant, self._tracer = assistant, tracer

    async def play(self, turn: Turn, note: Callable[[Event], None]) -> bool:
        """Show a turn to its end; return False if the user stopped it.

        SIGINT stops the answer, a second one gives the turn up. When the caller is cancelled the answer is stopped
        first, so that the stored text is the shown one.
        """
        playing = asyncio.create_task(self._show(turn, note))
        interrupt = _Interrupt(self._assistant, turn.thread, playing)
        try:
            with on_signal(signal.SIGINT, interrupt):
                await asyncio.shield(playing)
        except asyncio.CancelledError:
            if not playing.cancelled():
                await interrupt.stop()
                raise
        finally:
            for screen in self._active_screens():
                screen.close()
        return not interrupt.count

    async def stop(self, thread: str) -> bool:
        """Stop the running answer; False if there is none."""
        return await self._assistant.stop(thread)

    async def begin(self, visit: Visit, name: str) -> str:
        """Return the thread of that name; without a name a new thread."""
        prefix = f"{visit.owner}-"
        taken = {visit.thread, *(info.thread for info in await visit.assistant.threads(prefix=prefix))}
        free = (f"{prefix}{number}" for number in range(2, len(taken) + 3))
        return name or next(thread for thread in free if thread not in taken)

    def named(self, thread: str) -> str:
        """Return the thread's own name."""
        return thread

    def here(self, thread: str, lang: str) -> str:
        """Return the name of the thread."""
        return say("reply.thread_is", lang, thread=thread)

    async def whisper(self, text: str, lang: str) -> str:
        """Return a private text as it is: nobody else reads this terminal."""
        return text

    async def hand(self, name: str, content: str, lang: str) -> str:
        """Write a document into the current folder, readable only by its owner; no other file is changed."""
        stem, _, kind = name.rpartition(".")
        numbered = (f"{stem}-{number}.{kind}" for number in count(2))
        path = next(path for path in map(Path, chain([name], numbered)) if not path.exists())
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(content)
        return say("written_to", lang, path=path)

    async def _show(self, turn: Turn, note: Callable[[Event], None]) -> None:
        screens = self._active_screens()
        async for event in self._assistant.play(turn):
            note(event)
            for screen in screens:
                screen.show(event)

    def _active_screens(self) -> Sequence[Screen]:
        return [*self.screens, self._tracer] if self._tracer and self.is_traced else self.screens


class _Interrupt:
    """The handler of Ctrl-C during a turn."""

    def __init__(self, assistant: Assistant, thread: str, playing: "asyncio.Task[None]") -> None:
        self.count = 0
        self._assistant, self._thread, self._playing = assistant, thread, playing
        self._stopping: asyncio.Task[None] | None = None

    def __call__(self) -> None:
        self.count += 1
        if self.count == 1:
            self._stopping = asyncio.create_task(self.stop())
        else:
            self._playing.cancel()

    async def stop(self) -> None:
        """Stop the answer and wait until the turn is over; give the turn up if that takes too long."""
        await stop_when_begun(self._assistant, self._thread, self._playing.done)
        await asyncio.wait([self._playing], timeout=PATIENCE)
        self._playing.cancel()


async def with_files(reader: FileReader, turn: Turn, paths: Sequence[Path], lang: str) -> Reading:
    """Return a message with the content of these files."""
    quoted = [await asyncio.to_thread(_described, path) for path in paths]
    return await reader.read(replace(turn, quoted=quoted), _fetch, lang)


async def _fetch(part: Quoted) -> bytes:
    path = Path(part.get("file", ""))
    try:
        if (await asyncio.to_thread(path.stat)).st_size > LARGEST_ATTACHED:
            raise NotFetched("file_large")
        return await asyncio.to_thread(path.read_bytes)
    except OSError:
        raise NotFetched("file_lost") from None


def _described(path: Path) -> Quoted:
    try:
        with path.open("rb") as file:
            beginning = file.read(16)
    except OSError:
        beginning = b""
    kind = kind_of(beginning)
    if kind == "file":
        return Quoted(kind=kind, by=path.name, text="", origin=Origin.FILE, file=str(path))
    return Quoted(kind=kind, by="", text="", origin=Origin.USER, file=str(path))
