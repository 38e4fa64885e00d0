"""The terminal of a person in the assistant's place: the thread's new lines, and a prompt for answers."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.patch_stdout import patch_stdout

from agents.memory.inbox import TranscriptLine
from app.assistant import Assistant
from app.plugins.seat.place import Operator
from app.plugins.seat.seats import Seats
from app.process.tasks import BackgroundTask
from app.security.audit import deed, login

LOOK = 0.5
"""Seconds between two looks for new lines: other processes write them."""
SHOWN_BEFORE = 10
"""The number of shown lines from before the take-over."""
BACK, LEAVE = "/back", "/leave"
Show = Callable[[Sequence[TranscriptLine]], None]


class LineWatcher(BackgroundTask):
    """Shows the last lines of a thread, and each new one."""

    def __init__(self, assistant: Assistant, thread: str, show: Show) -> None:
        self._assistant, self._thread, self._show = assistant, thread, show
        self._row: int | None = None
        self._seen = 0

    async def run(self) -> None:
        """Look and show until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK)

    async def look(self) -> None:
        """Show the new lines since the last look."""
        latest = await self._assistant.memory.transcript.latest(self._row)
        self._row = max([row for row, _, _ in latest], default=self._row)
        if any(thread == self._thread for _, thread, _ in latest):
            lines = await self._assistant.history(self._thread)
            since = self._seen or max(0, len(lines) - SHOWN_BEFORE)
            # Two looks may overlap, and the later one may have come first.
            self._seen = max(since, len(lines))
            self._show(lines[since:])


class OperatorSeat:
    """One person at one thread; `run` takes the typed lines as `entries`."""

    def __init__(self, assistant: Assistant, thread: str, operator: Operator, show: Show) -> None:
        self._assistant, self._thread, self._operator, self._show = assistant, thread, operator, show

    async def run(self, entries: AsyncIterator[str], note: str = "") -> bool:
        """Pass typed lines on until the end; return whether the thread was handed back, at the end with `note`."""
        services = self._assistant.services
        seats = services.get(Seats)
        newcomers = LineWatcher(self._assistant, self._thread, self._show)
        await newcomers.look()
        async with newcomers:
            async for entry in entries:
                text = entry.strip()
                command, _, rest = text.partition(" ")
                if command == LEAVE:
                    return False
                if command == BACK:
                    note = rest.strip() or note
                    break
                if text:
                    async with deed(services, login(), "seat_said", self._thread, self._operator.name):
                        await seats.say(self._thread, self._operator, text, uuid.uuid4().hex)
                    await newcomers.look()
            async with deed(services, login(), "seat_left", self._thread, self._operator.name):
                await seats.hand_back(self._thread, self._operator, note)
            await newcomers.look()
        return True


async def typed_lines() -> AsyncIterator[str]:
    """Yield the lines typed at the prompt, below the shown lines, until end of input; Ctrl-C leaves."""
    line: PromptSession[str] = PromptSession()
    with patch_stdout(raw=True):
        while True:
            try:
                text = await line.prompt_async("» ")
            except EOFError:
                return
            except KeyboardInterrupt:
                text = LEAVE
            yield text
